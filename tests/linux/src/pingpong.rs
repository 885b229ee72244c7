//! ibv_rc_pingpong and ibv_uc_pingpong of libibverbs in the guest, which ask a VIA program to play.
//!
//! They know no connection manager: each end tells the other one its numbers over TCP, and chooses the PSN of its first packet itself. The guest's
//! TCP connection ends here in a socket (`numbers.sock`). The client sends first, each end as often as the other; it has one buffer for what it sends
//! and receives, so it returns what it gets.

use std::io::{Read, Write};
use std::net::Ipv4Addr;

use anyhow::{ensure, Context, Result};
use vipl::{ConnectionInfo, Descriptor, Mtu, ReliabilityLevel, Vi, ViAttributes};

use crate::stage::{End, Stage, GUEST, GUEST_IP, OWN_IP};
use crate::talk::{BYTES, LIMIT, SINK, SOURCE};
use crate::Case;

/// Where the guest's TCP connections go, and come out of `numbers.sock`.
pub const ANSWERER: &str = "10.0.2.100";
/// What the client's buffer is full of.
const FIRST: u8 = 0x7b;
/// A verbs program waits 4.096 us * 2^14 for an acknowledgement, and is as slow.
const ACK_TIME: u8 = 14;
/// Sizes of a ball.
const SIZES: [usize; 4] = [64, 1024, 4096, 65_536];
/// Balls of each size.
const BALLS: usize = 20;

/// The cases.
pub const CASES: [Case; 3] = [
    ("rc_pingpong", |stage| of_each_size(stage, "rc", ReliabilityLevel::ReliableDelivery)),
    ("uc_pingpong", |stage| of_each_size(stage, "uc", ReliabilityLevel::UnreliableDelivery)),
    ("pingpong_with_packets_of_4096_bytes", large_packets),
];

/// Numbers of an end, as the programs tell them: LID, queue pair, the PSN that it sends first, GID.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    queue_pair: u32,
    psn: u32,
    ip: Ipv4Addr,
}

impl Numbers {
    /// Bytes of the text, with its end.
    const BYTES: usize = 52;

    fn text(self) -> String {
        let gid = u128::from(self.ip.to_ipv6_mapped());
        format!("{:04x}:{:06x}:{:06x}:{gid:032x}\0", 0, self.queue_pair, self.psn)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut parts = text.trim_end_matches('\0').split(':').skip(1);
        let mut part = || parts.next().with_context(|| format!("numbers {text:?}"));
        let queue_pair = u32::from_str_radix(part()?, 16)?;
        let psn = u32::from_str_radix(part()?, 16)?;
        let gid = std::net::Ipv6Addr::from(u128::from_str_radix(part()?, 16)?);
        let ip = gid.to_ipv4_mapped().with_context(|| format!("the GID {gid} has no IPv4 address"))?;
        Ok(Self { queue_pair, psn, ip })
    }
}

fn of_each_size(stage: &mut Stage, transport: &str, level: ReliabilityLevel) -> Result<()> {
    for size in SIZES {
        play(stage, transport, level, size, 1024).with_context(|| format!("{size} bytes"))?;
    }
    Ok(())
}

fn large_packets(stage: &mut Stage) -> Result<()> {
    stage.set_mtu(Mtu::MAX)?;
    let done = play(stage, "rc", ReliabilityLevel::ReliableDelivery, 65_536, 4096)
        .and_then(|()| play(stage, "uc", ReliabilityLevel::UnreliableDelivery, 65_536, 4096));
    stage.set_mtu(Mtu::DEFAULT)?;
    done
}

