//! How long `complete/sends` waits, and how often: every time that a peer may ask for, every time-out, every number of retries.

use viaduct_spec::register::event_code;
use viaduct_spec::wire::{syndrome, RNR_DELAY};

use crate::requester::{Settings, World};

const VI: u64 = 42;

/// The deadline is so many ticks and one from now; the tick under way may count.
#[track_caller]
fn waits(world: &mut World, now: u32, ticks: u32) -> u32 {
    world.dut.eval();
    assert_eq!(world.dut.get("deadline_valid"), 1);
    let deadline = world.dut.get("deadline") as u32;
    let early = now.wrapping_add(ticks).wrapping_add(1).wrapping_sub(deadline);
    assert!(early <= 1, "{deadline:#x} is not {ticks} after {now:#x}");
    deadline
}

/// Time goes on to behind a deadline.
fn pass(world: &mut World, deadline: u32) -> u32 {
    let now = deadline.wrapping_add(2);
    world.dut.set("time_now", now.into());
    world.settle();
    now
}

/// Rule REQ-6.
#[test]
fn a_peer_that_asks_for_time_gets_it() {
    let mut world = World::new();
    for (code, delay) in RNR_DELAY.iter().enumerate() {
        let ticks = (u64::from(*delay) * 1000).div_ceil(1024) as u32;
        let now = 0xFFFF_0000_u32.wrapping_add(code as u32 * 0x0555_5555);
        world.dut.set("time_now", now.into());
        let (code, psn) = (code as u8, (code as u64 * 0x08_4211 + 10) & 0xff_ffff);
        world.create(VI, Settings { psn, rnr_retries: 1, ..Settings::default() });
        world.send(VI, 0, psn);
        world.answer(VI, psn, syndrome::RNR_NAK | code);
        world.settle();
        let deadline = waits(&mut world, now, ticks);
        world.dut.set("time_now", deadline.wrapping_sub(1).into());
        world.settle();
        assert_eq!(world.rewinds(), [], "code {code}");
        pass(&mut world, deadline);
        let [rewound] = world.rewinds()[..] else { panic!("code {code}: one rewind") };
        assert_eq!((rewound.vi, rewound.position, rewound.skip, rewound.psn), (VI, 0, 0, psn));
        world.create(VI, Settings::default());
        world.settle();
    }
}

/// Rule REQ-5.
#[test]
fn a_timer_ends_at_its_time_whatever_that_is() {
    let mut world = World::new();
    for timeout in (0..20).flat_map(|bit| [1_u32 << bit, (1 << 20) - 1 - (1 << bit)]) {
        let now = timeout.wrapping_mul(0x9E37_79B9);
        world.dut.set("time_now", now.into());
        let psn = u64::from(now >> 8);
        let settings = Settings { psn, timeout: timeout.into(), retries: 1, ..Settings::default() };
        world.create(VI, settings);
        world.send(VI, 0, psn);
        world.settle();
        let deadline = waits(&mut world, now, timeout);
        world.dut.set("time_now", deadline.wrapping_sub(1).into());
        world.settle();
        assert_eq!(world.rewinds(), [], "{timeout} ticks");
        pass(&mut world, deadline);
        let psns: Vec<u64> = world.rewinds().iter().map(|rewound| rewound.psn).collect();
        assert_eq!(psns, [psn], "{timeout} ticks");
        world.create(VI, Settings::default());
        world.settle();
    }
}

/// The VI breaks with the time-out, or the answer, that is one too many.
/// Rules REQ-5 and REQ-6.
#[test]
fn as_many_retries_as_the_row_says() {
    let mut world = World::new();
    for (retries, rests) in [1, 2, 5, 10, 213].into_iter().flat_map(|most| [(most, false), (most, true)]) {
        let mut now = 5;
        world.dut.set("time_now", now.into());
        let (timeout, rnr_retries) = if rests { (0, retries) } else { (3, 0) };
        let settings = Settings { psn: 10, timeout, retries, rnr_retries, ..Settings::default() };
        world.create(VI, settings);
        world.send(VI, 0, 10);
        for retry in 0..retries {
            if rests {
                world.answer(VI, 10, syndrome::RNR_NAK | 1);
            }
            world.settle();
            assert_eq!(world.broken, [], "retry {retry} of {retries}");
            let deadline = world.dut.get("deadline") as u32;
            now = pass(&mut world, deadline);
            assert_eq!(world.rewinds().len(), 1, "retry {retry} of {retries}");
            world.send(VI, 0, 10);
        }
        if rests {
            world.answer(VI, 10, syndrome::RNR_NAK | 1);
        }
        world.settle();
        let deadline = world.dut.get("deadline") as u32;
        pass(&mut world, deadline.max(now));
        assert_eq!(world.broken, [(VI, event_code::CONN_LOST)], "{retries} retries");
        assert_eq!(world.rewinds(), []);
        world.broken.clear();
        world.completed.clear();
        world.create(VI, Settings::default());
        world.settle();
    }
}

/// Rule REQ-5: of 1 to 40 packets one is answered; the timer ends only if others are in flight.
#[test]
fn a_timer_runs_while_a_packet_is_in_flight() {
    let mut world = World::new();
    let mut now = 0;
    for number in 1..=40 {
        world.create(VI, Settings { timeout: 9, retries: 1, ..Settings::default() });
        (0..number).for_each(|psn| world.packet(VI, psn, 1));
        world.answer(VI, 0, syndrome::ACK);
        world.settle();
        now = pass(&mut world, now + 10);
        assert_eq!(world.rewinds().len(), usize::from(number > 1), "{number} packets");
    }
}
