//! The last word of a connection is repeated, and forgotten with it.

use viaduct_hdl::bus::{word, AckRequest};
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use super::{ask, ready, said, shown, Request};
use crate::bundle::Bundle;

/// Rule RSP-8.
#[test]
fn the_last_word_is_kept_and_repeated_until_it_is_forgotten() {
    let mut dut = ready();
    let ack = |psn| Request { vi: 9, psn, msn: 3, syndrome: syndrome::ACK.into() };
    let nak = Request { vi: 9, psn: 20, msn: 4, syndrome: syndrome::NAK_ACCESS.into() };
    // Nothing was said that could be repeated.
    ask(&mut dut, ack(5), word::REPEAT);
    assert_eq!(said(&mut dut), None);
    ask(&mut dut, ack(6), word::SAY);
    assert_eq!(said(&mut dut), Some(ack(6)));
    ask(&mut dut, ack(7), word::REPEAT);
    assert_eq!(said(&mut dut), None, "it was not the last");

    for round in 0..2 {
        ask(&mut dut, nak, word::LAST);
        assert_eq!(said(&mut dut), Some(nak));
        ask(&mut dut, ack(21), word::SAY);
        assert_eq!(said(&mut dut), None, "nothing follows it");
        for _ in 0..3 {
            ask(&mut dut, ack(22), word::REPEAT);
            assert_eq!(said(&mut dut), Some(nak), "round {round}");
        }
        // Another VI has its own.
        let other = Request { vi: 10, ..ack(1) };
        ask(&mut dut, other, word::REPEAT);
        assert_eq!(said(&mut dut), None);
        ask(&mut dut, other, word::SAY);
        assert_eq!(said(&mut dut), Some(other));
        // A new connection, even with the word still waiting.
        ask(&mut dut, Request { vi: 1, ..ack(1) }, word::SAY);
        ask(&mut dut, ack(23), word::REPEAT);
        ask(&mut dut, ack(24), word::FORGET);
        assert_eq!(said(&mut dut).expect("of VI 1").vi, 1);
        assert_eq!(said(&mut dut), None);
        ask(&mut dut, ack(25), word::REPEAT);
        assert_eq!(said(&mut dut), None);
        ask(&mut dut, ack(26), word::SAY);
        assert_eq!(said(&mut dut), Some(ack(26)));
    }
}

/// An answer on offer waits for the wire while its connection ends, and the next one begins: it is not the next one's.
#[test]
fn what_is_on_offer_is_forgotten_with_its_connection() {
    let mut dut = ready();
    let not_ready = Request { vi: 9, psn: 5, msn: 3, syndrome: syndrome::RNR_NAK.into() };
    let kind = |dut: &Bench| Bundle::of::<AckRequest>("ack").get(dut, "kind");
    ask(&mut dut, not_ready, word::SAY);
    ask(&mut dut, Request { vi: 8, ..not_ready }, word::FORGET);
    assert_eq!((dut.get("ack_valid"), kind(&dut)), (1, word::SAY), "another's connection has ended");
    ask(&mut dut, Request { psn: 6, ..not_ready }, word::FORGET);
    // Whoever has looked at it already finds it as it was, but for that.
    assert_eq!((dut.get("ack_valid"), shown(&dut), kind(&dut)), (1, not_ready, word::FORGET));
    dut.set("ack_ready", 1);
    dut.eval();
    assert_eq!(dut.get("count_rnr"), 0, "it does not leave");
    dut.tick();
    dut.set("ack_ready", 0);
    let next = Request { psn: 7, syndrome: syndrome::ACK.into(), ..not_ready };
    ask(&mut dut, next, word::SAY);
    assert_eq!((shown(&dut), kind(&dut)), (next, word::SAY));
}

#[test]
fn receiver_not_ready_answers_are_counted_as_they_leave() {
    let mut dut = ready();
    let wait = Request { vi: 2, psn: 8, msn: 1, syndrome: u64::from(syndrome::RNR_NAK) | 17 };
    for _ in 0..3 {
        ask(&mut dut, wait, word::SAY);
        assert_eq!(said(&mut dut), Some(wait));
    }
}
