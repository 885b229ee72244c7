//! The stages of a send's life: who has it, and by what one sees that it goes on.

use anyhow::{ensure, Context, Result};
use viaduct_bench::bound::SendSteps;
use viaduct_bench::edge::{Event, Kind};
use viaduct_bench::latency::Passage;

use super::wave::Wave;

/// What ends a stage.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// The first beat that passes this stream since the stage began; the stage has that cycle.
    Passes(&'static str),
    /// The last beat that passes this stream before the next stage's stream has one; the stage has that cycle.
    LastBefore(&'static str, &'static str),
    /// The packet of this kind and number begins at the NIC's edge; the next stage has that cycle.
    Begins(Kind, usize),
    /// The packet's last beat; the stage has that cycle.
    Ends(Kind, usize),
    /// The packet's last beat; the next stage has that cycle.
    Arrives(Kind, usize),
}

/// A stage that is not the NIC's.
#[derive(Clone, Copy, Debug)]
pub struct Physics {
    /// What is on its way.
    pub what: &'static str,
    /// What of the bound it is held against.
    pub bound: fn(&SendSteps) -> u64,
}

/// A stage.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// The row that it is drawn in.
    pub lane: &'static str,
    /// Whether it is the sender's.
    pub is_sender: bool,
    /// Where a bus, a memory or the wire has it: no logic could make that much shorter.
    pub physics: Option<Physics>,
    /// What ends it.
    pub end: End,
}

const fn sender(lane: &'static str, end: End) -> Stage {
    Stage { lane, is_sender: true, physics: None, end }
}

const fn receiver(lane: &'static str, end: End) -> Stage {
    Stage { lane, is_sender: false, physics: None, end }
}

const fn physics(what: &'static str, bound: fn(&SendSteps) -> u64, stage: Stage) -> Stage {
    Stage { physics: Some(Physics { what, bound }), ..stage }
}

use End::{Arrives, Begins, Ends, LastBefore, Passes};

/// All stages, each from the end of the one before. The first begins with the doorbell's store.
pub const STAGES: &[Stage] = &[
    physics(
        "the doorbell's store",
        |steps| steps.doorbell,
        sender("PCIe and host memory", Ends(Kind::Doorbell, 0)),
    ),
    sender("edge/receive", Passes("tlp_receive.mmio_write")),
    sender("doorbell", Passes("doorbell.send")),
    sender("fetch", Passes("fetch.access")),
    sender("protect", Passes("protect.read")),
    sender("dma/read, edge/transmit", Begins(Kind::Read, 0)),
    physics("the descriptor", |steps| steps.descriptor, sender("PCIe and host memory", Ends(Kind::Data, 0))),
    sender("dma/read, edge/transmit", LastBefore("dma_read.beat", "fetch.head")),
    sender("fetch", Passes("fetch.head")),
    sender("send/gather", Passes("gather.access")),
    sender("protect", Passes("protect.read")),
    sender("dma/read, edge/transmit", Begins(Kind::Read, 1)),
    physics("the payload", |steps| steps.payload, sender("PCIe and host memory", Ends(Kind::Data, 1))),
    sender("dma/read, edge/transmit", Passes("dma_read.beat")),
    sender("send/gather", Passes("gather.whole")),
    sender("send/transmit, send/egress", Begins(Kind::FrameOut, 0)),
    physics("the frame", |steps| steps.frame, receiver("the wire", Arrives(Kind::FrameIn, 0))),
    receiver("receive/ingress", LastBefore("receive.ingress.frame", "receive.store.show")),
    receiver("receive/parse, receive/store", Passes("receive.store.show")),
    receiver("receive/lookup, receive/delivery", Passes("receive.delivery.job")),
    receiver("receive/scatter", Passes("receive.scatter.access")),
    receiver("protect, of the receiver", Passes("protect.verdict")),
    receiver("receive/lookup, receive/delivery", Passes("receive.completion")),
    receiver("complete/writer", Passes("writer.access")),
    // The verdict lets the write through in the same cycle.
    receiver("protect, of the receiver", Passes("writer.write")),
    receiver("dma/write, edge/transmit", Begins(Kind::Completion, 0)),
    physics("the status", |steps| steps.completion, receiver("PCIe", Ends(Kind::Completion, 0))),
];

/// The streams that stages look at.
pub fn streams() -> Vec<&'static str> {
    let of = |stage: &Stage| match stage.end {
        Passes(stream) => vec![stream],
        LastBefore(stream, next) => vec![stream, next],
        Begins(..) | Ends(..) | Arrives(..) => Vec::new(),
    };
    STAGES.iter().flat_map(of).chain(["tlp_rx", "tlp_tx", "eth_rx", "eth_tx"]).collect()
}

/// One NIC during a message: what passed its edges, in the network's cycles, and its waveform.
#[derive(Debug)]
pub struct Nic<'a> {
    /// The waveform.
    pub wave: &'a Wave,
    /// The network's cycle less the waveform's.
    pub ahead: u64,
}

