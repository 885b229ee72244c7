//! Clients of a viad exchange messages, as with an agent of their own.

use std::time::{Duration, Instant};

use viaduct_viad_tests::stage::{connect, connected, until, End, Stage, BUFFER, BYTES, LONG};
use vipl::{Descriptor, Error, MemAttributes, Nic, Return, ViAttributes, ViState};

#[test]
fn messages_go_between_the_clients_of_two_viads() {
    let stage = Stage::new(2);
    let nics = [0, 1].map(|nic| Nic::open(&stage.name(nic)).expect("it serves"));
    assert_eq!(nics[1].attributes().ip.to_string(), "10.0.0.2");
    let (one, other) = connected(&nics[0], &nics[1]);
    for round in 0..50usize {
        let (from, to) = if round % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let message: Vec<u8> = (0..1 + round * 97).map(|n| (n * 7 + round) as u8).collect();
        to.post_recv(1, BUFFER, 8192);
        from.send(0, BUFFER, &message);
        let received = to.vi.recv_wait(Some(LONG)).unwrap_or_else(|error| {
            let events = nics.each_ref().map(Nic::take_events);
            panic!("round {round}: {error}, {:?}, {events:?}", from.vi.send_done().map_err(|e| e.to_string()))
        });
        assert_eq!(received.length(), message.len());
        assert_eq!(to.bytes(BUFFER, message.len()), message);
        from.vi.send_wait(Some(LONG)).expect("it is acknowledged");
    }
    // Idle, and connected anew, with the same descriptor at the same place.
    for end in [&one, &other] {
        end.vi.disconnect().expect("it answers");
        assert_eq!(end.vi.query().expect("it answers").state, ViState::Idle);
    }
    other.post_recv(1, BUFFER, 64);
    connect(&one, &other);
    one.send(0, BUFFER, b"again");
    assert_eq!(other.vi.recv_wait(Some(LONG)).expect("it arrives").length(), 5);
    one.vi.send_wait(Some(LONG)).expect("it is acknowledged");
}

#[test]
fn two_clients_of_one_viad_talk_over_one_nic_and_a_completion_queue_grows() {
    let stage = Stage::new(1);
    let nics = [(); 2].map(|()| Nic::open(&stage.name(0)).expect("it serves"));
    let ptag = nics[1].create_ptag().expect("a tag");
    let cq = nics[1].create_cq(4).expect("a queue");
    let memory = nics[1].allocate(BYTES, &MemAttributes::new(&ptag)).expect("memory");
    let attributes = ViAttributes { receive_cq: Some(cq.clone()), ..ViAttributes::new(&ptag) };
    let vi = nics[1].create_vi(&attributes).expect("a VI");
    let (one, other) = (End::new(&nics[0]), End { vi: vi.into(), memory, nic: nics[1].clone() });
    connect(&one, &other);
    for round in 0..40usize {
        (0..3).for_each(|slot| other.post_recv(8 + slot, BUFFER + 64 * slot, 64));
        (0..3).for_each(|slot| one.send(slot, BUFFER, &[round as u8; 16]));
        (0..3).for_each(|_| drop(one.vi.send_wait(Some(LONG)).expect("sent")));
        if round % 10 == 9 {
            cq.resize(4 + round).expect("it may grow");
        }
        for _ in 0..3 {
            let entry = cq.wait(Some(LONG)).expect("an entry each");
            assert!(entry.receive && entry.vi == other.vi.id());
            other.vi.recv_done().expect("complete");
        }
        assert!(matches!(cq.done(), Err(Error::NotDone)));
    }
}

#[test]
fn a_sleeper_is_woken_and_a_time_out_is_one() {
    let stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let (one, other) = connected(&nic, &nic);
    other.post_recv(1, BUFFER, 64);
    let start = Instant::now();
    assert!(matches!(other.vi.recv_wait(Some(Duration::from_millis(300))), Err(Error::Timeout)));
    assert!(start.elapsed() >= Duration::from_millis(300));
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| other.vi.recv_wait(Some(LONG)).map(|d| d.length()));
        std::thread::sleep(Duration::from_millis(50));
        one.send(0, BUFFER, b"wake");
        assert_eq!(sleeper.join().expect("no panic").expect("it is woken"), 4);
    });
    // What no descriptor can tell reaches the one whose VI it is of.
    let stranger = Nic::open(&stage.name(0)).expect("it serves");
    let third = End::new(&stranger);
    one.send(0, BUFFER, b"nobody listens");
    let events = other.nic.wait_events(LONG).expect("it answers");
    assert!(!events.is_empty());
    assert!(stranger.wait_events(Duration::from_millis(50)).expect("it answers").is_empty());
    drop(third);
}