/// A game: the guest's program is the client.
fn play(stage: &mut Stage, transport: &str, level: ReliabilityLevel, size: usize, mtu: u32) -> Result<()> {
    let end = stage.open(BYTES)?;
    let vi = end.nic.create_vi(&ViAttributes {
        reliability_level: level,
        mtu: end.mtu,
        ..ViAttributes::new(&end.ptag)
    })?;
    let program = format!("ibv_{transport}_pingpong -g 1 -m {mtu} -s {size} -n {BALLS} {ANSWERER}");
    stage.guest.start_command("pingpong", &program)?;
    for place in 0..2 {
        vi.post_recv(receive(&end, place, size)?)?;
    }
    exchange(stage, &vi, mtu)?;
    let mut expected = vec![FIRST; size];
    for ball in 0..BALLS {
        let received = vi.recv_wait(Some(LIMIT))?;
        ensure!(received.length() == size, "a ball of {} bytes", received.length());
        let mut data = vec![0; size];
        end.memory.read(buffer(ball % 2, size), &mut data)?;
        ensure!(data == expected, "ball {ball}: what came back is not what went");
        vi.post_recv(received)?;
        expected = (0..size).map(|n| (n * 7 + ball) as u8).collect();
        end.memory.write(SOURCE, &expected)?;
        let send = Descriptor::new().segment(&end.memory, SOURCE, size)?.build(&end.memory, 256)?;
        vi.post_send(send)?;
        vi.send_wait(Some(LIMIT))?;
    }
    let printed = stage.guest.finish_command("pingpong", LIMIT)?;
    // 20 iters in 0.03 seconds = 1500.00 usec/iter
    let micros = printed.lines().find_map(|line| {
        let (count, time) = line.split_once(" iters in ")?;
        let micros: f64 = time.split_once(" = ")?.1.strip_suffix(" usec/iter")?.parse().ok()?;
        (count == BALLS.to_string()).then_some(micros)
    });
    let micros = micros.with_context(|| format!("the client gives no figures: {printed}"))?;
    stage.figure(format!("{size} bytes: {:.1} ms a ball", micros / 1000.0));
    Ok(vi.disconnect()?)
}

/// Where a ball comes to.
fn buffer(place: usize, size: usize) -> usize {
    SINK + place * size
}

fn receive(end: &End, place: usize, size: usize) -> Result<Descriptor> {
    let segment = Descriptor::new().segment(&end.memory, buffer(place, size), size)?;
    Ok(segment.build(&end.memory, 64 * place)?)
}

/// The guest's end of a connection to `vi`, as verbs programs tell it: their queue pair, and the PSN that they send first. We send first what we
/// tell.
pub fn connection(vi: &Vi, queue_pair: u32, first_psn: u32, mtu: Mtu) -> ConnectionInfo {
    let first_psn = Some(first_psn);
    ConnectionInfo {
        mac: GUEST,
        ip: GUEST_IP,
        queue_pair,
        first_psn,
        mtu,
        ack_time: ACK_TIME,
        ..vi.connection_info()
    }
}

/// Hears the client's numbers, connects the VI, and tells its own.
fn exchange(stage: &mut Stage, vi: &Vi, mtu: u32) -> Result<()> {
    let mut text = [0; Numbers::BYTES];
    stage.guest.numbers.read_exact(&mut text).context("the client's numbers")?;
    let told = Numbers::parse(&String::from_utf8_lossy(&text))?;
    ensure!(told.ip == GUEST_IP, "the client is at {}", told.ip);
    vi.connect(&connection(vi, told.queue_pair, told.psn, Mtu::try_from(mtu)?))?;
    let own = vi.connection_info();
    let numbers = Numbers { queue_pair: own.queue_pair, psn: own.starting_psn, ip: OWN_IP };
    stage.guest.numbers.write_all(numbers.text().as_bytes())?;
    let mut done = [0; 5];
    stage.guest.numbers.read_exact(&mut done).context("the client's end of the exchange")?;
    ensure!(done == *b"done\0", "{done:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_as_libibverbs_tells_them() {
        let text = Numbers { queue_pair: 17, psn: 0xa0_ca1f, ip: OWN_IP }.text();
        assert_eq!(text, "0000:000011:a0ca1f:00000000000000000000ffff0a000002\0");
        assert_eq!(text.len(), Numbers::BYTES);
        let back = Numbers::parse(&text).unwrap();
        assert_eq!((back.queue_pair, back.psn, back.ip), (17, 0xa0_ca1f, OWN_IP));
        assert!(Numbers::parse("0000:000011\0").is_err());
    }
}
