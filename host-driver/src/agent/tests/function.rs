//! A function is opened, waited for, taken away and closed.

use std::time::{Duration, Instant};

use super::*;
use crate::device::Alarm;
use crate::device_protocol::commands::{Admin, MOST_LOOKS};

fn refusal(register: u64, value: u64) -> String {
    let ledger = Ledger::new();
    ledger.books().registers.insert(register, value);
    Agent::open(Arc::new(ledger), options()).err().expect("it is refused").to_string()
}

#[test]
fn what_is_no_viaduct_nic_is_refused() {
    assert!(refusal(registers::MAGIC, 0x1234_5678).contains("0x12345678"));
    assert!(refusal(registers::VERSION, 99).contains("version 99"));
    assert!(refusal(registers::KIND, 3).contains("kind 3"));
    assert!(refusal(registers::VIS, 0).contains("virtual interfaces is 0"));
    assert!(refusal(registers::REGIONS, 1 << 20).contains("regions"));
    assert!(refusal(registers::DOORBELL_SHIFT, 3).contains("stride is 3"));
}

#[test]
fn bus_master_is_set_after_the_reset_and_cleared_at_the_end() {
    let (ledger, agent) = open();
    let deeds = ledger.take_deeds();
    let at = |deed: &Deed| deeds.iter().position(|d| d == deed).expect("it was done");
    assert!(at(&Deed::Reset) < at(&Deed::Enables(2)) && at(&Deed::Enables(2)) < at(&Deed::Enables(6)));
    let mapped = deeds.iter().position(|d| matches!(d, Deed::Map { .. })).expect("the arena is mapped");
    assert!(at(&Deed::Enables(6)) < mapped);
    assert_eq!(ledger.books().registers[&registers::MAC], 0x0100_0000_0002);
    assert_eq!(ledger.books().registers[&registers::IP], 0x0a00_0001);
    assert_eq!(ledger.books().registers[&registers::CONTROL], 3);
    drop(agent);
    assert_eq!(ledger.books().config[&4], 0);
    assert!(ledger.books().maps.is_empty(), "the arena is taken back");
}

#[test]
fn interrupts_are_set_after_the_reset_and_off_before_the_end() {
    let (ledger, agent) = open();
    let deeds = ledger.take_deeds();
    let at = |deeds: &[Deed], deed: &Deed| deeds.iter().position(|d| d == deed).expect("it was done");
    assert!(at(&deeds, &Deed::Reset) < at(&deeds, &Deed::Interrupts(4)));
    assert!(at(&deeds, &Deed::Enables(6)) < at(&deeds, &Deed::Interrupts(4)));
    drop(agent);
    let deeds = ledger.take_deeds();
    assert!(at(&deeds, &Deed::Interrupts(0)) < at(&deeds, &Deed::Reset));
    assert_eq!(Arc::strong_count(&ledger), 1, "no thread has it");
}

#[test]
fn a_command_that_is_soon_over_is_not_slept_for() {
    let ledger = Ledger::new();
    for (may_sleep, busy, pauses) in [(true, 3, 0), (true, 64, 0), (true, 70, 6), (false, 3, 3)] {
        let mut books = ledger.books();
        (books.may_sleep, books.busy, books.pauses) = (may_sleep, busy, 0);
        drop(books);
        Admin::of(&ledger).ready(|| "a command".into()).expect("it ends");
        let books = ledger.books();
        assert_eq!((books.busy, books.pauses), (0, pauses));
    }
}

#[test]
fn where_time_passes_in_calls_alone_a_command_has_so_many_looks() {
    let ledger = Ledger::new();
    ledger.books().may_sleep = false;
    for (busy, is_over) in [(MOST_LOOKS, true), (MOST_LOOKS + 1, false)] {
        ledger.books().busy = busy;
        let ended = Admin::of(&ledger).ready(|| "a command".into());
        assert_eq!(ended.is_ok(), is_over, "{ended:?}");
    }
}

#[test]
fn where_one_must_not_sleep_one_polls() {
    let ledger = Arc::new(Ledger::new());
    ledger.books().may_sleep = false;
    let agent = Agent::open(Arc::clone(&ledger) as _, options()).expect("a sound function");
    assert_eq!(agent.generation(0), None);
    assert!(!agent.sleep(0, 0, Duration::from_secs(60)));
    assert_eq!(agent.wait_events(Duration::from_millis(5)).ok(), Some(vec![]));
    drop(agent);
    assert!(!ledger.take_deeds().iter().any(|deed| matches!(deed, Deed::Interrupts(_))));
}

