//! Latency and bandwidth by size in the NICs' own time: what hosts do takes none of it (the simulator's `--hold`), and the frames of the capture say when
//! they were on the wire.

use super::{pair, stage::Conditions, Bench};
use crate::capture::{self, Frame};
use anyhow::{ensure, Context, Result};
use std::path::Path;
use std::time::Duration;

/// How long one exchange may take.
const LIMIT: Duration = Duration::from_secs(600);
/// How long a host may take on the wall to answer what its NIC has told it.
const QUIET: Duration = Duration::from_millis(20);
/// A cycle of the NICs', in nanoseconds.
const CYCLE: u64 = 8;
/// Sizes of messages, and how many go each way.
const SIZES: &[(u64, u64)] =
    &[(64, 20), (1 << 10, 20), (4 << 10, 10), (16 << 10, 10), (64 << 10, 6), (256 << 10, 4), (1 << 20, 3)];
/// What is measured.
const WAYS: [pair::Way; 2] = [pair::MSG, pair::RDM];

/// Measures, and prints a table for docs/mpi.md. Each exchange has NICs of its own, and a capture.
pub fn measure<'a>(
    conditions: &Conditions,
    folder: &Path,
    start: impl Fn(&Conditions) -> Result<Bench<'a>>,
) -> Result<()> {
    let mut table = String::from(
        "| bytes | msg: cycles | us | MB/s | rdm: cycles | us | MB/s |\n|---|---|---|---|---|---|---|\n",
    );
    for (size, count) in SIZES {
        let mut row = format!("| {size} |");
        for way in WAYS {
            let (endpoint, exchange) = (way.endpoint, pair::Exchange { way, size: *size, count: *count });
            let file = folder.join(format!("{endpoint}-{size}.pcap"));
            let bench = start(&Conditions { measured: Some((&file, QUIET)), ..*conditions })?;
            pair::run(&bench, exchange, LIMIT)?;
            bench.stage.end()?;
            let trips = round_trips(&capture::read(&file)?, exchange)
                .with_context(|| format!("{endpoint}, {size} bytes"))?;
            row += &shown(*size, &trips)?;
        }
        println!("{row}");
        table += &(row + "\n");
    }
    println!("\n{table}");
    Ok(())
}

/// A message's time one way, in cycles and microseconds, and its bytes a microsecond: of the middle one of the round trips, in nanoseconds.
fn shown(size: u64, trips: &[u64]) -> Result<String> {
    let mut trips = trips.to_vec();
    trips.sort_unstable();
    let (least, most) = trips.first().zip(trips.last()).context("no message has come back")?;
    let half = |trip: u64| trip as f64 / 2.0;
    let middle = half(trips[trips.len() / 2]);
    println!("{size} bytes: {} round trips, one way {} to {} ns", trips.len(), half(*least), half(*most));
    let micros = middle / 1000.0;
    Ok(format!(" {:.0} | {micros:.2} | {:.1} |", middle / CYCLE as f64, size as f64 / micros))
}

/// What the round trips of an exchange took, in nanoseconds: the time between the ends of one side's messages. ofi_rxm sends what is long in several of
/// its own, or sends where it is to be read: those that are the longest go in each round trip, and equally many.
fn round_trips(frames: &[Frame], exchange: pair::Exchange) -> Result<Vec<u64>> {
    // It is the client that begins.
    let sent = sends(frames, [10, 0, 0, 2])?;
    let longest = sent.iter().map(|send| send.bytes).max().context("the client has sent nothing")?;
    let ends: Vec<u64> = sent.iter().filter(|send| send.bytes == longest).map(|send| send.end).collect();
    let (there, count) = (ends.len(), exchange.count as usize);
    let each = there / count;
    ensure!(
        each > 0 && there % count == 0,
        "the client was to send {count} messages, and has sent {there} of {longest} bytes"
    );
    let last: Vec<u64> = ends.chunks(each).filter_map(|message| message.last().copied()).collect();
    Ok(last.windows(2).map(|pair| pair[1] - pair[0]).collect())
}

/// A message that was sent.
#[derive(Debug, PartialEq)]
struct Send {
    /// When the last byte of its last packet was on the wire, in nanoseconds.
    end: u64,
    bytes: usize,
}

