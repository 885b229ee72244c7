//! What one side asks and the other refuses, and sides that are killed in the middle.

use std::time::Instant;

use anyhow::{bail, ensure, Context, Result};
use vipl::{MemAttributes, Nic, NotReady, ReliabilityLevel, Remote, Status, ViState, WITHOUT_END};

use crate::rping::{connect, serve_round, text};
use crate::stage::{Stage, GUEST_IP};
use crate::talk::{Talk, Told, BYTES, LIMIT, SOURCE};
use crate::Case;

/// Bytes of a ping.
const SIZE: usize = 1000;
/// Bytes of a ping that is written: three packets, of which two would be in bounds where only the last byte is not.
const WRITTEN: usize = 3000;
/// Bytes of memory that is not to be written, and each of them.
const PAGE: usize = 4096;
const KEPT: u8 = 0x3c;
/// What a write that is refused would have written.
const UNWANTED: u8 = 0xa5;
/// What a peer may do with that: write, or read.
const WRITABLE: (bool, bool) = (true, false);
const READABLE: (bool, bool) = (false, true);

/// The cases.
pub const CASES: [Case; 14] = [
    ("linux_refuses_a_wrong_key", |stage| asked_wrongly(stage, |told| told.remote.handle ^= 0x10)),
    ("linux_refuses_what_is_out_of_bounds", |stage| {
        asked_wrongly(stage, |told| told.remote.address += 1 << 30)
    }),
    ("linux_refuses_a_write_with_a_wrong_key", |stage| {
        writes_wrongly(stage, |told| told.remote.handle ^= 0x10)
    }),
    ("linux_refuses_a_write_out_of_bounds", |stage| {
        writes_wrongly(stage, |told| told.remote.address += SIZE as u64 / 2)
    }),
    ("we_refuse_a_wrong_key", |stage| asks_wrongly(stage, |told| told.remote.handle ^= 0x1_0000)),
    ("we_refuse_what_is_out_of_bounds", |stage| asks_wrongly(stage, |told| told.remote.address += 1 << 30)),
    ("we_refuse_what_gives_no_right", no_right),
    ("we_refuse_a_write_with_a_wrong_key", |stage| {
        is_written(stage, WRITABLE, |told| told.remote.handle ^= 0x1_0000)
    }),
    ("we_refuse_a_write_out_of_bounds", |stage| {
        is_written(stage, WRITABLE, |told| told.remote.address += PAGE as u64 - WRITTEN as u64 + 1)
    }),
    ("we_refuse_a_write_without_right", |stage| is_written(stage, READABLE, |_| {})),
    ("linux_waits_for_a_receive_of_a_vi_that_stays", our_vi_stays),
    ("linux_hears_that_a_vi_without_a_receive_has_broken", our_vi_breaks),
    ("linux_program_is_killed", linux_is_killed),
    ("our_program_ends", ours_ends),
];

/// A client of Linux' has told where its source is; our server reads elsewhere.
fn asked_wrongly(stage: &mut Stage, change: fn(&mut Told)) -> Result<()> {
    let end = stage.open(BYTES)?;
    let mut talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    talk.meet_client(stage, &format!("-S {SIZE} -C 1 -v"))?;
    let mut source = talk.hear()?;
    change(&mut source);
    refused(talk.read(source))?;
    drop(talk);
    ended(stage, "rping")
}

/// A client of Linux' has told where its sink is, for what our server has read; our server writes elsewhere, and neither the sink nor as much behind it
/// is written. The client stands still meanwhile: it is its kernel that refuses.
fn writes_wrongly(stage: &mut Stage, change: fn(&mut Told)) -> Result<()> {
    let end = stage.open(BYTES)?;
    let mut talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    talk.meet_client(stage, &format!("-S {SIZE} -C 1 -v"))?;
    let source = talk.hear()?;
    talk.read(source)?;
    talk.tell(source)?;
    let mut sink = talk.hear()?;
    stage.guest.run("killall -STOP rping", LIMIT)?;
    // The region, and as much behind it.
    let sum = format!(
        "dd if=/proc/$(pidof rping)/mem bs=1 skip={} count={} 2>/dev/null | md5sum",
        sink.remote.address,
        2 * sink.length
    );
    let mut held = || stage.guest.run(&sum, LIMIT);
    let untouched = held()?;
    talk.write(sink)?;
    let written = held()?;
    ensure!(written != untouched, "a right write has not changed what the client holds: {written}");
    end.memory.write(SOURCE, &[UNWANTED; SIZE])?;
    change(&mut sink);
    refused(talk.write(sink))?;
    let after = held()?;
    ensure!(after == written, "the refused write has changed what the client holds");
    stage.guest.run("killall -CONT rping", LIMIT)?;
    drop(talk);
    ended(stage, "rping")
}

