//! rping of librdmacm, in both roles, with a VIA program at the other end.
//!
//! In each round the client tells where its source is (a SEND of [`Told`](crate::talk::Told)); the server reads it (RDMA READ) and says so; the client
//! tells where its sink is; the server writes there what it has read (RDMA WRITE), and says so. What the source holds is a C string: the server
//! writes back as many bytes as that has, with its end.

use std::time::Instant;

use anyhow::{ensure, Context, Result};
use vipl::connections::NetAddress;
use vipl::{Mtu, ReliabilityLevel};

use crate::stage::{End, Stage, GUEST_IP, OWN_IP};
use crate::talk::{Talk, Told, BYTES, LIMIT, SINK, SOURCE};
use crate::Case;

/// rping's port.
pub const PORT: u16 = 7174;
/// The sizes of a ping: small, a packet's, the largest that rping has.
const SIZES: [usize; 3] = [100, 4096, 65_535];
/// Rounds of each size.
const ROUNDS: usize = 3;

/// The cases.
pub const CASES: [Case; 5] = [
    ("rping_client_of_ours", |stage| client_of_each_size(stage, ReliabilityLevel::ReliableDelivery)),
    ("rping_client_of_ours_with_reliable_reception", |stage| {
        client_of_each_size(stage, ReliabilityLevel::ReliableReception)
    }),
    ("rping_client_of_linux", server_of_each_size),
    ("rping_with_packets_of_4096_bytes", large_packets),
    ("rping_nobody_listens", refused),
];

/// The address of rping's server at a host.
pub fn server_at(host: impl Into<vipl::connections::HostAddress>) -> NetAddress {
    NetAddress { host: host.into(), discriminator: PORT.to_be_bytes().to_vec() }
}

/// The address of a client of ours.
fn own_address() -> NetAddress {
    NetAddress { host: OWN_IP.into(), discriminator: b"ours".to_vec() }
}

/// What a client sends in a round: letters, and the end of a C string.
pub fn text(round: usize, size: usize) -> Vec<u8> {
    let mut text: Vec<u8> = (0..size).map(|n| b'A' + ((n + round) % 26) as u8).collect();
    text[size - 1] = 0;
    text
}

/// Connects to `rping -s` in the guest, which listens a moment after it was started.
pub fn connect(end: &End, talk: &Talk<'_>) -> Result<()> {
    let connections = end.nic.connections()?;
    loop {
        match connections.request(&talk.vi, &own_address(), &server_at(GUEST_IP), &[], Some(LIMIT)) {
            Err(vipl::Error::NoMatch) => {}
            answer => return answer.map(drop).context("rping -s"),
        }
    }
}

/// `rping -s` in the guest, and a client of ours.
pub fn client(stage: &mut Stage, level: ReliabilityLevel, size: usize, rounds: usize) -> Result<()> {
    stage.guest.start_command("rping", &format!("rping -s -a {GUEST_IP} -S {size} -C {rounds} -v"))?;
    let end = stage.open(BYTES)?;
    let mut talk = Talk::new(&end, level)?;
    connect(&end, &talk)?;
    let start = Instant::now();
    for round in 0..rounds {
        end.memory.write(SOURCE, &text(round, size))?;
        talk.tell_place(SOURCE, size)?;
        talk.hear().context("the server has read")?;
        talk.tell_place(SINK, size)?;
        talk.hear().context("the server has written")?;
        let mut back = vec![0; size];
        end.memory.read(SINK, &mut back)?;
        ensure!(back == text(round, size), "round {round}: what came back is not what went");
        end.memory.write(SINK, &vec![0; size])?;
    }
    note(stage, "asks", size, rounds, start);
    talk.vi.disconnect()?;
    let printed = stage.guest.finish_command("rping", LIMIT)?;
    let pings = printed.matches("server ping data:").count();
    ensure!(pings == rounds, "the server saw {pings} pings: {printed}");
    Ok(())
}

