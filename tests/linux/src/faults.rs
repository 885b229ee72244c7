//! rping on a network that is not perfect. It compares what comes back itself; faults count only if frames were hit.

use std::time::Duration;

use anyhow::{ensure, Context, Result};
use viaduct_sim::setup::Kind;
use vipl::ReliabilityLevel;

use crate::rping::{client, server, server_with};
use crate::stage::Stage;
use crate::strikes::Fault;
use crate::talk::LIMIT;
use crate::Case;

/// Bytes of a ping over models, 64 packets, and how many rounds.
const LARGE: (usize, usize) = (65_535, 4);
/// The same over RTL, four packets. While it is busy with many that have come again, Linux' timer sends them once more, and Linux 6.12 mixes up what it
/// does then (docs/linux.md).
const SMALL: (usize, usize) = (4096, 40);
/// The seed of the first case; each has its own.
const SEED: u64 = 0x26;

/// Our side as the server, and as the client.
const ROLES: [fn(&mut Stage) -> Result<()>; 2] = [serves, asks];

/// The cases.
pub const CASES: [Case; 6] = [
    ("frames_are_lost", |stage| with(stage, Fault::Lost, SEED, 10)),
    ("frames_come_twice", |stage| with(stage, Fault::Twice, SEED + 1, 30)),
    ("frames_are_overtaken", |stage| with(stage, Fault::Overtaken, SEED + 2, 30)),
    ("icrcs_are_wrong", |stage| with(stage, Fault::WrongIcrc, SEED + 3, 10)),
    ("the_guest_loses_doubles_and_delays_frames", netem),
    ("the_guest_s_link_goes_down_and_up", down_and_up),
];

/// Both roles while of 1000 frames `share` are hit. In each role requests and answers of both ends are hit.
fn with(stage: &mut Stage, fault: Fault, seed: u64, share: u32) -> Result<()> {
    for role in ROLES {
        stage.strikes.begin(fault, seed, share);
        let done = role(stage);
        let hits = stage.strikes.end();
        done.with_context(|| format!("seed {seed}, {hits}"))?;
        hits.of_each_kind()?;
        stage.figure(hits.to_string());
    }
    Ok(())
}

/// Bytes of a ping, and how many rounds.
fn pings(stage: &Stage) -> (usize, usize) {
    if stage.kind() == Kind::Rtl {
        SMALL
    } else {
        LARGE
    }
}

fn serves(stage: &mut Stage) -> Result<()> {
    let (size, rounds) = pings(stage);
    server(stage, size, rounds).context("the client is Linux'")
}

fn asks(stage: &mut Stage) -> Result<()> {
    let (size, rounds) = pings(stage);
    client(stage, ReliabilityLevel::ReliableDelivery, size, rounds).context("the client is ours")
}

/// What leaves the guest goes through netem. tc 6.1 has no seed for it: so many are lost that of some 500 frames one is for sure.
fn netem(stage: &mut Stage) -> Result<()> {
    let netem = "netem delay 1ms loss 3% duplicate 3% reorder 2%";
    stage.guest.run(&format!("/usr/bin/tc qdisc add dev eth0 root {netem}"), LIMIT)?;
    let shown = stage.guest.run("/usr/bin/tc qdisc show dev eth0", LIMIT)?;
    ensure!(shown.contains("netem") && shown.contains("loss 3%"), "{shown}");
    let done = ROLES.iter().try_for_each(|role| role(stage));
    let shown = stage.guest.run("/usr/bin/tc -s qdisc show dev eth0", LIMIT)?;
    stage.guest.run("/usr/bin/tc qdisc del dev eth0 root", LIMIT)?;
    done?;
    ensure!(shown.contains("dropped ") && !shown.contains("dropped 0,"), "netem has lost nothing: {shown}");
    Ok(())
}

/// The cable is out for a fifth of a second in the middle of a conversation: what was on the way comes again.
fn down_and_up(stage: &mut Stage) -> Result<()> {
    let before = carrier_lost(stage)?;
    let mut plugged = None;
    let served = server_with(stage, SMALL.0, 100, |stage, round| {
        if round == 20 {
            plugged = Some(stage.guest.unplug_for(Duration::from_millis(200))?);
        }
        Ok(())
    });
    let plugged = plugged.context("the cable was not pulled")?.join();
    plugged.ok().context("the thread that plugs it in")?.context("QEMU's monitor")?;
    served.context("the client is Linux'")?;
    let lost = carrier_lost(stage)? - before;
    ensure!(lost == 1, "the guest has lost its carrier {lost} times");
    Ok(())
}

/// How often the guest's interface has lost its carrier.
fn carrier_lost(stage: &mut Stage) -> Result<u64> {
    let count = stage.guest.run("cat /sys/class/net/eth0/carrier_down_count", LIMIT)?;
    count.trim().parse().with_context(|| format!("carrier_down_count is {count:?}"))
}