#[test]
fn eight_threads_wait_for_eight_queues_and_miss_nothing() {
    let stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let pairs: Vec<_> = (0..8).map(|_| connected(&nic, &nic)).collect();
    std::thread::scope(|scope| {
        for (one, other) in &pairs {
            scope.spawn(move || {
                for round in 0..150usize {
                    let (from, to) = if round % 2 == 0 { (one, other) } else { (other, one) };
                    to.post_recv(1, BUFFER, 64);
                    from.send(0, BUFFER, &round.to_le_bytes());
                    to.vi.recv_wait(Some(LONG)).expect("it arrives");
                    assert_eq!(to.bytes(BUFFER, 8), round.to_le_bytes());
                    from.vi.send_wait(Some(LONG)).expect("sent");
                }
            });
        }
    });
}

#[test]
fn what_a_program_has_can_be_registered() {
    static mut STATIC: [u8; 10_000] = [3; 10_000];
    static CONSTANT: [u8; 100] = [9; 100];
    let stage = Stage::with(1, "[user]\nregions = 220\n");
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let (one, other) = connected(&nic, &nic);
    let ptag = nic.create_ptag().expect("a tag");
    let attributes = MemAttributes::new(&ptag);
    let mut stack = [1u8; 5000];
    let mut heap = vec![2u8; 100_000];
    // SAFETY: all of it outlives the regions, which end before the end of this function.
    let regions: Vec<_> = unsafe {
        [
            (stack.as_mut_ptr(), stack.len()),
            (heap.as_mut_ptr().add(1), 99_999),
            (heap.as_mut_ptr().add(4097), 1),
            ((&raw mut STATIC).cast::<u8>(), 10_000),
            (CONSTANT.as_ptr().cast_mut(), 100),
        ]
        .map(|(start, length)| {
            let start = std::ptr::NonNull::new(start).expect("memory");
            nic.register(start, length, &attributes).expect("any memory")
        })
        .into()
    };
    // Each is read by the NIC and arrives.
    let vi = nic.create_vi(&ViAttributes::new(&ptag)).expect("a VI");
    let words = nic.allocate(4096, &attributes).expect("memory");
    drop((one, other));
    let other = End::new(&nic);
    vi.connect(&other.vi.connection_info()).expect("idle");
    other.vi.connect(&vi.connection_info()).expect("idle");
    for (region, value) in regions.iter().zip([1u8, 2, 2, 3, 9]) {
        other.post_recv(1, BUFFER, BYTES - BUFFER);
        let send = Descriptor::new().segment(region, 0, region.length()).expect("inside");
        vi.post_send(send.build(&words, 0).expect("aligned")).expect("posted");
        assert_eq!(other.vi.recv_wait(Some(LONG)).expect("it arrives").length(), region.length());
        assert!(other.bytes(BUFFER, region.length()).iter().all(|byte| *byte == value));
        vi.send_wait(Some(LONG)).expect("sent");
    }
    // A thousand of them, of the same few pages, with the descriptors that a session has.
    let many: Vec<_> = (0..200)
        .map(|n| {
            let start = std::ptr::NonNull::from(&mut heap[n * 3]);
            // SAFETY: as above.
            unsafe { nic.register(start, 500 + n, &attributes) }.expect("room")
        })
        .collect();
    let open = std::fs::read_dir("/proc/self/fd").expect("readable").count();
    assert!(open < 64, "{open} descriptors");
    drop(many);
    // What is no memory of the process's is refused in words.
    // SAFETY: it is refused.
    let error =
        unsafe { nic.register(std::ptr::NonNull::new(64 as *mut u8).expect("not 0"), 10, &attributes) }
            .expect_err("nothing is mapped there");
    assert_eq!(error.code(), Return::InvalidParameter);
    assert!(error.to_string().contains("nothing is mapped at"), "{error}");
}

