//! Peers answer the client as a test wants: some are servers without interrupts, and most are no servers at all.

use std::{
    io::{Read, Write},
    os::unix::net::UnixListener,
    sync::mpsc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rand::{Rng, RngCore, SeedableRng};
use viaduct_driver::{
    device::{Bar, DeviceError, PciDevice},
    vfio_user::VfioUser,
};

use super::{place, Place};

/// A peer that answers each thing it receives with the next of `answers`, then holds the socket
/// open, silent, until told; or closes it at once.
fn peer(place: &Place, answers: Vec<Vec<u8>>, close: bool) -> (mpsc::Sender<()>, JoinHandle<()>) {
    let listener = UnixListener::bind(&place.socket).expect("a socket");
    let (stop, told) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the client");
        let mut buffer = [0; 4096];
        for answer in answers {
            if !matches!(stream.read(&mut buffer), Ok(n) if n > 0) || stream.write_all(&answer).is_err() {
                return;
            }
        }
        if !close {
            let _ = told.recv_timeout(Duration::from_secs(20));
        }
    });
    (stop, thread)
}

fn reply(id: u16, command: u16, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    message.extend_from_slice(&id.to_le_bytes());
    message.extend_from_slice(&command.to_le_bytes());
    message.extend_from_slice(&(16 + body.len() as u32).to_le_bytes());
    message.extend_from_slice(&1u32.to_le_bytes());
    message.extend_from_slice(&0u32.to_le_bytes());
    message.extend_from_slice(body);
    message
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// What a sound server says until the client is open.
fn opening() -> Vec<Vec<u8>> {
    let region = |id, index, size| reply(id, 5, &words(&[32, 3, index, 0, size, 0, 0, 0]));
    vec![
        reply(0, 1, b"\0\0\0\0{\"capabilities\":{}}\0"),
        reply(1, 4, &words(&[16, 2, 9, 5])),
        region(2, 0, 0x10000),
        region(3, 2, 0x40000),
        region(4, 7, 0x1000),
        reply(5, 7, &words(&[16, 1, 2, 3])),
    ]
}

#[test]
fn a_server_without_interrupts_has_no_vectors() {
    let refusal = words(&[7 << 16 | 5, 16, 0x21, 22]);
    let no_eventfds = reply(5, 7, &words(&[16, 0, 2, 3]));
    let absurd = reply(5, 7, &words(&[16, 1, 2, u32::MAX]));
    for (answer, vectors) in [(refusal, 0), (no_eventfds, 0), (absurd, 2048)] {
        let place = place();
        let mut answers = opening();
        answers[5] = answer;
        let (_stop, thread) = peer(&place, answers, true);
        assert_eq!(VfioUser::open(&place.socket).expect("so far it is sound").vectors(), vectors);
        thread.join().expect("the peer ends");
    }
}

const TIMEOUT: Duration = Duration::from_millis(300);

#[test]
fn a_server_that_closes_is_gone_at_once_and_for_good() {
    let place = place();
    let (_stop, thread) = peer(&place, opening(), true);
    let device = VfioUser::open(&place.socket).expect("so far it is sound");
    thread.join().expect("the peer closes");
    let start = Instant::now();
    let name = place.socket.display().to_string();
    for error in [
        device.read32(Bar::Registers, 0).err(),
        device.read64(Bar::Registers, 0).err(),
        device.write64(Bar::Doorbells, 0, 1).err(),
        device.config_read32(0).err(),
        device.config_write32(4, 6).err(),
        device.unmap_dma(0, 4096).err(),
        device.reset().err(),
    ] {
        let error = error.expect("nobody is there");
        assert!(matches!(error, DeviceError::Gone { .. }) && error.to_string().contains(&name), "{error}");
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn a_server_that_is_silent_is_given_up() {
    let place = place();
    let (stop, thread) = peer(&place, opening(), false);
    let device = VfioUser::open_with_timeout(&place.socket, TIMEOUT).expect("so far it is sound");
    let start = Instant::now();
    let error = device.read32(Bar::Registers, 0).expect_err("no answer comes").to_string();
    assert!(error.contains("does not answer"), "{error}");
    assert!(start.elapsed() >= TIMEOUT && start.elapsed() < 5 * TIMEOUT, "{:?}", start.elapsed());
    let start = Instant::now();
    assert!(device.write64(Bar::Doorbells, 0, 1).is_err(), "gone for good");
    assert!(start.elapsed() < TIMEOUT);
    drop(stop);
    thread.join().expect("the peer ends");
}

#[test]
fn a_server_that_takes_nothing_is_given_up() {
    let place = place();
    let (stop, thread) = peer(&place, opening(), false);
    let device = VfioUser::open_with_timeout(&place.socket, TIMEOUT).expect("so far it is sound");
    let start = Instant::now();
    // Posted writes need no answer: they fill the socket first.
    let error = loop {
        if let Err(error) = device.write64(Bar::Doorbells, 0, 1) {
            break error.to_string();
        }
        assert!(start.elapsed() < Duration::from_secs(10), "a socket holds no more than some 100 kB");
    };
    assert!(error.contains("takes nothing"), "{error}");
    drop(stop);
    thread.join().expect("the peer ends");
}

#[test]
fn wrong_answers_end_the_connection() {
    let access = words(&[0, 0, 0, 4]);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("another id", reply(9, 9, &[access.clone(), vec![0; 4]].concat())),
        ("another command", reply(6, 10, &[access.clone(), vec![0; 4]].concat())),
        ("no data", reply(6, 9, &access)),
        ("too much data", reply(6, 9, &[access.clone(), vec![0; 8]].concat())),
        ("another offset", reply(6, 9, &[words(&[8, 0, 0, 4]), vec![0; 4]].concat())),
        ("another region", reply(6, 9, &[words(&[0, 0, 2, 4]), vec![0; 4]].concat())),
        ("an absurd size", [&words(&[9 << 16 | 6, u32::MAX, 1, 0])[..], &[0; 64]].concat()),
        ("half a header", words(&[9 << 16 | 6, 36])),
    ];
    for (what, answer) in cases {
        let place = place();
        let (stop, thread) = peer(&place, [opening(), vec![answer]].concat(), false);
        let device = VfioUser::open_with_timeout(&place.socket, TIMEOUT).expect("so far it is sound");
        let error = device.read32(Bar::Registers, 0).expect_err(what);
        assert!(matches!(error, DeviceError::Gone { .. }), "{what}: {error}");
        assert!(matches!(device.reset(), Err(DeviceError::Gone { .. })), "{what}: gone for good");
        drop(stop);
        thread.join().expect("the peer ends");
    }
}

#[test]
fn a_refusal_is_an_error_and_not_the_end() {
    let place = place();
    let refusal = words(&[13 << 16 | 6, 16, 0x21, 95]);
    let (_stop, thread) = peer(&place, [opening(), vec![refusal, reply(7, 13, &[])]].concat(), true);
    let device = VfioUser::open(&place.socket).expect("so far it is sound");
    let error = device.reset().expect_err("refused");
    assert!(matches!(error, DeviceError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("not supported"), "{error}");
    device.reset().expect("it was only one no");
    thread.join().expect("the peer ends");
}

#[test]
fn what_is_no_nic_is_refused() {
    let open = |change: fn(&mut Vec<Vec<u8>>)| {
        let place = place();
        let mut answers = opening();
        change(&mut answers);
        let (_stop, thread) = peer(&place, answers, true);
        let error = VfioUser::open(&place.socket).err().expect("refused").to_string();
        thread.join().expect("the peer ends");
        error
    };
    assert!(open(|a| a[0] = reply(0, 1, b"\x01\0\0\0{}\0")).contains("version 1"));
    assert!(open(|a| a[1] = reply(1, 4, &words(&[16, 4, 9, 5]))).contains("PCI"));
    assert!(open(|a| a[1] = reply(1, 4, &words(&[16, 2, 1, 5]))).contains("PCI"));
    assert!(open(|a| a[2] = reply(2, 5, &words(&[32, 3, 0, 0, 64, 0, 0, 0]))).contains("region 0"));
    assert!(open(|a| a[3] = reply(3, 5, &words(&[32, 0, 2, 0, 0x40000, 0, 0, 0]))).contains("region 2"));
    assert!(open(|a| a[4] = reply(4, 5, &[1, 2, 3])).contains("ends before"));
    assert!(open(|a| a[5] = reply(5, 7, &words(&[16, 1, 2]))).contains("ends before"));
    let nobody = VfioUser::open("/no/such/socket").err().expect("nobody").to_string();
    assert!(nobody.contains("/no/such/socket"), "{nobody}");
}

#[test]
fn garbage_is_never_a_panic_and_never_a_hang() {
    let seed: u64 = rand::random();
    println!("seed {seed:#x}");
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    for round in 0..40 {
        let place = place();
        let mut answers = opening();
        answers.extend((0..3).map(|n| reply(6 + n, 9, &[words(&[0, 0, 0, 4]), vec![0; 4]].concat())));
        // Damage one answer, and leave the others.
        let victim = rng.random_range(0..answers.len());
        let answer = &mut answers[victim];
        match rng.random_range(0..3) {
            0 => rng.fill_bytes(answer),
            1 => answer.truncate(rng.random_range(0..answer.len())),
            _ => {
                let at = rng.random_range(0..answer.len());
                answer[at] ^= 1 << rng.random_range(0..8);
            }
        }
        let (_stop, thread) = peer(&place, answers, true);
        let start = Instant::now();
        if let Ok(device) = VfioUser::open_with_timeout(&place.socket, TIMEOUT) {
            for _ in 0..4 {
                let _ = device.read32(Bar::Registers, 0);
            }
        }
        assert!(start.elapsed() < 6 * TIMEOUT, "seed {seed:#x}, round {round}: {:?}", start.elapsed());
        thread.join().expect("the peer ends");
    }
}
