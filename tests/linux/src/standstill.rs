//! A guest that stands still in the middle of a transfer. Frames for it wait: in QEMU, in the port's socket, in the port, in the switch, and then our NIC
//! is asked for silence. So what waits is bounded, nothing is lost, and the transfer goes on with the guest.

use std::time::Instant;

use anyhow::{ensure, Context, Result};
use vipl::{Descriptor, Error, ReliabilityLevel};

use crate::stage::Stage;
use crate::talk::{Talk, Told, BYTES, LIMIT, SINK, SOURCE};
use crate::Case;

/// Bytes of a write: the most that rping has.
const SIZE: usize = 65_535;
/// Writes: together more than sockets and buffers on the way take.
const WRITES: usize = 16;
/// Where their descriptors lie, behind those of the talk, and bytes of one.
const DESCRIPTORS: usize = 24 << 10;
const DESCRIPTOR: usize = 64;
/// Nothing moves any more when no frame has left the NIC in so many cycles: a frame takes 140.
const STILL: u64 = 100_000;

/// The case.
pub const CASES: [Case; 1] = [("the_guest_stands_still", stands_still)];

fn stands_still(stage: &mut Stage) -> Result<()> {
    let end = stage.open(BYTES)?;
    let mut talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    talk.meet_client(stage, &format!("-S {SIZE} -C 1 -V -v"))?;
    let source = talk.hear().context("where the client's source is")?;
    talk.read(source)?;
    talk.tell(source)?;
    let sink = talk.hear().context("where the client's sink is")?;

    stage.guest.stand_still()?;
    let stopped = fill(stage, &talk, sink);
    stage.guest.go_on()?;
    let sent = stopped?;
    for write in 0..WRITES {
        talk.vi.send_wait(Some(LIMIT)).with_context(|| format!("write {write}"))?;
    }
    talk.tell_last(sink)?;
    // rping compares what was written last with its ping, and fails if they differ.
    let printed = stage.guest.finish_command("rping", LIMIT)?;
    ensure!(printed.contains("ping data:"), "{printed}");
    stage.figure(format!("{} of {} KiB were on the way", sent >> 10, (WRITES * SIZE) >> 10));
    Ok(talk.vi.disconnect()?)
}

/// Posts writes to a guest that stands still, until no frame leaves the NIC any more: so many bytes of frames have left it. The last write is of what was
/// read, and the others are of other data.
fn fill(stage: &Stage, talk: &Talk<'_>, sink: Told) -> Result<u64> {
    let memory = &talk.end.memory;
    let before = stage.status()?.nics[0].link.sent_bytes;
    for write in 0..WRITES {
        let from = if write + 1 == WRITES { SOURCE } else { SINK };
        let descriptor = Descriptor::rdma_write(sink.remote).segment(memory, from, SIZE)?;
        talk.vi.post_send(descriptor.build(memory, DESCRIPTORS + write * DESCRIPTOR)?)?;
    }
    let start = Instant::now();
    let (mut sent, mut since) = (before, stage.status()?.cycles);
    loop {
        let now = stage.status()?;
        if now.nics[0].link.sent_bytes != sent {
            (sent, since) = (now.nics[0].link.sent_bytes, now.cycles);
        } else if sent > before && now.cycles > since + STILL {
            break;
        }
        ensure!(start.elapsed() < LIMIT, "the NIC sends on: {} bytes", sent - before);
    }
    let sent = sent - before;
    ensure!(sent < (WRITES * SIZE) as u64, "nobody has asked the NIC for silence: it has sent {sent} bytes");
    let first = talk.vi.send_done();
    ensure!(matches!(first, Err(Error::NotDone)), "a guest that stands still has answered: {first:?}");
    Ok(sent)
}
