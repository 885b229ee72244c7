//! Packets and their double words.

use super::*;

#[test]
fn requests_enable_exactly_their_bytes() {
    for address in 0x1000..0x1010u64 {
        for bytes in 1..40 {
            let request = Request::new(address, bytes, 7, 0x100);
            let (lead, count) = request.bytes();
            assert_eq!(request.address + lead as u64, address);
            assert_eq!(count, bytes, "{address:#x}+{bytes}");
            assert!(request.has_right_enables(), "{address:#x}+{bytes}");
            assert_eq!(Tlp::decode(&Tlp::Read(request).encode()), Ok(Tlp::Read(request)));
        }
    }
}

#[test]
fn headers_are_as_the_specification_draws_them() {
    let read = Request::new(0x1234_5678, 512, 0xAB, 0x0100);
    assert_eq!(Tlp::Read(read).encode(), [0x0000_0080, 0x0100_ABFF, 0x1234_5678]);
    let write = Tlp::Write(Request::new(0x9_0000_0004, 4, 0, 0x0100), vec![0xDDCC_BBAA]);
    assert_eq!(write.encode(), [0x6000_0001, 0x0100_000F, 9, 4, 0xDDCC_BBAA]);
    let whole = Request::new(0, 4096, 0, 0);
    assert_eq!(Tlp::Read(whole).encode()[0], 0, "1024 double words are 0 in LENGTH");
    assert_eq!(Tlp::decode(&Tlp::Read(whole).encode()), Ok(Tlp::Read(whole)));
}

#[test]
fn completions_survive_the_wire() {
    let completion = Completion {
        status: 0,
        byte_count: 4096,
        lower_address: 0x44,
        tag: 0x55,
        requester: 0x100,
        completer: 8,
        poisoned: true,
        data: vec![1, 2, 3],
    };
    let packet = Tlp::Completion(completion.clone()).encode();
    assert_eq!(packet, [0x4A00_4003, 0x0008_0000, 0x0100_5544, 1, 2, 3]);
    assert_eq!(Tlp::decode(&packet), Ok(Tlp::Completion(completion)));
}

#[test]
fn what_breaks_the_specification_is_malformed() {
    let good = Tlp::Write(Request::new(0x1000, 8, 0, 0), vec![1, 2]).encode();
    assert!(Tlp::decode(&good).is_ok());
    let with = |at: usize, bits: u32| {
        let mut packet = good.clone();
        packet[at] ^= bits;
        Tlp::decode(&packet)
    };
    assert_eq!(with(0, 1), Err(Malformed::Length { said: 3, found: 2 }));
    assert_eq!(with(0, 1 << 12), Err(Malformed::NotZero("ATTR")));
    assert_eq!(with(0, 1 << 20), Err(Malformed::NotZero("TRAFFIC_CLASS")));
    assert_eq!(with(0, 1 << 25), Err(Malformed::Kind(0x42)));
    assert_eq!(with(1, 0xF0), Err(Malformed::ByteEnables(0xF, 0)));
    assert_eq!(with(2, 1), Err(Malformed::NotZero("address bits 1:0")));
    assert_eq!(Tlp::decode(&good[..2]), Err(Malformed::Short));
    let small = [0x2000_0001, 0x0000_000F, 0, 0x1000];
    assert_eq!(Tlp::decode(&small), Err(Malformed::AddressSize(0x1000)));
    let holes = [0x0000_0003, 0x0000_0FF3, 0x1000];
    assert_eq!(Tlp::decode(&holes), Err(Malformed::ByteEnables(3, 0xF)));
}

#[test]
fn beats_carry_two_double_words() {
    let packet = [1, 2, 3];
    assert_eq!(beat(&packet, 0), (0x2_0000_0001, 0b11));
    assert_eq!(beat(&packet, 1), (3, 0b01));
}