#[test]
fn a_session_gives_everything_back() {
    let stage = Stage::with(1, "[user]\nvis = 3\nregions = 4\ncqs = 1\nsessions = 2\n");
    for _ in 0..3 {
        let nic = Nic::open(&stage.name(0)).expect("it serves");
        let ends = [(); 3].map(|()| End::new(&nic));
        let ptag = nic.create_ptag().expect("a tag");
        let error = nic.create_vi(&ViAttributes::new(&ptag)).expect_err("the limit is three");
        assert_eq!(error.code(), Return::ErrorResource);
        assert!(error.to_string().contains("virtual interface"), "{error}");
        let cq = nic.create_cq(10).expect("one");
        assert_eq!(nic.create_cq(10).expect_err("the limit is one").code(), Return::ErrorResource);
        let other = Nic::open(&stage.name(0)).expect("a second session");
        // The limits are the user's.
        let tag = other.create_ptag().expect("a tag");
        assert_eq!(
            other.create_vi(&ViAttributes::new(&tag)).expect_err("three").code(),
            Return::ErrorResource
        );
        assert!(Nic::open(&stage.name(0)).expect_err("two sessions").to_string().contains("sessions"));
        ends[0].post_recv(0, BUFFER, 64);
        // Not in order, and with receives posted.
        drop((tag, other, cq, nic, ptag, ends));
        let over = |log: &str| log.matches("a client pid").count() == log.matches("session ended").count();
        assert!(until(LONG, || over(&stage.log(0))), "{}", stage.log(0));
    }
    assert!(!stage.log(0).contains("not everything was given back"), "{}", stage.log(0));
}

#[test]
fn arenas_and_rings_count_as_rows_and_nobody_has_more_than_his_share() {
    // Of a NIC of 256 regions and 2048 pages, a user has a third when nothing is said.
    let stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    assert_eq!(nic.attributes().max_register_regions, 84, "85 rows, of which the arena has one");
    let ptag = nic.create_ptag().expect("a tag");
    let cqs: Vec<_> = (0..10).map(|_| nic.create_cq(4).expect("within")).collect();
    let second = Nic::open(&stage.name(0)).expect("a session has a row, too");
    let attributes = MemAttributes::new(&ptag);
    let regions: Vec<_> =
        (0..85 - 2 - 10).map(|_| nic.allocate(4096, &attributes).expect("within")).collect();
    for error in
        [nic.allocate(4096, &attributes).err(), nic.create_cq(4).err(), Nic::open(&stage.name(0)).err()]
    {
        let error = error.expect("no row is left").to_string();
        assert!(error.contains("rows of the region table") && error.contains("limit is 85"), "{error}");
    }
    drop(second);
    let freed = || nic.allocate(4096, &attributes).is_ok();
    assert!(until(LONG, freed), "the session's row is back");
    drop(cqs);
    let more: Vec<_> = (0..10).map(|_| nic.allocate(4096, &attributes).expect("theirs, too")).collect();
    drop((regions, more));

    // Rows of the page table, by themselves: an arena's, and one or two each region.
    let stage = Stage::with(1, "[user]\npages = 5\n");
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let ptag = nic.create_ptag().expect("a tag");
    let regions: Vec<_> = (0..).map_while(|_| nic.allocate(4096, &MemAttributes::new(&ptag)).ok()).collect();
    assert_eq!(regions.len(), 4, "they are aligned to their size");
    let error = nic.allocate(4096, &MemAttributes::new(&ptag)).expect_err("one too many");
    assert!(error.to_string().contains("rows of the page table"), "{error}");
}

#[test]
fn who_waits_for_events_asks_for_none() {
    // After a few requests each takes a second.
    let stage = Stage::with(1, "[user]\nrequests = 1\nburst = 40\n");
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let start = Instant::now();
    for _ in 0..100 {
        assert!(nic.wait_events(Duration::from_millis(5)).expect("it answers").is_empty());
    }
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(500) && took < Duration::from_secs(20), "{took:?}");
}