#[test]
fn a_function_that_the_system_takes_away_is_gone_for_all_who_wait_look_or_ask() {
    for (alarm, reason) in [(Alarm::Removal, "wants it back"), (Alarm::Error, "AER")] {
        let (ledger, agent) = open();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&heard);
        agent.listen(Box::new(move |vector| tell.lock().expect("no panic").push(vector)));
        let vectors = agent.vectors();
        let seen: Vec<u64> = (0..vectors).map(|n| agent.generation(n).expect("a vector")).collect();
        agent.check().expect("it is there");
        assert!(agent.can_end_in_order());
        ledger.books().busy = 1;
        assert!(!agent.can_end_in_order(), "a command is under way that nobody waits for");
        assert!(agent.can_end_in_order());
        std::thread::scope(|scope| {
            const LONG: Duration = Duration::from_secs(60);
            let waiter = scope.spawn(|| agent.wait_events(LONG));
            let sleepers: Vec<_> = (1..vectors)
                .map(|n| (n, seen[usize::from(n)]))
                .map(|(n, seen)| {
                    scope.spawn({
                        let agent = &agent;
                        move || agent.sleep(n, seen, LONG)
                    })
                })
                .collect();
            ledger.alarm(alarm);
            let error = waiter.join().expect("no panic").expect_err("it is gone");
            assert_eq!(error.class(), ErrorClass::Gone);
            assert!(error.to_string().contains(reason), "{error}");
            assert!(sleepers.into_iter().all(|sleeper| sleeper.join().expect("no panic")), "all are woken");
        });
        for error in [agent.check().err(), crate::kernel_agent::KernelAgent::check_here(&*agent).err()] {
            assert_eq!(error.expect("it is gone").class(), ErrorClass::Gone);
        }
        // Nobody gets anything new of it.
        let tag = agent.create_tag().expect("a tag");
        let vi = create_vi(&agent, vi_attributes(tag)).map(drop);
        let cq = create_cq(&agent, 64).map(drop);
        let view = std::sync::Arc::new(Mapping::shared("view", 4096).expect("memory").0);
        let range = (0x7f00_0000_0000, 4096);
        let region = agent.register_view(&view, None, 0, range, attributes(tag), u64::MAX).map(drop);
        for error in [vi, cq, region] {
            assert_eq!(error.expect_err("it is gone").class(), ErrorClass::Gone);
        }
        // One that is wanted back still does what it is told, so that its VIs end before their memory goes.
        assert_eq!(agent.can_end_in_order(), alarm == Alarm::Removal);
        // What is left is to close it: its memory is taken back as from any function that answers.
        drop(agent);
        assert!(ledger.books().maps.is_empty());
        // Who hears interrupts tells each vector's sleeper first, and has ended with the agent.
        assert_eq!(*heard.lock().expect("no panic"), (0..vectors).collect::<Vec<u8>>());
    }
}

#[test]
fn a_function_that_somebody_else_has_stopped_or_reset_is_gone() {
    let stop = |ledger: &Ledger| {
        ledger.books().config.insert(4, MEMORY_ENABLE);
    };
    let reset = |ledger: &Ledger| {
        ledger.books().registers.insert(registers::CONTROL, 0);
    };
    for (meddle, reason) in [(&stop as &dyn Fn(&Ledger), "Bus Master Enable"), (&reset, "CONTROL")] {
        let (ledger, agent) = open();
        agent.check().expect("it runs");
        meddle(&ledger);
        let error = agent.check().expect_err("it does nothing any more");
        assert!(!agent.can_end_in_order());
        assert_eq!(error.class(), ErrorClass::Gone);
        assert!(error.to_string().contains(reason) && error.to_string().contains("somebody else"), "{error}");
        drop(agent);
        assert!(ledger.books().maps.is_empty(), "its memory is taken back");
    }
}

/// The kernel says that the bus has failed, and resets the function at once: on a busy machine who looks may run before who hears.
#[test]
fn what_the_system_has_said_is_the_reason_though_nobody_has_heard_it_yet() {
    let (ledger, agent) = open();
    let (hears, busy) = std::sync::mpsc::channel();
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new((hears, wait));
    agent.listen(Box::new(move |_| {
        let (hears, wait) = &*held.lock().expect("no panic");
        let _ = hears.send(());
        let _ = wait.recv();
    }));
    ledger.interrupt(1);
    busy.recv().expect("the thread hears, and is held");
    ledger.alarm(Alarm::Error);
    assert!(agent.check_alarm().is_ok(), "the thread has heard nothing");
    ledger.books().config.insert(4, 0);
    for error in [
        agent.check().expect_err("it is gone").to_string(),
        agent.check_alarm_now().expect_err("it is gone").to_string(),
    ] {
        assert!(error.contains("AER"), "{error}");
    }
    drop(go_on);
}

#[test]
fn a_forked_child_is_refused_and_waits_for_no_lock_of_its_parents() {
    let (_ledger, agent) = open();
    // As if another thread were in a call.
    let held = agent.state().expect("this process");
    // SAFETY: the child calls what returns an error before it does anything, and ends without running anything of the parent's.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let refused = agent.create_tag().is_err() && agent.take_events().is_err();
        // SAFETY: ending is always allowed.
        unsafe { libc::_exit(if refused { 7 } else { 1 }) };
    }
    let start = Instant::now();
    let mut status = 0;
    // SAFETY: our child, and our variable.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > Duration::from_secs(20) {
            // SAFETY: our child.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(held);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "status {status:#x}");
}
