//! Clients that say what makes no sense, too much or nothing at all.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::register::{BAR0_BYTES, PCI_VENDOR};

use super::dead::dead;
use super::raw::{ask, ask_with_fds, message, open, reply, EINVAL};
use crate::support::client::words;

#[test]
fn requests_that_make_no_sense_are_refused_one_by_one() {
    let simulator = dead(1);
    let file = tempfile::tempfile().unwrap();
    file.set_len(8192).unwrap();
    let mut stream = simulator.raw();
    open(&mut stream);
    let stream = &mut stream;
    let fd = file.as_fd();
    // Out of range, in region or offset or both.
    for (offset, region, count) in [
        (0u64, 9u32, 4u32),
        (4096, 7, 4),
        (4094, 7, 4),
        (u64::MAX, 7, 4),
        (BAR0_BYTES - 4, 0, 8),
        (0, 1, 4),
        (0, u32::MAX, 0),
    ] {
        let mut body = offset.to_le_bytes().to_vec();
        body.extend(words(&[region, count]));
        assert_eq!(ask(stream, 9, &body).unwrap().0, EINVAL, "read {offset:#x} {region} {count}");
        body.extend(vec![0; count as usize]);
        assert_eq!(ask(stream, 10, &body).unwrap().0, EINVAL, "write {offset:#x} {region} {count}");
    }
    assert_eq!(ask(stream, 10, &words(&[0, 0, 7, 64, 1])).unwrap().0, EINVAL, "says more than it has");
    assert_eq!(ask(stream, 9, &words(&[0, 0])).unwrap().0, EINVAL, "cut");
    assert_eq!(ask(stream, 77, &[]).unwrap().0, 38, "ENOSYS");
    assert_eq!(ask(stream, 1, &[0, 0, 1, 0]).unwrap().0, EINVAL, "a second VERSION");
    assert_eq!(ask(stream, 5, &words(&[32, 0, 9, 0, 0, 0, 0, 0])).unwrap().0, EINVAL);
    assert_eq!(ask(stream, 7, &words(&[16, 0, 5, 0])).unwrap().0, EINVAL);
    // Mappings: {argsz, flags, offset, address, size}.
    let map =
        |flags, offset: u32, address: u32, size: u32| words(&[32, flags, offset, 0, address, 0, size, 0]);
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 0, 4096), &[fd]).0, 0);
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 0, 8192), &[fd]).0, 17, "EEXIST");
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 8192, 4096), &[fd, fd]).0, EINVAL);
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 8192, 100), &[fd]).0, EINVAL);
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 8192, 4096), &[stream.try_clone().unwrap().as_fd()]).0, 13);
    let many = vec![fd; 20];
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 8192, 4096), &many).0, 7, "E2BIG");
    assert_eq!(ask_with_fds(stream, 9, &words(&[0, 0, 7, 4]), &[fd]).0, EINVAL, "nobody asked for a file");
    // Interrupts: {argsz, flags, index, start, count}.
    let irqs = |flags, index, start, count| words(&[20, flags, index, start, count]);
    assert_eq!(ask_with_fds(stream, 8, &irqs(0x24, 2, 0, 1), &[fd]).0, EINVAL, "no eventfd");
    for (flags, index, start, count) in [
        (0x24, 2, 8, 1),
        (0x24, 2, u32::MAX, 2),
        (0x21, 5, 0, 0),
        (0x27, 2, 0, 1),
        (0x01, 2, 0, 1),
        (0x22, 2, 0, 4),
    ] {
        let refused = ask(stream, 8, &irqs(flags, index, start, count)).unwrap().0;
        assert_eq!(refused, EINVAL, "{flags:#x} {index} {start} {count}");
    }
    // And after all that the same client still works.
    let (error, body) = ask(stream, 9, &words(&[0, 0, 7, 4])).unwrap();
    assert_eq!((error, &body[16..18]), (0, &PCI_VENDOR.to_le_bytes()[..]));
}

