//! Messages on the wire: what is taken, what is refused, and what is sent.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::io::Errno;

use super::*;

const HEADER: Header =
    Header { id: 0x1234, command: Command::RegionRead as u16, size: 0, flags: 0, error: 0 };

#[test]
fn a_reply_repeats_the_message_and_counts_itself() {
    let reply = HEADER.reply(&[1, 2, 3]);
    assert_eq!(reply, [0x34, 0x12, 9, 0, 19, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
    let failure = HEADER.failure(Errno::INVAL);
    assert_eq!(failure, [0x34, 0x12, 9, 0, 16, 0, 0, 0, 0x21, 0, 0, 0, 22, 0, 0, 0]);
    let header = Header::decode(failure[..].try_into().unwrap());
    assert_eq!((header.id, header.error, header.is_command()), (0x1234, 22, false));
}

#[test]
fn a_posted_write_is_laid_out_as_the_protocol_says() {
    let write = Request::Write(Write { region: 2, offset: 0x1008, data: &[1, 2, 3, 4, 5, 6, 7, 8] });
    assert_eq!(
        Header::command(0x0102, write.command(), true).message(&write.body()),
        [
            2, 1, 10, 0, 40, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, // header
            8, 0x10, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0, 0, // offset, region, count
            1, 2, 3, 4, 5, 6, 7, 8
        ]
    );
}

#[test]
fn a_request_is_read_as_it_was_written() {
    let store = |offset, data| Write { region: 2, offset, data };
    for request in [
        Request::Version(Version { major: 0, minor: 1, largest: 4096 }),
        Request::DmaMap { readable: true, writable: false, offset: 1 << 40, address: 0x5000, size: 0x3000 },
        Request::DmaMap { readable: true, writable: true, offset: 0, address: 1 << 46, size: 4096 },
        Request::DmaUnmap { address: 0x5000, size: 0x3000, all: false },
        Request::DmaUnmap { address: 0, size: 0, all: true },
        Request::DeviceInfo,
        Request::RegionInfo { room: 64, index: 7 },
        Request::IrqInfo { index: irq::MSIX },
        Request::SetIrqs { flags: 0x24, index: irq::MSIX, start: 3, count: 2, data: &[] },
        Request::SetIrqs { flags: 0x22, index: irq::MSIX, start: 0, count: 2, data: &[0, 1] },
        Request::Read { region: 7, offset: 4, count: 4 },
        Request::Write(store(0x10, &[9; 4])),
        Request::WriteMulti(vec![store(0, &[1]), store(8, &[2; 8])]),
        Request::Reset,
    ] {
        let body = request.body();
        assert_eq!(Request::decode(request.command() as u16, &body), Ok(request));
    }
}

#[test]
fn what_a_server_says_is_read_as_it_was_written() {
    let device = DeviceInfo { flags: DeviceInfo::PCI, regions: 9, irqs: 5 };
    assert_eq!(DeviceInfo::decode(&device.body()), Ok(device));
    let region = RegionInfo { room: 48, flags: RegionInfo::READ, index: 2, size: 1 << 33 };
    assert_eq!(RegionInfo::decode(&region.body()), Ok(region));
    let interrupt = IrqInfo { flags: IrqInfo::EVENTFD, index: irq::MSIX, count: 8 };
    assert_eq!(IrqInfo::decode(&interrupt.body()), Ok(interrupt));
    for (bytes, body) in [(16, device.body()), (32, region.body()), (16, interrupt.body())] {
        assert_eq!(body.len(), bytes);
        let short = &body[..7];
        assert!(DeviceInfo::decode(short).is_err() && RegionInfo::decode(short).is_err());
        assert!(IrqInfo::decode(short).is_err());
    }
}

#[test]
fn a_command_has_the_number_of_the_protocol() {
    for command in Command::ALL {
        assert_eq!(Command::of(command as u16), Some(command));
    }
    assert_eq!([0, 6, 14, 16].map(Command::of), [None; 4]);
}

#[test]
fn a_server_says_how_many_descriptors_it_takes() {
    let ask = |json: &str| files_taken(&[&[0, 0, 1, 0], json.as_bytes(), &[0]].concat());
    assert_eq!(ask(r#"{"capabilities":{"max_msg_fds":8}}"#), 8);
    assert_eq!(ask(r#"{"capabilities":{"max_msg_fds":1000000}}"#), MAX_FILES);
    for silent in
        ["", "{}", "[1", r#"{"capabilities":{"max_msg_fds":-8}}"#, r#"{"capabilities":{"max_msg_fds":0}}"#]
    {
        assert_eq!(ask(silent), 1, "{silent}");
    }
    assert_eq!(files_taken(&[0, 0]), 1);
}

#[test]
fn sizes_that_cannot_be_are_seen_before_anything_is_allocated() {
    let sized = |size| Header { size, ..HEADER }.body();
    assert_eq!(sized(16), Some(0));
    assert_eq!(sized(MAX_MESSAGE as u32), Some(MAX_MESSAGE - 16));
    for size in [0, 1, 15, MAX_MESSAGE as u32 + 1, u32::MAX] {
        assert_eq!(sized(size), None, "{size}");
    }
}

#[test]
fn a_write_must_be_as_long_as_it_says() {
    let mut body = words(&[0x10, 0, 2, 4]);
    body.extend_from_slice(&[9, 8, 7, 6]);
    let write = Write { region: 2, offset: 0x10, data: &[9, 8, 7, 6] };
    assert_eq!(Request::decode(Command::RegionWrite as u16, &body), Ok(Request::Write(write)));
    body.pop();
    assert_eq!(Request::decode(Command::RegionWrite as u16, &body), Err(Errno::INVAL));
    let read = words(&[0, 0, 0, MAX_TRANSFER as u32 + 1]);
    assert_eq!(Request::decode(Command::RegionRead as u16, &read), Err(Errno::INVAL));
}

#[test]
fn several_writes_come_in_one_message() {
    let body = words(&[2, 0, 0x20, 0, 0, 4, 0xAABB_CCDD, 0, 0x28, 0, 2, 8, 1, 2]);
    let Ok(Request::WriteMulti(writes)) = Request::decode(Command::RegionWriteMulti as u16, &body) else {
        panic!("not taken");
    };
    assert_eq!(writes[0], Write { region: 0, offset: 0x20, data: &[0xDD, 0xCC, 0xBB, 0xAA] });
    assert_eq!(writes[1], Write { region: 2, offset: 0x28, data: &[1, 0, 0, 0, 2, 0, 0, 0] });
    for bad in [words(&[3, 0, 0, 0, 0, 4, 0, 0]), words(&[1, 0, 0, 0, 0, 9, 0, 0]), words(&[1, 0, 0])] {
        assert_eq!(Request::decode(Command::RegionWriteMulti as u16, &bad), Err(Errno::INVAL));
    }
}

#[test]
fn unknown_commands_and_flags_are_refused() {
    assert_eq!(Request::decode(0, &[]), Err(Errno::NOSYS));
    assert_eq!(Request::decode(11, &[0; 64]), Err(Errno::NOSYS));
    assert_eq!(
        Request::decode(Command::DmaMap as u16, &words(&[32, 4, 0, 0, 0, 0, 0, 0])),
        Err(Errno::INVAL)
    );
    assert_eq!(Request::decode(Command::DmaUnmap as u16, &words(&[24, 2, 0, 0, 0, 0])), Err(Errno::INVAL));
    assert_eq!(Request::decode(Command::DmaUnmap as u16, &words(&[24, 4, 1, 0, 0, 0])), Err(Errno::INVAL));
    assert_eq!(Request::decode(Command::Version as u16, b"\0\0\x01\0{nonsense\0"), Err(Errno::INVAL));
    let bare = Request::decode(Command::Version as u16, &[0, 0, 1, 0]);
    assert_eq!(bare, Ok(Request::Version(Version { major: 0, minor: 1, largest: MAX_TRANSFER })));
    let sized = |size: &str| {
        let text = format!("\0\0\x01\0{{\"capabilities\":{{\"max_data_xfer_size\":{size}}}}}\0");
        Version::decode(text.as_bytes())
    };
    assert_eq!(sized("512"), Ok(Version { major: 0, minor: 1, largest: 512 }));
    assert_eq!(sized("9999999999"), Ok(Version { major: 0, minor: 1, largest: MAX_TRANSFER }));
    for size in ["0", "-1", "1.5", "\"1\"", "null"] {
        assert_eq!(sized(size), Err(Errno::INVAL), "{size}");
    }
}

#[test]
fn any_bytes_are_a_request_or_an_error() {
    let seed = 20;
    println!("seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut taken = 0;
    for _ in 0..200_000 {
        let mut body = vec![0u8; random.random_range(0..80)];
        random.fill(&mut body[..]);
        taken += u32::from(Request::decode(random.random_range(0..20), &body).is_ok());
    }
    assert!(taken > 1000, "the bytes are not all refused at the first field: {taken}");
}
