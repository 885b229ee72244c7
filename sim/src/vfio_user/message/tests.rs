//! Messages on the wire: what is taken, what is refused, and what we send.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::io::Errno;

use super::*;

const HEADER: Header = Header { id: 0x1234, command: command::REGION_READ, size: 0, flags: 0, error: 0 };

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
fn a_dma_command_is_laid_out_as_the_protocol_says() {
    let bytes = dma_command(0x0203, command::DMA_WRITE, 0x1_0000_0004, 2, &[7, 8]);
    let header = [3, 2, 12, 0, 34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(bytes[..16], header);
    assert_eq!(bytes[16..], [4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7, 8]);
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
    let write = Write { region: 2, offset: 0x10, data: vec![9, 8, 7, 6] };
    assert_eq!(Request::decode(command::REGION_WRITE, &body), Ok(Request::Write(write)));
    body.pop();
    assert_eq!(Request::decode(command::REGION_WRITE, &body), Err(Errno::INVAL));
    let read = words(&[0, 0, 0, MAX_TRANSFER as u32 + 1]);
    assert_eq!(Request::decode(command::REGION_READ, &read), Err(Errno::INVAL));
}

#[test]
fn several_writes_come_in_one_message() {
    let body = words(&[2, 0, 0x20, 0, 0, 4, 0xAABB_CCDD, 0, 0x28, 0, 2, 8, 1, 2]);
    let Ok(Request::WriteMulti(writes)) = Request::decode(command::REGION_WRITE_MULTI, &body) else {
        panic!("not taken");
    };
    assert_eq!(writes[0], Write { region: 0, offset: 0x20, data: vec![0xDD, 0xCC, 0xBB, 0xAA] });
    assert_eq!(writes[1], Write { region: 2, offset: 0x28, data: vec![1, 0, 0, 0, 2, 0, 0, 0] });
    for bad in [words(&[3, 0, 0, 0, 0, 4, 0, 0]), words(&[1, 0, 0, 0, 0, 9, 0, 0]), words(&[1, 0, 0])] {
        assert_eq!(Request::decode(command::REGION_WRITE_MULTI, &bad), Err(Errno::INVAL));
    }
}

#[test]
fn unknown_commands_and_flags_are_refused() {
    assert_eq!(Request::decode(0, &[]), Err(Errno::NOSYS));
    assert_eq!(Request::decode(11, &[0; 64]), Err(Errno::NOSYS));
    assert_eq!(Request::decode(command::DMA_MAP, &words(&[32, 4, 0, 0, 0, 0, 0, 0])), Err(Errno::INVAL));
    assert_eq!(Request::decode(command::DMA_UNMAP, &words(&[24, 2, 0, 0, 0, 0])), Err(Errno::INVAL));
    assert_eq!(Request::decode(command::DMA_UNMAP, &words(&[24, 4, 1, 0, 0, 0])), Err(Errno::INVAL));
    assert_eq!(Request::decode(command::VERSION, b"\0\0\x01\0{nonsense\0"), Err(Errno::INVAL));
    let bare = Request::decode(command::VERSION, &[0, 0, 1, 0]);
    assert_eq!(bare, Ok(Request::Version { major: 0, minor: 1, largest: MAX_TRANSFER }));
    let sized = |size: &str| {
        let text = format!("\0\0\x01\0{{\"capabilities\":{{\"max_data_xfer_size\":{size}}}}}\0");
        Request::decode(command::VERSION, text.as_bytes())
    };
    assert_eq!(sized("512"), Ok(Request::Version { major: 0, minor: 1, largest: 512 }));
    assert_eq!(sized("9999999999"), Ok(Request::Version { major: 0, minor: 1, largest: MAX_TRANSFER }));
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
