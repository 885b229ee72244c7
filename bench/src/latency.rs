//! The latency of a send, and what passes the edges meanwhile.

use anyhow::{ensure, Context, Result};
use vipl::Mtu;

use crate::conditions::Conditions;
use crate::edge::{Event, Kind};
use crate::figure::Figure;
use crate::pair::Pair;
use crate::stream;
use crate::SHORT;

/// Under which conditions the latency of a short send is measured; `link`: bytes a cycle on the wire.
pub const fn conditions(link: u64) -> Conditions {
    Conditions { rate: link, mtu: Mtu::DEFAULT, message: SHORT, ..Conditions::USUAL }
}

/// How many messages come before those that are measured, and how many these are: one after the other.
const fn counts(message: usize) -> (usize, usize) {
    if message <= 4096 {
        (3, 9)
    } else {
        (1, 3)
    }
}

/// A message's packets at either NIC's edges, by their last beat.
pub type Passage = [Vec<Event>; 2];

/// Cycles of one message, and how many of them the switch added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Without those of the switch.
    pub cycles: u64,
    /// For which the switch held the frame.
    pub switch: u64,
}

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    /// The figure.
    pub figure: Figure,
    /// What passed the edges during each message, the first ones too, which do not count.
    pub passages: Vec<Passage>,
    /// The message that took as long as the figure says.
    pub median: usize,
}

/// Measures.
///
/// # Errors
/// A message does not arrive, or a rule of the bus is broken.
pub fn measure(name: &str, pair: &Pair) -> Result<Measured> {
    let Conditions { message, window, mtu, .. } = *pair.conditions();
    let (mtu, (warm, messages)) = (mtu.bytes() as usize, counts(message));
    let physics = pair.conditions().physics();
    let [sender, receiver] = &pair.hosts;
    ensure!(2 * window >= warm + messages, "too few receives");
    for n in 0..warm + messages {
        receiver.vis[0].post_recv(receiver.descriptor(n, message)?)?;
    }
    pair.settle()?;
    let mut descriptor = sender.descriptor(0, message)?;
    let mut passages: Vec<Passage> = Vec::new();
    for n in 0..warm + messages {
        pair.edges.iter().for_each(|edge| drop(edge.take()));
        descriptor = stream::single(&sender.vis[0], &receiver.vis[0], descriptor, pair)?;
        ensure!(receiver.bytes(n, message)? == sender.bytes(0, message)?, "message {n} is damaged");
        passages.push(pair.edges.each_ref().map(|edge| edge.take()));
    }
    pair.check()?;
    let mut samples = Vec::new();
    for (n, passage) in passages.iter().enumerate().skip(warm) {
        samples.push((sample(passage, physics.frame_cycles(message.min(mtu)))?, n));
    }
    samples.sort_by_key(|(sample, n)| (sample.cycles, *n));
    let (least, most) = (samples[0].0.cycles, samples[messages - 1].0.cycles);
    let (Sample { cycles, switch }, median) = samples[messages / 2];
    let how = format!(
        "median of {messages} messages after {warm}, {}; both packets included; as over a cable: the {switch} \
         cycles for which the switch held the frame are taken off",
        if least == most { "all equal".into() } else { format!("{least} to {most}") }
    );
    let bound =
        if message <= SHORT { physics.send_latency(message) } else { physics.message_latency(message, mtu) };
    let figure = Figure { name: name.into(), value: cycles as f64, unit: "cycles", bound, how };
    Ok(Measured { figure, passages, median })
}

/// The packet of this kind, the first if there are more.
///
/// # Errors
/// There is none.
pub fn find(events: &[Event], kind: Kind) -> Result<Event> {
    events.iter().find(|event| event.kind == kind).copied().with_context(|| format!("no {kind:?} was seen"))
}

/// What a message took; `frame`: cycles of its first frame on the wire. The switch holds each of its frames as long as the first.
///
/// # Errors
/// One of its packets is missing.
pub fn sample(passage: &Passage, frame: u64) -> Result<Sample> {
    let [sender, receiver] = passage;
    let (start, end) = (find(sender, Kind::Doorbell)?, find(receiver, Kind::Completion)?);
    let (out, back) = (find(sender, Kind::FrameOut)?, find(receiver, Kind::FrameIn)?);
    // Over a cable the frame would be there when its last byte has left.
    let through = back.last - out.first;
    ensure!(through >= frame, "a frame of {frame} cycles came through in {through}");
    let switch = through - frame;
    Ok(Sample { cycles: end.last - start.first + 1 - switch, switch })
}

/// A passage for people: cycles of each packet's first and last beat since the doorbell.
pub fn timeline(passage: &Passage) -> String {
    let start = passage[0].iter().find(|event| event.kind == Kind::Doorbell).map_or(0, |event| event.first);
    let mut all: Vec<(usize, Event)> = passage
        .iter()
        .enumerate()
        .flat_map(|(nic, events)| events.iter().map(move |&event| (nic, event)))
        .collect();
    all.sort_by_key(|(_, event)| event.first);
    let line = |&(nic, event): &(usize, Event)| {
        let Event { kind, bytes, first, last } = event;
        let (first, last) = (first as i64 - start as i64, last as i64 - start as i64);
        format!("{first:6} {last:6}  NIC {nic}  {kind:?} {bytes}\n")
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_is_taken_off_and_both_packets_are_counted() {
        let event = |kind, first, last| Event { kind, bytes: 0, first, last };
        let sender = vec![event(Kind::Doorbell, 100, 102), event(Kind::FrameOut, 250, 258)];
        // 78 cycles into the switch, 64 in it, 78 out of it.
        let receiver = vec![event(Kind::FrameIn, 400, 470), event(Kind::Completion, 480, 482)];
        let sample = sample(&[sender, receiver], 78).unwrap();
        assert_eq!(sample, Sample { cycles: 383 - 142, switch: 142 });
    }
}