/// Linux has refused what our VI has asked for.
fn refused(answer: Result<()>) -> Result<()> {
    let refused = answer.expect_err("Linux has refused it");
    let Some(vipl::Error::Descriptor(descriptor)) = refused.downcast_ref() else { bail!("{refused:#}") };
    ensure!(descriptor.status().contains(Status::RDMA_PROT_ERROR), "{}", descriptor.status());
    Ok(())
}

/// Our client tells a server of Linux' another place than its own: our NIC refuses, and Linux says so.
fn asks_wrongly(stage: &mut Stage, change: fn(&mut Told)) -> Result<()> {
    let end = stage.open(BYTES)?;
    let remote = end.memory.remote(SOURCE)?;
    tells(stage, &end, remote, change)
}

/// The same of memory that may not be read.
fn no_right(stage: &mut Stage) -> Result<()> {
    let end = stage.open(BYTES)?;
    let closed = end.nic.allocate(4096, &MemAttributes::new(&end.ptag))?;
    let remote = closed.remote(0)?;
    tells(stage, &end, remote, |_| {})
}

fn tells(stage: &mut Stage, end: &crate::stage::End, remote: Remote, change: fn(&mut Told)) -> Result<()> {
    stage.guest.start_command("rping", &format!("rping -s -a {GUEST_IP} -S {SIZE} -C 1 -v"))?;
    let talk = Talk::new(end, ReliabilityLevel::ReliableDelivery)?;
    connect(end, &talk)?;
    let mut told = Told { remote, length: SIZE };
    change(&mut told);
    talk.tell(told)?;
    hears_of_refusal(stage)
}

/// A server of Linux' has read our client's source, and writes where the client has told it: our NIC refuses, Linux says so, and no byte is written.
fn is_written(
    stage: &mut Stage,
    (enable_rdma_write, enable_rdma_read): (bool, bool),
    change: fn(&mut Told),
) -> Result<()> {
    let end = stage.open(BYTES)?;
    let rights = MemAttributes { enable_rdma_write, enable_rdma_read, ..MemAttributes::new(&end.ptag) };
    let guarded = end.nic.allocate(PAGE, &rights)?;
    guarded.write(0, &[KEPT; PAGE])?;
    end.memory.write(SOURCE, &text(0, WRITTEN))?;
    stage.guest.start_command("rping", &format!("rping -s -a {GUEST_IP} -S {WRITTEN} -C 1 -v"))?;
    let mut talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    connect(&end, &talk)?;
    talk.tell_place(SOURCE, WRITTEN)?;
    talk.hear().context("the server has read")?;
    let mut told = Told { remote: guarded.remote(0)?, length: WRITTEN };
    change(&mut told);
    // Nobody waits for the acknowledgement: the write that follows may break the VI before it is looked at.
    talk.tell_last(told)?;
    hears_of_refusal(stage)?;
    let mut held = [0; PAGE];
    guarded.read(0, &mut held)?;
    let written = held.iter().position(|&byte| byte != KEPT);
    ensure!(written.is_none(), "byte {written:?} was written");
    Ok(())
}

/// rping ends, and says why.
fn hears_of_refusal(stage: &mut Stage) -> Result<()> {
    let printed = failed(stage, "rping")?;
    ensure!(printed.contains("remote access error") || printed.contains("status 10"), "{printed}");
    Ok(())
}