/// The messages that the NIC of this address sends: those of sends, not of RDMA.
fn sends(frames: &[Frame], source: [u8; 4]) -> Result<Vec<Send>> {
    const ICRC: usize = 4;
    const ROCE: [u8; 2] = 4791_u16.to_be_bytes();
    // Where the headers behind Ethernet's begin: IPv4's, UDP's, the transport's; and what is behind them.
    let [ip, udp, bth, payload]: [usize; 4] = [14, 34, 42, 54];
    let (mut sends, mut bytes) = (Vec::new(), 0);
    for Frame { time: (seconds, nanoseconds), bytes: frame } in frames {
        let is_its = frame.len() >= payload + ICRC
            && frame[ip + 12..ip + 16] == source
            && frame[udp + 2..udp + 4] == ROCE;
        // SEND First, Middle, Last, Last with immediate data, Only, Only with immediate data.
        if !is_its || frame[bth] > 5 {
            continue;
        }
        let (opcode, pad) = (frame[bth], usize::from((frame[bth + 1] >> 4) & 3));
        let length = usize::from(u16::from_be_bytes([frame[udp + 4], frame[udp + 5]]));
        let immediate = if matches!(opcode, 3 | 5) { 4 } else { 0 };
        let overhead = payload - udp + ICRC + pad + immediate;
        bytes += length.checked_sub(overhead).context("a packet is shorter than its headers")?;
        if matches!(opcode, 2..=5) {
            let end = u64::from(*seconds) * 1_000_000_000 + u64::from(*nanoseconds);
            sends.push(Send { end, bytes: std::mem::take(&mut bytes) });
        }
    }
    Ok(sends)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of a NIC's, at this time.
    fn packet(nanoseconds: u32, nic: u8, opcode: u8, payload: usize) -> Frame {
        let pad = payload.next_multiple_of(4) - payload;
        let mut bytes = vec![0; 54 + payload + pad + 4];
        bytes[26..30].copy_from_slice(&[10, 0, 0, nic]);
        bytes[36..38].copy_from_slice(&4791_u16.to_be_bytes());
        let length = (bytes.len() - 34) as u16;
        bytes[38..40].copy_from_slice(&length.to_be_bytes());
        (bytes[42], bytes[43]) = (opcode, (pad as u8) << 4);
        Frame { time: (1, nanoseconds), bytes }
    }

    #[test]
    fn a_message_ends_with_its_last_packet_and_has_the_bytes_of_all() {
        const SECOND: u64 = 1_000_000_000;
        let frames = [
            packet(10, 2, 0, 4096),
            packet(15, 1, 4, 7),
            packet(20, 2, 1, 4096),
            packet(30, 2, 2, 5),
            packet(35, 2, 17, 4),
            packet(40, 2, 5, 4 + 64),
        ];
        let whole = Send { end: SECOND + 30, bytes: 2 * 4096 + 5 };
        assert_eq!(sends(&frames, [10, 0, 0, 2]).unwrap(), [whole, Send { end: SECOND + 40, bytes: 64 }]);
    }

    #[test]
    fn a_round_trip_is_from_one_message_of_the_client_s_to_its_next() {
        let exchange = pair::Exchange { way: pair::MSG, size: 64, count: 3 };
        let mut frames: Vec<Frame> = [(100, 2), (250, 1), (400, 2), (550, 1), (720, 2)]
            .map(|(time, nic)| packet(time, nic, 4, 64))
            .to_vec();
        frames.push(packet(730, 2, 4, 3));
        assert_eq!(round_trips(&frames, exchange).unwrap(), [300, 320]);
        // ofi_rxm has cut each in two.
        let cut = [100, 110, 400, 420].map(|time| packet(time, 2, 4, 64));
        assert_eq!(round_trips(&cut, pair::Exchange { count: 2, ..exchange }).unwrap(), [310]);
        let error = round_trips(&frames[1..], exchange).unwrap_err().to_string();
        assert!(error.contains("was to send 3 messages, and has sent 2"), "{error}");
    }

    #[test]
    fn a_row_has_the_middle_one() {
        assert_eq!(shown(64, &[4000, 3200, 80_000]).unwrap(), " 250 | 2.00 | 32.0 |");
        assert!(shown(64, &[]).is_err());
    }
}
