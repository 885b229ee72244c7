//! Many connections: at once, and one after the other. Nothing of them stays.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use viaduct_sim::setup::Kind;
use vipl::{MemAttributes, Region, ReliabilityLevel, Vi, ViAttributes};

use crate::rping::{serve_round, server_at};
use crate::stage::{End, Stage, OWN_IP};
use crate::talk::{Talk, BYTES, LIMIT};
use crate::Case;

/// Clients at once.
const AT_ONCE: usize = 50;
/// Connections in a row. (`VIADUCT_CONNECTIONS` says otherwise: a thousand take minutes.)
const IN_A_ROW: u32 = 100;
/// Bytes of a ping.
const SIZE: usize = 100;
/// How long the manager may have a connection that is over, whose peer has answered no DREQ: half a minute, and some more on a busy machine.
const FORGETS: Duration = Duration::from_secs(60);
/// Bytes of a page.
const PAGE: usize = 4096;

/// The cases.
pub const CASES: [Case; 2] = [("fifty_connections_at_once", at_once), ("connections_in_a_row", in_a_row)];

/// Fifty clients of one guest connect before the first of them is served.
fn at_once(stage: &mut Stage) -> Result<()> {
    let end = stage.open(BYTES)?;
    let listener = end.nic.connections()?.listen(&server_at(OWN_IP), AT_ONCE as u32)?;
    let client =
        format!("rping -c -a {OWN_IP} -S {SIZE} -C 1 -V -v >/tmp/many.$n 2>&1 || echo failed >>/tmp/many.$n");
    let all = format!("for n in $(seq {AT_ONCE}); do {{ {client}; }} & done; wait");
    stage.guest.start_command("many", &all)?;
    let mut talks = Vec::new();
    let start = Instant::now();
    for number in 0..AT_ONCE {
        let talk = Talk::of_several(&end, number, ReliabilityLevel::ReliableDelivery)?;
        listener.next(Some(LIMIT), &|| false)?.accept(&talk.vi, &[])?;
        talks.push(talk);
    }
    let connected = start.elapsed().as_secs_f64();
    // They share the memory that is read and written: one is served after the other.
    for (number, talk) in talks.iter_mut().enumerate() {
        serve_round(talk, SIZE).with_context(|| format!("client {number}"))?;
    }
    stage.guest.finish_command("many", LIMIT)?;
    let printed = stage.guest.run("cat /tmp/many.*; rm /tmp/many.*", LIMIT)?;
    let pings = printed.matches("ping data:").count();
    ensure!(pings == AT_ONCE && !printed.contains("failed"), "{pings} clients saw their ping: {printed}");
    drop(talks);
    stage.figure(format!("connected in {connected:.1} s"));
    nothing_left(stage, &end)
}

/// A connection after the other, each with one ping.
fn in_a_row(stage: &mut Stage) -> Result<()> {
    let connections = match std::env::var("VIADUCT_CONNECTIONS") {
        Ok(text) => text.parse().with_context(|| format!("VIADUCT_CONNECTIONS={text} is no number"))?,
        Err(_) => IN_A_ROW,
    };
    let end = stage.open(BYTES)?;
    let listener = end.nic.connections()?.listen(&server_at(OWN_IP), 4)?;
    let client = format!("rping -c -a {OWN_IP} -S {SIZE} -C 1 -V");
    stage
        .guest
        .start_command("row", &format!("for n in $(seq {connections}); do {client} || exit 1; done"))?;
    let start = Instant::now();
    for number in 0..connections {
        let mut talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
        listener.next(Some(LIMIT), &|| false)?.accept(&talk.vi, &[])?;
        serve_round(&mut talk, SIZE).with_context(|| format!("connection {number}"))?;
        // The client ends it, when it has compared what came back.
        talk.until_over()?;
        talk.vi.disconnect()?;
    }
    stage.guest.finish_command("row", LIMIT)?;
    let each = start.elapsed().as_secs_f64() * 1000.0 / f64::from(connections);
    stage.figure(format!("{connections} connections, {each:.0} ms each"));
    nothing_left(stage, &end)
}

/// Our NIC has all of its VIs free, and all of its regions but the case's own. (What Linux holds is looked at behind each case.)
fn nothing_left(stage: &Stage, end: &End) -> Result<()> {
    // It takes the manager ten seconds, and the manager is the same whatever the NIC is.
    if stage.kind() == Kind::Model {
        forgets(end)?;
    }
    let attributes = end.nic.attributes();
    let most = attributes.max_vi;
    let vis: Result<Vec<Vi>, vipl::Error> =
        (0..most).map(|_| end.nic.create_vi(&ViAttributes::new(&end.ptag))).collect();
    drop(vis.with_context(|| format!("{most} VIs"))?);
    let most = attributes.max_register_regions - 1;
    let closed = MemAttributes::new(&end.ptag);
    let regions: Result<Vec<Region>, vipl::Error> =
        (0..most).map(|_| end.nic.allocate(PAGE, &closed)).collect();
    regions.map(drop).with_context(|| format!("{most} regions"))
}

/// Our connection manager forgets all connections.
fn forgets(end: &End) -> Result<()> {
    let start = Instant::now();
    let connections = end.nic.connections()?;
    loop {
        let count = connections.count()?;
        if count == 0 {
            return Ok(());
        }
        ensure!(start.elapsed() < FORGETS, "the manager still has {count} connections");
        thread::sleep(Duration::from_millis(10));
    }
}