/// A client's first message finds no receive: its kernel sends the message again until there is one, for our VI's attribute says that it stays.
fn our_vi_stays(stage: &mut Stage) -> Result<()> {
    let end = stage.open(BYTES)?;
    let not_ready = NotReady::Stay { timer: 12, retries: WITHOUT_END };
    let mut talk = Talk::deaf(&end, ReliabilityLevel::ReliableDelivery, not_ready)?;
    let refused = || counted(&end.nic, "RNR_SENT");
    let before = refused()?;
    talk.meet_client(stage, &format!("-S {SIZE} -C 1 -V -v"))?;
    let start = Instant::now();
    while refused()? < before + 3 {
        ensure!(start.elapsed() < LIMIT, "the message came {} times", refused()? - before);
    }
    talk.listen()?;
    serve_round(&mut talk, SIZE)?;
    stage.guest.finish_command("rping", LIMIT).map(drop)
}

/// The same with VIA's attribute: the VI breaks, and the program hears of the end.
fn our_vi_breaks(stage: &mut Stage) -> Result<()> {
    let end = stage.open(BYTES)?;
    let talk = Talk::deaf(&end, ReliabilityLevel::ReliableDelivery, NotReady::Break)?;
    talk.meet_client(stage, &format!("-S {SIZE} -C 1 -v"))?;
    let start = Instant::now();
    while talk.vi.query()?.state != ViState::Error {
        ensure!(start.elapsed() < LIMIT, "the VI is {:?}", talk.vi.query()?.state);
    }
    ended(stage, "rping")
}

/// What a NIC has counted.
fn counted(nic: &Nic, name: &str) -> Result<u64> {
    let counters = nic.counters()?;
    Ok(counters.iter().find(|(code, _)| code.name == name).with_context(|| format!("no counter {name}"))?.1)
}

/// The program is killed between two rounds: its kernel says goodbye, and our VI's next receive ends.
fn linux_is_killed(stage: &mut Stage) -> Result<()> {
    let end = stage.open(BYTES)?;
    let mut talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    talk.meet_client(stage, &format!("-S {SIZE} -C 100000 -v"))?;
    (0..3).try_for_each(|_| serve_round(&mut talk, SIZE))?;
    stage.guest.run("killall -9 rping", LIMIT)?;
    // It is in the middle of a round: what is asked of it then fails, or what it should say does not come.
    let error = loop {
        if let Err(error) = serve_round(&mut talk, SIZE) {
            break error;
        }
    };
    ensure!(
        !matches!(error.downcast_ref(), Some(vipl::Error::Timeout)),
        "nobody has said that the client is gone"
    );
    Ok(())
}

/// Our program closes its NIC in the middle of a round: Linux' program hears of the end.
fn ours_ends(stage: &mut Stage) -> Result<()> {
    let end = stage.open(BYTES)?;
    let mut talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    talk.meet_client(stage, &format!("-S {SIZE} -C 100000 -v"))?;
    (0..3).try_for_each(|_| serve_round(&mut talk, SIZE))?;
    drop(talk);
    drop(end);
    hears_of_end(stage)
}

/// rping hears that its connection has ended, and is killed then. It might not end by itself: behind each message it posts a receive, and soft-RoCE
/// never completes one that is posted when the queue pair is in error already (docs/linux.md).
pub fn hears_of_end(stage: &mut Stage) -> Result<()> {
    stage.guest.wait_for_output("rping", "DISCONNECT EVENT", LIMIT).context("rping hears of the end")?;
    stage.guest.run("killall -9 rping; true", LIMIT)?;
    ended(stage, "rping")
}

/// A program of the guest's ends, whatever it says of it.
pub fn ended(stage: &mut Stage, name: &str) -> Result<()> {
    stage.guest.end_of_command(name, LIMIT).map(drop).context("it ends")
}

/// A program of the guest's ends with an error; what it has printed.
fn failed(stage: &mut Stage, name: &str) -> Result<String> {
    let printed = stage.guest.end_of_command(name, LIMIT)?;
    ensure!(!printed.ends_with("status 0\n"), "{name} was content: {printed}");
    Ok(printed)
}
