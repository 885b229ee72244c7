//! A client of `viaduct perf` that is written by hand, byte by byte, so that it can send what the command never does.

use std::time::{Duration, Instant};

use vipl::{connections::NetAddress, Descriptor, Error, Mac, MemAttributes, Nic, Region, Vi, ViAttributes};

use super::Pair;
use viaduct_viad_tests::{
    pair::{failure, Server},
    stage::LONG,
};

/// What a client asks for with `send lat -s 4 -n 5`: magic, purpose, operation and metric, size, iterations, depth, one direction, level.
const REQUEST: [u8; 15] = *b"vdct\x01\x00\x00\x01\x04\x00\x05\x80\x01\x00\x01";
/// The immediate data of what the sides say.
const WORD: u32 = 0x7764_726f;
/// Where its memory is: nowhere.
const MEMORY: [u8; 6] = [0; 6];
const READY: [u8; 2] = [0, 1];

/// The client, connected.
struct ByHand {
    vi: Vi,
    memory: Region,
}

impl ByHand {
    fn connect(nic: &str) -> Self {
        let nic = Nic::open(nic).expect("it serves");
        let ptag = nic.create_ptag().expect("a tag");
        let vi = nic.create_vi(&ViAttributes { max_transfer_size: 1024, ..ViAttributes::new(&ptag) });
        let (vi, memory) = (vi.expect("a VI"), nic.allocate(1 << 16, &MemAttributes::new(&ptag)));
        let memory = memory.expect("memory");
        for n in 0..8 {
            let receive = Descriptor::new().segment(&memory, 4096 + 1024 * n, 1024).expect("inside");
            vi.post_recv(receive.build(&memory, 64 * n).expect("aligned")).expect("posted");
        }
        let host = |n| Mac([2, 0, 0, 0, 0, n]);
        let address = |n| NetAddress { host: host(n).into(), discriminator: 18515u16.to_be_bytes().to_vec() };
        let connections = nic.connections().expect("it serves");
        let start = Instant::now();
        loop {
            match connections.request(&vi, &address(2), &address(1), &REQUEST, Some(LONG)) {
                // It does not wait yet.
                Err(Error::NoMatch) if start.elapsed() < LONG => {
                    std::thread::sleep(Duration::from_millis(10))
                }
                answer => break drop(answer.expect("the options are the same")),
            }
        }
        Self { vi, memory }
    }

    /// Sends a message, as data or as something said.
    fn send(&self, bytes: &[u8], immediate: Option<u32>) {
        self.memory.write(2048, bytes).expect("inside");
        let mut send = Descriptor::new().segment(&self.memory, 2048, bytes.len()).expect("inside");
        if let Some(immediate) = immediate {
            send = send.immediate(immediate);
        }
        self.vi.post_send(send.build(&self.memory, 1024).expect("aligned")).expect("posted");
        self.vi.send_wait(Some(LONG)).expect("it arrives");
    }
}

/// What the server says of a client that sends this instead of its first message.
fn said_of(pair: &Pair, bytes: &[u8], immediate: Option<u32>) -> String {
    let server = Server::start(&pair.line(0, "send lat -s 4 -n 5"));
    let client = ByHand::connect(&pair.nics[1]);
    client.send(&MEMORY, Some(WORD));
    client.send(&READY, Some(WORD));
    client.send(bytes, immediate);
    failure(&server.end())
}

#[test]
fn a_client_that_sends_what_it_should_not_is_found_out_by_the_first_message() {
    let pair = Pair::viads();
    let said = said_of(&pair, &[0xff; 4], None);
    assert!(said.contains("byte 0 of the first message of 4 bytes came as 0xff, and is 0x"), "{said}");
    let said = said_of(&pair, &[0; 3], None);
    assert!(said.contains("the first message has 3 bytes, not 4"), "{said}");
    let said = said_of(&pair, &READY, Some(WORD));
    assert!(said.contains("Ready out of turn"), "{said}");
    // The second of two kinds of what is said, with a text of 200 bytes that is not there; and a kind that there is not.
    for nonsense in [&[1, 200, 1][..], &[7], &[0, 9]] {
        let said = said_of(&pair, nonsense, Some(WORD));
        assert!(said.contains("a control message of the client cannot be parsed"), "{nonsense:?}: {said}");
    }
    let said = said_of(&pair, b"\x01\x04help", Some(WORD));
    assert!(said.contains("the client gave up: help"), "{said}");
}