/// The cycle with which each stage begins, and at last the one behind the last stage.
///
/// # Errors
/// What ends a stage is not seen, or the waveform and the edges disagree.
pub fn cycles(passage: &Passage, nics: &[Nic; 2], stages: &[Stage]) -> Result<Vec<u64>> {
    let start = packet(passage, nics, 0, Kind::Doorbell, 0)?;
    let mut all = vec![start.first];
    for stage in stages {
        let begins = *all.last().context("there is a first")?;
        let nic = usize::from(!stage.is_sender);
        let Nic { wave, ahead } = &nics[nic];
        let ends = match stage.end {
            Passes(stream) => wave.first(stream, begins - ahead)? + ahead + 1,
            LastBefore(stream, next) => {
                let limit = wave.first(next, begins - ahead)?;
                let last =
                    (begins - ahead..limit).rev().find(|cycle| wave.passes(stream, *cycle).unwrap_or(false));
                last.with_context(|| format!("nothing passes `{stream}` before `{next}`"))? + ahead + 1
            }
            Begins(kind, number) => packet(passage, nics, nic, kind, number)?.first,
            Ends(kind, number) => packet(passage, nics, nic, kind, number)?.last + 1,
            Arrives(kind, number) => packet(passage, nics, nic, kind, number)?.last,
        };
        ensure!(ends >= begins, "`{}` ends in cycle {ends}, before it begins in cycle {begins}", stage.lane);
        all.push(ends);
    }
    Ok(all)
}

/// A packet at a NIC's edge, which its waveform has in the same cycles.
fn packet(passage: &Passage, nics: &[Nic; 2], nic: usize, kind: Kind, number: usize) -> Result<Event> {
    let found = passage[nic].iter().filter(|event| event.kind == kind).nth(number);
    let event = *found.with_context(|| format!("NIC {nic} has no {kind:?} {number}"))?;
    let pins = match kind {
        Kind::Doorbell | Kind::Data | Kind::Register => "tlp_rx",
        Kind::Read | Kind::Write | Kind::Completion => "tlp_tx",
        Kind::FrameOut => "eth_tx",
        Kind::FrameIn => "eth_rx",
        Kind::Malformed => "none",
    };
    for cycle in [event.first, event.last] {
        let is_there = nics[nic].wave.passes(pins, cycle - nics[nic].ahead)?;
        ensure!(is_there, "the waveform of NIC {nic} has no beat at {pins} in cycle {cycle}");
    }
    Ok(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A waveform in which `valid` of these is 1 in these cycles.
    fn wave(beats: &[(&str, &[u64])]) -> Wave {
        let mut signals = BTreeMap::new();
        for (stream, cycles) in beats {
            let changes = cycles.iter().flat_map(|cycle| [(*cycle, true), (cycle + 1, false)]);
            signals.insert(format!("{stream}_valid"), changes.collect());
        }
        Wave::of(signals, 100)
    }

    fn event(kind: Kind, first: u64, last: u64) -> Event {
        Event { kind, bytes: 8, first, last }
    }

    #[test]
    fn each_stage_begins_where_the_one_before_ends() {
        let (waves, ahead) = (
            [
                wave(&[
                    ("tlp_rx", &[10, 12]),
                    ("a.x", &[5, 15, 17]),
                    ("b.y", &[9, 20]),
                    ("eth_tx", &[22, 24]),
                ]),
                wave(&[("eth_rx", &[3, 9])]),
            ],
            [1000, 1020],
        );
        let passage = [
            vec![event(Kind::Doorbell, 1010, 1012), event(Kind::FrameOut, 1022, 1024)],
            vec![event(Kind::FrameIn, 1023, 1029)],
        ];
        let nics = [Nic { wave: &waves[0], ahead: ahead[0] }, Nic { wave: &waves[1], ahead: ahead[1] }];
        let stages = [
            sender("in", Ends(Kind::Doorbell, 0)),
            sender("a", LastBefore("a.x", "b.y")),
            sender("b", Passes("b.y")),
            sender("c", Begins(Kind::FrameOut, 0)),
            receiver("wire", Arrives(Kind::FrameIn, 0)),
        ];
        assert_eq!(cycles(&passage, &nics, &stages).unwrap(), [1010, 1013, 1018, 1021, 1022, 1029]);
        // A waveform that is a cycle off is not believed.
        let off = [Nic { wave: &waves[0], ahead: ahead[0] + 1 }, Nic { wave: &waves[1], ahead: ahead[1] }];
        let error = cycles(&passage, &off, &stages).unwrap_err().to_string();
        assert_eq!(error, "the waveform of NIC 0 has no beat at tlp_rx in cycle 1010");
    }

    #[test]
    fn a_stage_that_is_not_seen_is_an_error() {
        let wave = wave(&[("tlp_rx", &[10]), ("a.x", &[5])]);
        let passage = [vec![event(Kind::Doorbell, 10, 10)], Vec::new()];
        let nics = [Nic { wave: &wave, ahead: 0 }, Nic { wave: &wave, ahead: 0 }];
        let error = |end| cycles(&passage, &nics, &[sender("a", end)]).unwrap_err().to_string();
        assert_eq!(error(Passes("a.x")), "nothing passes `a.x` behind cycle 10 of the waveform");
        assert_eq!(error(Begins(Kind::Read, 1)), "NIC 0 has no Read 1");
    }
}
