//! Device time that stands still while a host does something about what its NIC has told it (`--hold`).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rustix::fs::{memfd_create, MemfdFlags};
use viaduct_driver::device::Bar;
use viaduct_sim::live::{Handle, Live};
use viaduct_sim::memory::Range;
use viaduct_sim::network::{Network, Options};
use viaduct_sim::root_complex::{Access, NIC_ID};
use viaduct_sim::tlp::{Request, Tlp};

use crate::support::scripted::{Scripted, LOADED};

/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);
/// What a host does in the meantime.
const WORK: Duration = Duration::from_millis(100);

/// A NIC that tells its host of something, and hosts whose work takes time on the wall: how much of it passes on the NIC's clock then. Another thread
/// than the network's asks.
fn passes(quiet: Duration, told: &[u32], then: impl FnOnce(&Handle)) -> Duration {
    let (nic, script) = Scripted::make();
    let (live, handle) = Live::new(Network::new(vec![nic], &Options::default(), None));
    let stepping = std::thread::spawn(move || live.holding(quiet).run());
    let file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(4096).unwrap();
    let range = Range { iova: 0x1000, length: 4096, offset: 0, readable: true, writable: true };
    handle.map(0, range, Some(file.try_clone().unwrap())).unwrap().unwrap();
    handle.config_write(0, 4, vec![6, 0]).unwrap();
    let write = Tlp::Write(Request::new(0x1000, told.len() * 4, 0, NIC_ID), told.to_vec());
    script.lock().unwrap().send.push_back(write);
    // It sends when something wakes it.
    handle.store(0, Access::new(Bar::Doorbells, 0, 8).unwrap(), 1).unwrap();
    let (start, mut last) = (Instant::now(), [0; 4]);
    while last != told[told.len() - 1].to_le_bytes() {
        assert!(start.elapsed() < Duration::from_secs(20), "it never came");
        file.read_exact_at(&mut last, told.len() as u64 * 4 - 4).unwrap();
    }
    let time = || Duration::from_nanos(handle.status().unwrap().simulated_ns);
    let before = time();
    std::thread::sleep(WORK);
    then(&handle);
    let passed = time() - before;
    handle.stop();
    stepping.join().unwrap();
    passed
}

#[test]
fn what_a_host_does_about_a_completion_takes_no_device_time() {
    // The status reads the counters, which takes some microseconds.
    assert!(passes(LONG, &[1, 2], |_| {}) < WORK / 10, "a status");
    assert!(passes(LONG, &[1, 2, 3, 4], |_| {}) < WORK / 10, "as long as is short");
    assert!(passes(Duration::ZERO, &[1, 2], |_| {}) >= WORK / 2, "without it time follows the wall");
    assert!(passes(LONG, &[1, 2, 3, 4, 5, 6], |_| {}) >= WORK / 2, "the data of a message");
}

#[test]
fn a_load_is_answered_while_time_stands() {
    let passed = passes(LONG, &[1, 2], |handle| {
        let access = Access::new(Bar::Registers, 0, 4).unwrap();
        assert_eq!(handle.load(0, access).unwrap(), u64::from(LOADED));
    });
    assert!(passed < WORK / 10, "{passed:?}");
}

#[test]
fn time_goes_on_when_hosts_have_been_quiet() {
    assert!(passes(WORK / 10, &[1, 2], |_| {}) >= WORK / 4);
}