#[test]
fn nothing_is_done_before_the_version_is_agreed() {
    let simulator = dead(1);
    let mut stream = simulator.raw();
    assert_eq!(ask(&mut stream, 13, &[]).unwrap().0, EINVAL);
    assert_eq!(reply(&mut stream), None, "closed");
    let mut stream = simulator.raw();
    assert_ne!(ask(&mut stream, 1, &[1, 0, 0, 0]).unwrap().0, 0, "major version 1");
    assert_eq!(reply(&mut stream), None, "closed");
    simulator.check();
}

#[test]
fn sizes_that_cannot_be_end_the_connection_at_once() {
    let simulator = dead(1);
    for size in [0u32, 15, (1 << 20) + 65, u32::MAX] {
        let mut stream = simulator.raw();
        open(&mut stream);
        let mut bytes = message(9, 10, 0, &[]);
        bytes[4..8].copy_from_slice(&size.to_le_bytes());
        stream.write_all(&bytes).unwrap();
        assert_eq!(reply(&mut stream).unwrap().0, 90, "EMSGSIZE");
        assert_eq!(reply(&mut stream), None, "closed");
    }
    simulator.check();
}

#[test]
fn a_client_may_die_at_any_byte() {
    let simulator = dead(1);
    let mut whole = message(1, 1, 0, b"\0\0\x01\0{\"capabilities\":{}}\0");
    whole.extend(message(2, 9, 0, &words(&[0, 0, 7, 4])));
    whole.extend(message(3, 10, 0x10, &words(&[4, 0, 7, 4, 6])));
    for length in 0..=whole.len() {
        let mut stream = simulator.raw();
        stream.write_all(&whole[..length]).unwrap();
        drop(stream);
    }
    simulator.check();
}

#[test]
fn noise_does_no_harm() {
    let simulator = dead(1);
    let seed = 11;
    println!("seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..60 {
        let mut stream = simulator.raw();
        if round % 2 == 0 {
            open(&mut stream);
        }
        for _ in 0..20 {
            let mut body = vec![0u8; random.random_range(0..60)];
            random.fill(&mut body[..]);
            // Half of them with a header that makes sense, so that they get further.
            let bytes = match random.random() {
                true => message(random.random(), random.random_range(0..18), 0x10, &body),
                false => body,
            };
            if stream.write_all(&bytes).is_err() {
                break;
            }
        }
    }
    simulator.check();
}

#[test]
fn posted_writes_get_no_reply() {
    let simulator = dead(1);
    let mut stream = simulator.raw();
    open(&mut stream);
    stream.write_all(&message(1, 10, 0x10, &words(&[4, 0, 7, 4, 6]))).unwrap();
    // One that is refused is silent as well.
    stream.write_all(&message(2, 10, 0x10, &words(&[0, 0, 8, 4, 6]))).unwrap();
    let (_, body) = ask(&mut stream, 9, &words(&[4, 0, 7, 4])).unwrap();
    assert_eq!(body[16], 6);
    // Two stores in one message: {count, {offset, region, count, data} each}.
    let multi = words(&[2, 0, 4, 0, 7, 2, 2, 0, 0x10, 0, 7, 4, 0xFEB0_0000, 0]);
    assert_eq!(ask(&mut stream, 15, &multi).unwrap(), (0, 2u64.to_le_bytes().to_vec()));
    let (_, body) = ask(&mut stream, 9, &words(&[4, 0, 7, 16])).unwrap();
    assert_eq!((body[16], &body[28..32]), (2, &0xFEB0_0000u32.to_le_bytes()[..]));
}

#[test]
fn descriptors_of_clients_do_not_pile_up() {
    let simulator = dead(1);
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut stream = simulator.raw();
    open(&mut stream);
    let file = tempfile::tempfile().unwrap();
    let before = count();
    for _ in 0..200 {
        let fds = [file.as_fd(); 3];
        assert_eq!(ask_with_fds(&mut stream, 2, &words(&[32, 3, 0, 0, 0, 0, 4096, 0]), &fds).0, EINVAL);
    }
    // Other tests of this program open some of their own meanwhile.
    assert!(count() < before + 300, "{before} before, {} now", count());
    let zero = File::open("/dev/null").unwrap();
    assert_eq!(ask_with_fds(&mut stream, 2, &words(&[32, 1, 0, 0, 0, 0, 4096, 0]), &[zero.as_fd()]).0, 13);
}
