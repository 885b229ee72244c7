//! Reads and writes of ours, many bytes each, of memory that `rping -c` offers. Both sides compare: we what we have read, with what rping puts there and with
//! what we have written; rping what we have written last, with what it had.

use std::time::Instant;

use anyhow::{ensure, Context, Result};
use vipl::{Descriptor, ReliabilityLevel};

use crate::stage::Stage;
use crate::talk::{Talk, Told, BYTES, LIMIT, SINK, SOURCE};
use crate::Case;

/// Bytes of a read and of a write: the most that rping has.
const SIZE: usize = 65_535;
/// Reads, and writes.
const COUNT: usize = 20;

/// The case.
pub const CASES: [Case; 1] = [("our_reads_and_writes_of_many_bytes", reads_and_writes)];

fn reads_and_writes(stage: &mut Stage) -> Result<()> {
    let end = stage.open(BYTES)?;
    let mut talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    talk.meet_client(stage, &format!("-S {SIZE} -C 1 -V -v"))?;

    let source = talk.hear().context("where the client's source is")?;
    let start = Instant::now();
    for _ in 0..COUNT {
        end.memory.write(SOURCE, &[0; SIZE])?;
        talk.read(source)?;
        ensure!(data(&talk, SOURCE)? == ping(), "what was read is not what rping has");
    }
    let read = start.elapsed();
    talk.tell(source)?;

    let sink = talk.hear().context("where the client's sink is")?;
    let start = Instant::now();
    for count in 0..COUNT {
        let written: Vec<u8> = (0..SIZE).map(|n| (n * 7 + n / 256 + count) as u8).collect();
        end.memory.write(SOURCE, &written)?;
        talk.write(sink)?;
        read_back(&talk, sink)?;
        ensure!(data(&talk, SINK)? == written, "write {count}: what was read back is not what was written");
    }
    let written = start.elapsed();
    end.memory.write(SOURCE, &ping())?;
    talk.write(sink)?;
    talk.tell_last(sink)?;
    // rping compares its memory with its ping, prints that, and fails if they differ.
    let printed = stage.guest.finish_command("rping", LIMIT)?;
    ensure!(printed.contains("ping data:"), "{printed}");
    let rate = |count: usize, time: std::time::Duration| {
        (count * SIZE) as f64 / time.as_secs_f64() / f64::from(1 << 20)
    };
    let (read, written) = (rate(COUNT, read), rate(2 * COUNT, written));
    stage.figure(format!("reads {read:.1} MiB/s, writes that are read back {written:.1} MiB/s"));
    Ok(talk.vi.disconnect()?)
}

/// What rping's first ping is.
fn ping() -> Vec<u8> {
    let mut bytes = b"rdma-ping-0: ".to_vec();
    bytes.extend((b'A'..=b'z').cycle().take(SIZE - bytes.len()));
    bytes[SIZE - 1] = 0;
    bytes
}

fn data(talk: &Talk<'_>, at: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; SIZE];
    talk.end.memory.read(at, &mut bytes)?;
    Ok(bytes)
}

/// Reads what is there into [`SINK`].
fn read_back(talk: &Talk<'_>, there: Told) -> Result<()> {
    talk.carry(Descriptor::rdma_read(there.remote).segment(&talk.end.memory, SINK, SIZE)?)
}
