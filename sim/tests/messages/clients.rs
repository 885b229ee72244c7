//! Clients that cannot answer at once, lie, die or keep silent.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use viaduct_driver::device::{Bar, PciDevice};
use viaduct_sim::root_complex::Dma;
use viaduct_spec::register::MSIX_PENDING;
use viaduct_spec::tlp::completion_status;

use super::buffer::Buffer;
use super::{read, ring, say, within, write, Scene, RING};
use crate::support::client::{words, Message, DMA_READ, DMA_WRITE};
use crate::support::scripted::LOADED;

#[test]
fn a_client_that_cannot_answer_while_it_loads_is_not_stuck() {
    let scene = Scene::start(Dma::Messages);
    let remote = scene.remote(true);
    let buffer = Buffer::new();
    buffer.map(&remote, 0x5000);
    let start = Instant::now();
    for n in 1..20 {
        scene.script(&[write(0x5000, &[n]), read(0x5000, 4, n as u8)]);
        assert_eq!(remote.read32(Bar::Registers, 0x20).unwrap(), LOADED);
        within(|| buffer.word(0) == n);
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let completions = scene.completions(19);
    assert!(completions.iter().all(|c| c.1 == completion_status::SUCCESS && c.2 == [u32::from(c.0)]));
    let bus = scene.status().bus;
    assert!(bus.overtaken >= 1 && bus.unanswered == 0 && bus.unsupported == 0, "{bus:?}");
}

#[test]
fn replies_come_in_the_order_of_the_commands() {
    let scene = Scene::start(Dma::Messages);
    let mut stream = scene.raw();
    const READ: u16 = 9;
    let (load, pending) = (words(&[0x20, 0, 0, 4]), words(&[MSIX_PENDING as u32, 0, 0, 8]));
    // Two loads of the NIC, and a load of no region.
    let (loads, nowhere) = (words(&[0x20, 0, 0, 16]), words(&[0x20, 0, 9, 4]));
    // The NIC answers the loads, the root complex knows what is pending, and the session the rest.
    let commands = [
        (READ, load.clone()),
        (READ, pending),
        (READ, words(&[0, 0, 7, 4])),
        (READ, load.clone()),
        (10, words(&RING)),
        (READ, nowhere.clone()),
        (READ, load.clone()),
        (READ, loads),
        (READ, load.clone()),
        (99, Vec::new()),
        (READ, load),
        (13, Vec::new()),
        (READ, words(&[0, 0, 7, 4])),
    ];
    let bytes = |(command, body): &(u16, Vec<u8>), id| {
        Message { id, command: *command, flags: 0, error: 0, body: body.clone() }.bytes()
    };
    let burst: Vec<u8> = commands.iter().zip(0..).flat_map(|(command, id)| bytes(command, id)).collect();
    for round in 0..20 {
        stream.write_all(&burst).unwrap();
        for ((command, body), id) in commands.iter().zip(0..) {
            let reply = Message::receive(&mut stream).unwrap();
            assert_eq!((reply.id, reply.command), (id, *command), "round {round}");
            assert_eq!(reply.error != 0, *command == 99 || *body == nowhere, "round {round}, {id}");
            if body[..] == commands[0].1[..] {
                assert_eq!(reply.body[16..], LOADED.to_le_bytes(), "round {round}, {id}");
            }
        }
        // The reset has switched memory off.
        say(&mut stream, 10, &words(&[4, 0, 7, 4, 6]));
        assert_eq!(Message::receive(&mut stream).unwrap().command, 10);
    }
}

/// What a client may not answer to a DMA_READ of 8 bytes.
fn lies(request: &Message) -> Vec<(&'static str, Message)> {
    let good = || request.answer(Some(&[0; 8]));
    let (mut id, mut command, mut kind, mut short) = (good(), good(), good(), good());
    id.id ^= 1;
    command.command = DMA_WRITE;
    kind.flags = 2;
    short.body.pop();
    let (mut address, mut count, mut bare, mut long) = (good(), good(), good(), good());
    address.body[0] ^= 1;
    count.body[8] = 9;
    bare.body.clear();
    long.body.push(0);
    vec![
        ("id", id),
        ("command", command),
        ("type", kind),
        ("short", short),
        ("address", address),
        ("count", count),
        ("bare", bare),
        ("long", long),
    ]
}

#[test]
fn a_client_that_lies_is_cut_off() {
    let scene = Scene::start(Dma::Messages);
    for n in 0..9 {
        let mut stream = scene.raw();
        scene.script(&[read(0x5000, 8, 1)]);
        ring(&mut stream);
        let request = Message::receive(&mut stream).unwrap();
        let mut lies = lies(&request);
        let (what, lie) = if n < lies.len() {
            lies.swap_remove(n)
        } else {
            // True, and then once more.
            let answer = || request.answer(Some(&[0; 8]));
            stream.write_all(&answer().bytes()).unwrap();
            ("twice", answer())
        };
        stream.write_all(&lie.bytes()).unwrap();
        let end = stream.read(&mut [0; 1]);
        assert!(matches!(end, Ok(0)) || end.is_err_and(|e| e.kind() != ErrorKind::WouldBlock), "{what}");
        drop(stream);
    }
    // And the next one is served.
    let remote = scene.remote(false);
    assert_eq!(remote.read32(Bar::Registers, 0).unwrap(), LOADED);
}

#[test]
fn a_client_may_die_or_reset_with_messages_unanswered() {
    let scene = Scene::start(Dma::Messages);
    for round in 0..6 {
        let mut stream = scene.raw();
        scene.script(&[write(0x5000, &[1]), read(0x5000, 8, 1), write(0xFEE0_0000, &[0])]);
        ring(&mut stream);
        let first = Message::receive(&mut stream).unwrap();
        let second = Message::receive(&mut stream).unwrap();
        assert_eq!((first.command, second.command), (DMA_WRITE, DMA_READ));
        if round % 2 == 0 {
            say(&mut stream, 13, &[]);
            assert_eq!(Message::receive(&mut stream).unwrap().command, 13, "a reset waits for nobody");
            // Answers that nobody waits for any more are no lies.
            stream.write_all(&second.answer(Some(&[0; 8])).bytes()).unwrap();
            stream.write_all(&first.answer(Some(&[])).bytes()).unwrap();
            say(&mut stream, 9, &words(&[0, 0, 7, 4]));
            assert_eq!(Message::receive(&mut stream).unwrap().command, 9);
        } else {
            // A load waits behind the write; its client is gone before the answer.
            say(&mut stream, 9, &words(&[0, 0, 0, 4]));
        }
    }
    let remote = scene.remote(false);
    assert_eq!(remote.read32(Bar::Registers, 0).unwrap(), LOADED);
    assert!(scene.status().violations.is_empty());
}

#[test]
fn a_client_that_never_answers_holds_nobody_up_for_ever() {
    let scene = Scene::start(Dma::Messages);
    let mut stream = scene.raw();
    scene.script(&[read(0x5000, 8, 1)]);
    ring(&mut stream);
    let request = Message::receive(&mut stream).unwrap();
    let start = Instant::now();
    assert_eq!(scene.completions(1)[0].1, completion_status::UNSUPPORTED);
    assert!((8..15).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    assert_eq!(scene.status().bus.unanswered, 1);
    // Late, but not a lie.
    stream.write_all(&request.answer(Some(&[0; 8])).bytes()).unwrap();
    say(&mut stream, 9, &words(&[0, 0, 7, 4]));
    assert_eq!(Message::receive(&mut stream).unwrap().command, 9);
}
