//! What a connection costs the agent, of which its rate comes (`tests/viad/examples/connect_rate.rs` measures that): commands, each of them a round
//! trip where the device is behind a socket; and sleeps, of which there are none. Through viad: `tests/viad/tests/rate.rs`.

use super::*;

const CONNECTIONS: usize = 200;
/// Of a connection from an idle VI to an idle VI: its state is asked for, its template is eight rows, its send queue is closed, three more rows and
/// the queue are written, and its state; it is broken; and made idle as a new one is (LIFE-3).
const COMMANDS: usize = 15 + 1 + 10;

/// How often this thread has given its processor away by itself so far: it slept.
fn sleeps() -> usize {
    // SAFETY: zeros are a value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: there is room for what it writes.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) }, 0);
    usize::try_from(usage.ru_nvcsw).expect("a count")
}

#[test]
fn a_connection_costs_its_commands_and_no_sleep() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let vi = create_vi(&agent, vi_attributes(tag)).expect("a free VI");
    ledger.take_deeds();
    let before = sleeps();
    for _ in 0..CONNECTIONS {
        let peer = ConnectionInfo { mac: Mac([2, 0, 0, 0, 0, 2]), queue_pair: 0x400, ..vi.info() };
        vi.connect(&peer).expect("an idle VI");
        vi.break_off().expect("a connected VI");
        vi.make_idle().expect("a broken VI");
    }
    let slept = sleeps() - before;
    assert!(slept < CONNECTIONS, "{slept} sleeps in {CONNECTIONS} connections");
    assert_eq!(ledger.books().pauses, 0);
    let commands = ledger.take_deeds().iter().filter(|deed| matches!(deed, Deed::Command { .. })).count();
    assert_eq!(commands, CONNECTIONS * COMMANDS);
}
