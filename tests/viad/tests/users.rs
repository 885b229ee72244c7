//! Many users of one NIC, some of them against the others: each a process of a user of its own.

use std::time::Instant;

use viaduct_driver::viad::place::Place;
use viaduct_viad_tests::{
    child::{self, child, lines, user, wait_for},
    honest::honest,
    hostile::{go_on, Told, DEEDS, FLIGHT, HOSTILE},
    skip::skip,
    stage::{connect, until, End, Process, Stage, BUFFER, LONG},
};
use vipl::{MemAttributes, Nic, ViAttributes};

/// Honest users, one process each.
const HONEST: u32 = 8;
/// Bytes of the memory that nobody may touch.
const BAIT: usize = 8192;

/// Not a test: what the children of the tests do.
#[test]
#[ignore = "a client process of the other tests"]
fn a_client_process() {
    let Some((role, name)) = child::role() else { return };
    let (what, rest) = role.split_once(' ').unwrap_or((&role, ""));
    if what == "honest" {
        return honest(&Nic::open(&name).expect("it serves"), rest.parse().expect("a number"));
    }
    let socket = name.strip_prefix("viad:").expect("a viad's");
    go_on(&[what], &Place::at(socket), Told::of_text(rest));
}

#[test]
fn eight_honest_users_notice_nothing_of_eight_hostile_ones() {
    if user(0).is_none() {
        return skip("we are not root, and cannot be other users");
    }
    let stage = Stage::new(1);
    // One more honest user, of whom the hostile ones know everything. It has a receive posted, and memory for RDMA.
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let ptag = nic.create_ptag().expect("a tag");
    let bait = MemAttributes { enable_rdma_write: true, enable_rdma_read: true, ..MemAttributes::new(&ptag) };
    let bait = nic.allocate(BAIT, &bait).expect("memory");
    let pattern: Vec<u8> = (0..BAIT).map(|n| (n * 7 + n / 256) as u8).collect();
    bait.write(0, &pattern).expect("inside");
    let (one, mut other) = (End::new(&nic), End::new(&nic));
    let rdma = ViAttributes { enable_rdma_write: true, enable_rdma_read: true, ..ViAttributes::new(&ptag) };
    let words = nic.allocate(1 << 20, &MemAttributes::new(&ptag)).expect("memory");
    (other.vi, other.memory) = (nic.create_vi(&rdma).expect("a VI").into(), words);
    connect(&one, &other);
    other.post_recv(1, BUFFER, 8192);
    let vi = other.vi.connection_info();
    let told = Told { address: bait.address() as u64, handle: bait.handle(), vi };

    // One user and one process each.
    let mut hostile: Vec<(&str, Process)> = DEEDS
        .iter()
        .chain([&FLIGHT])
        .zip(20..)
        .map(|(deed, n)| (*deed, child(&format!("{deed} {}", told.to_text()), &stage.name(0), user(n))))
        .collect();
    for (deed, process) in &mut hostile {
        let mut said = lines(process);
        let begun = said.next();
        assert!(begun.is_some(), "{deed}");
        wait_for(&mut said, HOSTILE);
        // What else it says is read, so that it never waits.
        std::thread::spawn(move || said.for_each(drop));
    }
    let start = Instant::now();
    let mut honest: Vec<Process> =
        (0..HONEST).map(|n| child("honest 30", &stage.name(0), user(1 + n))).collect();
    for process in &mut honest {
        assert!(process.0.wait().expect("it ends").success(), "an honest user was disturbed");
    }
    println!("{:?} for {HONEST} users beside {} hostile ones", start.elapsed(), hostile.len());
    // They were at it all the time, and nothing of it went otherwise than they were to find.
    for (deed, process) in &mut hostile {
        assert!(process.0.try_wait().expect("a process").is_none(), "{deed} has ended before");
    }
    // Killed as they are.
    drop(hostile);
    let over = |log: &str| {
        log.matches("a client pid=").count()
            == log.matches("session ended").count() + log.matches("session closed").count() + 1
    };
    assert!(until(LONG, || over(&stage.log(0))), "{}", stage.log(0));
    let mut now = vec![0; BAIT];
    bait.read(0, &mut now).expect("inside");
    assert!(now == pattern, "its memory was changed");
    assert!(other.vi.recv_done().is_err(), "its receive is complete");
    let events = nic.take_events().expect("it answers");
    assert!(events.is_empty(), "{events:?}");
    // Still connected, as it was.
    one.send(0, BUFFER, b"as ever");
    assert_eq!(other.vi.recv_wait(Some(LONG)).expect("it arrives").length(), 7);
    one.vi.send_wait(Some(LONG)).expect("it is acknowledged");
    let log = stage.log(0);
    assert!(!log.contains("panicked") && !log.contains("not everything was given back"), "{log}");
}
