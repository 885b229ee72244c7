//! The blocks of transmit that decide and keep nothing from one packet to the next: what is sent, what an acknowledgement becomes, and
//! which PSNs a packet takes.

use rand::seq::IndexedRandom;
use rand::Rng;
use viaduct_hdl::bus::{AckRequest, Packet, Whole};
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::{
    AckJudge, AckVerdict, MessageUnderWay, PacketJudge, PacketVerdict, PsnCount, SenderNow,
};
use viaduct_spec::descriptor::status;
use viaduct_spec::inside::word;
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use crate::port::{self, Fields};

const FLUSHED: u64 = status::DESC_FLUSHED_ERROR as u64;
const PROTECTION: u64 = status::PROTECTION_ERROR as u64;
const TRANSPORT: u64 = status::TRANSPORT_ERROR as u64;

/// The error with which a message ends at this packet; 0: none.
fn error(packet: &Fields, whole: &Fields, now: &Fields, started: bool) -> u64 {
    let flushed = if started { TRANSPORT } else { FLUSHED };
    match (packet["send"] == 1, packet["errors"]) {
        // WQ-4: the VI is not connected, or gather has found it so.
        (true, _) if now["connected"] == 0 => flushed,
        (false, errors) if errors != 0 && now["connected"] == 0 => flushed,
        (false, FLUSHED) => flushed,
        (false, errors) => errors,
        (true, _) if packet["length"] == 0 => 0,
        // WQ-2 goes before WQ-8.
        (true, _) if whole["refused"] == 1 => PROTECTION,
        (true, _) if whole["failed"] == 1 => TRANSPORT,
        (true, _) => 0,
    }
}

/// Rules WQ-2, WQ-3, WQ-4, WQ-8.
#[test]
fn a_packet_is_sent_or_ends_its_message_with_the_first_error() {
    let mut bench = Bench::new("packet_judge", &verilog(PacketJudge::default()));
    let mut rng = crate::random(&bench);
    let (mut sent, mut broken) = (0, 0);
    for _ in 0..5000 {
        let mut bit = |likely: f64| u64::from(rng.random_bool(likely));
        let packet = port::fields(&[
            ("send", bit(0.8)),
            ("first", bit(0.5)),
            ("restart", bit(0.1)),
            ("reply", bit(0.3)),
            ("epoch", bit(0.5)),
            ("length", 64 * bit(0.8)),
            ("errors", [0, FLUSHED, PROTECTION][(bit(0.5) + bit(0.5)) as usize]),
        ]);
        let whole = port::fields(&[("refused", bit(0.2)), ("failed", bit(0.2))]);
        let now = port::fields(&[
            ("reliable", bit(0.7)),
            ("connected", bit(0.8)),
            ("idle", bit(0.1)),
            ("epoch", packet["epoch"] ^ bit(0.2)),
            ("refusing", bit(0.1)),
        ]);
        let under_way = port::fields(&[("started", bit(0.5)), ("dropping", bit(0.3))]);
        port::set_all::<Packet>(&mut bench, "packet", &packet);
        port::set_all::<Whole>(&mut bench, "whole", &whole);
        port::set_all::<SenderNow>(&mut bench, "now", &now);
        port::set_all::<MessageUnderWay>(&mut bench, "under_way", &under_way);
        bench.tick();
        bench.eval();

        let is = |fields: &Fields, name: &str| fields[name] == 1;
        let continues = !is(&packet, "first") && !is(&packet, "restart");
        let started = continues && is(&under_way, "started");
        let dropping = continues && is(&under_way, "dropping");
        let payload = is(&packet, "send") && packet["length"] > 0;
        let missing = payload && (is(&whole, "refused") || is(&whole, "failed"));
        let mute = is(&now, "idle") || is(&now, "refusing");
        let stale = !is(&packet, "reply") && packet["epoch"] != now["epoch"];
        let may = if is(&packet, "reply") { !mute } else { is(&now, "connected") && !dropping };
        let error = error(&packet, &whole, &now, started);
        let gone = !is(&now, "connected") || !is(&packet, "send") && packet["errors"] == FLUSHED;
        let expected = port::fields(&[
            ("sends", (is(&packet, "send") && may && !missing && !stale).into()),
            ("error", error),
            ("stale", stale.into()),
            ("breaks", (is(&now, "reliable") && error != 0 && !gone && !stale).into()),
            ("unread", (missing && !mute).into()),
            ("forbidden", (payload && is(&whole, "refused")).into()),
            ("started", started.into()),
            ("dropping", dropping.into()),
        ]);
        let verdict = port::get::<PacketVerdict>(&bench, "verdict");
        assert_eq!(verdict, expected, "{packet:?} {whole:?} {now:?} {under_way:?}");
        assert_eq!(bench.get("has_payload") == 1, payload);
        sent += verdict["sends"];
        broken += verdict["breaks"];
    }
    assert!(sent > 500 && broken > 100, "{sent} sent, {broken} broken");
}

/// Rule RSP-5: an acknowledgement is sent in every state but Idle; who has refused an answer sends no positive one.
#[test]
fn an_acknowledgement_is_told_while_its_connection_is_there() {
    let mut bench = Bench::new("ack_judge", &verilog(AckJudge::default()));
    let syndromes =
        [(syndrome::ACK, "positive"), (syndrome::RNR_NAK, "neither"), (syndrome::NAK_SEQUENCE, "nak")];
    for (syndrome, class) in syndromes {
        for kind in [word::SAY, word::LAST, word::REPEAT, word::FORGET] {
            for (idle, refusing) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                port::set::<AckRequest>(&mut bench, "ack", &[("syndrome", syndrome.into()), ("kind", kind)]);
                port::set::<SenderNow>(&mut bench, "now", &[("idle", idle), ("refusing", refusing)]);
                bench.eval();
                let silent = idle == 1 || kind == word::FORGET || refusing == 1 && class == "positive";
                let expected = port::fields(&[
                    ("told", (!silent).into()),
                    ("positive", (!silent && class == "positive").into()),
                    ("nak", (!silent && class == "nak").into()),
                ]);
                let verdict = port::get::<AckVerdict>(&bench, "verdict");
                assert_eq!(verdict, expected, "{syndrome:#x}, {kind}, idle {idle}, refusing {refusing}");
            }
        }
    }
}

/// Rule WIRE-4: a packet takes one PSN, and a read those of its answer.
#[test]
fn a_packet_takes_its_psns() {
    const MASK: u64 = (1 << 24) - 1;
    let mut bench = Bench::new("psn_count", &verilog(PsnCount::default()));
    let mut rng = crate::random(&bench);
    for _ in 0..3000 {
        let mut psn = || *[0, 1, MASK - 1, MASK, rng.random::<u64>() & MASK].choose(&mut rng).unwrap();
        let (known, brought, beyond) = (psn(), psn(), psn());
        let (restart, reply) = (rng.random_range(0..2), rng.random_range(0..2));
        let fields = [("psn", brought), ("beyond", beyond), ("restart", restart), ("reply", reply)];
        port::set::<Packet>(&mut bench, "packet", &fields);
        bench.set("known", known);
        bench.eval();
        let own = if restart | reply == 1 { brought } else { known };
        assert_eq!(bench.get("psn"), own);
        assert_eq!(bench.get("last"), (own + beyond) & MASK);
        assert_eq!(bench.get("behind"), (own + beyond + 1) & MASK);
    }
}