/// `rping -c` in the guest, which compares what comes back, and a server of ours.
pub fn server(stage: &mut Stage, size: usize, rounds: usize) -> Result<()> {
    server_with(stage, size, rounds, |_, _| Ok(()))
}

/// The same; `before` is called before each round, with its number.
pub fn server_with(
    stage: &mut Stage,
    size: usize,
    rounds: usize,
    mut before: impl FnMut(&mut Stage, usize) -> Result<()>,
) -> Result<()> {
    let end = stage.open(BYTES)?;
    let mut talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    talk.meet_client(stage, &format!("-S {size} -C {rounds} -V -v"))?;
    let start = Instant::now();
    for round in 0..rounds {
        before(stage, round)?;
        let last = round + 1 == rounds;
        let serve = if last { serve_last_round } else { serve_round };
        serve(&mut talk, size).with_context(|| format!("round {round}"))?;
    }
    let printed = stage.guest.finish_command("rping", LIMIT)?;
    note(stage, "serves", size, rounds, start);
    let pings = printed.matches("ping data:").count();
    ensure!(pings == rounds, "the client saw {pings} pings: {printed}");
    Ok(talk.vi.disconnect()?)
}

/// What a round has taken, our side in this role.
fn note(stage: &mut Stage, role: &str, size: usize, rounds: usize, start: Instant) {
    let each = start.elapsed().as_secs_f64() * 1000.0 / rounds as f64;
    stage.figure(format!("{role}, {size} bytes: {each:.1} ms a round"));
}

/// A round of a server's.
pub fn serve_round(talk: &mut Talk<'_>, size: usize) -> Result<()> {
    let sink = serve_data(talk, size)?;
    talk.tell(sink)
}

/// A server's last round: its last message is what the client ends at.
pub fn serve_last_round(talk: &mut Talk<'_>, size: usize) -> Result<()> {
    let sink = serve_data(talk, size)?;
    talk.tell_last(sink)
}

/// Reads the client's source, and writes its sink, which this answers.
fn serve_data(talk: &mut Talk<'_>, size: usize) -> Result<Told> {
    let source = talk.hear().context("where the client's source is")?;
    ensure!(source.length == size, "{} bytes of {size}", source.length);
    talk.read(source)?;
    talk.tell(source)?;
    let sink = talk.hear().context("where the client's sink is")?;
    talk.write(sink)?;
    Ok(sink)
}

fn client_of_each_size(stage: &mut Stage, level: ReliabilityLevel) -> Result<()> {
    SIZES
        .iter()
        .try_for_each(|&size| client(stage, level, size, ROUNDS).with_context(|| format!("{size} bytes")))
}

fn server_of_each_size(stage: &mut Stage) -> Result<()> {
    SIZES.iter().try_for_each(|&size| server(stage, size, ROUNDS).with_context(|| format!("{size} bytes")))
}

/// Both roles with a path MTU of 4096. (Linux takes the largest that fits its interface's MTU.)
fn large_packets(stage: &mut Stage) -> Result<()> {
    stage.set_mtu(Mtu::MAX)?;
    let sizes = [4096, 65_535];
    let done = sizes.iter().try_for_each(|&size| {
        server(stage, size, ROUNDS)?;
        client(stage, ReliabilityLevel::ReliableDelivery, size, ROUNDS)
    });
    stage.set_mtu(Mtu::DEFAULT)?;
    done
}

/// Neither side has a listener.
fn refused(stage: &mut Stage) -> Result<()> {
    let end = stage.open(BYTES)?;
    let connections = end.nic.connections()?;
    let talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    let answer = connections.request(&talk.vi, &own_address(), &server_at(GUEST_IP), &[], Some(LIMIT));
    ensure!(matches!(answer, Err(vipl::Error::NoMatch)), "nobody listens there: {answer:?}");
    let printed = stage.guest.run(&format!("rping -c -a {OWN_IP} -C 1 -v; true"), LIMIT)?;
    ensure!(printed.contains("REJECTED") && printed.contains("error 8"), "nobody listens here: {printed}");
    Ok(())
}
