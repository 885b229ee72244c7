//! perftest's clients in the guest, which a VIA program serves: ib_send_lat, ib_write_bw and ib_read_bw.
//!
//! Client and server speak over TCP, in turns: the client says something, and the server answers with as many bytes. First come its version, sizes
//! and its MTU; then a message of [`NUMBERS`] bytes with the numbers of its queue pair, which comes again whenever the two wait for each other; at the
//! end its figures. A server with the same settings answers the same, and its own numbers to numbers. A client whose figures are not answered waits: what
//! its memory holds then is what its run has put there.

use std::io::{ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use vipl::{
    ConnectionInfo, Descriptor, DescriptorBuilder, Mtu, ReliabilityLevel, Remote, Status, Vi, ViAttributes,
};

use crate::guest::Guest;
use crate::pingpong::{connection, ANSWERER};
use crate::stage::{End, Stage, GUEST_IP, OWN_IP};
use crate::talk::{BYTES, LIMIT, SINK, SOURCE};
use crate::Case;

/// Bytes of the message with numbers.
const NUMBERS: usize = 108;
/// Messages, writes or reads of a run.
const COUNT: usize = 20;
/// Bytes of one that is to be fast.
const SMALL: usize = 64;
/// Bytes of one of many.
const LARGE: usize = 65_536;
/// The client waits 4.096 us * 2^n, a second, for an acknowledgement. With its default of 67 ms it sends again what RTL has in its hands, and Linux 6.12
/// then mixes up what it sends (docs/linux.md).
const TIMEOUT: u8 = 18;
/// What the memory holds that the client writes, and the word that it writes over and over.
const BEFORE: u8 = 0x3c;
const WORDS: [u32; 5] = [0x0302_0100, 0x1817_1615, 0x8000_0001, 0x7fed_cba9, 0x5a5a_a5a6];
/// How long the server waits for the client before it looks whether that has ended.
const LOOK: Duration = Duration::from_millis(50);

/// The cases.
pub const CASES: [Case; 5] = [
    ("ib_send_lat", send_lat),
    ("ib_write_bw", write_bw),
    ("ib_read_bw", read_bw),
    ("linux_refuses_a_write_without_right", |stage| without_right(stage, Descriptor::rdma_write)),
    ("linux_refuses_a_read_without_right", |stage| without_right(stage, Descriptor::rdma_read)),
];

/// Numbers of an end.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    queue_pair: u32,
    /// PSN of the first packet that the end sends.
    psn: u32,
    /// Memory of the end's that the other one may write and read.
    memory: Remote,
    ip: Ipv4Addr,
}

impl Numbers {
    /// LID, reads at a time, queue pair, PSN, key, address, GID byte by byte, shared receive queue.
    fn text(&self, reads: u32) -> String {
        let Remote { address, handle } = self.memory;
        let gid: Vec<String> = self.ip.to_ipv6_mapped().octets().map(|byte| format!("{byte:02x}")).into();
        let gid = gid.join(":");
        format!(
            "{:04x}:{reads:04x}:{:06x}:{:06x}:{handle:08x}:{address:016x}:{gid}:{:08x}:\0",
            0, self.queue_pair, self.psn, 0
        )
    }

    fn parse(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        ensure!(parts.len() == 24, "numbers {text:?}");
        let number =
            |at: usize| u64::from_str_radix(parts[at], 16).with_context(|| format!("numbers {text:?}"));
        let mut ip = [0; 4];
        for (byte, at) in ip.iter_mut().zip(18..) {
            *byte = number(at)? as u8;
        }
        let memory = Remote { address: number(5)?, handle: number(4)? as u32 };
        Ok(Self { queue_pair: number(2)? as u32, psn: number(3)? as u32, memory, ip: ip.into() })
    }
}

/// A client that runs.
struct Client {
    /// What it has told of its memory: where the other end writes, if it may.
    memory: Remote,
    /// Its run is over, and it waits for an answer until this is dropped.
    at_end: Receiver<()>,
}

/// A server: its memory, its VI and what it tells.
struct Server {
    end: End,
    vi: Vi,
    text: String,
}

impl Server {
    fn new(stage: &Stage) -> Result<Self> {
        let end = stage.open(BYTES)?;
        let vi = end.nic.create_vi(&ViAttributes {
            reliability_level: ReliabilityLevel::ReliableDelivery,
            enable_rdma_write: true,
            enable_rdma_read: true,
            mtu: end.mtu,
            ..ViAttributes::new(&end.ptag)
        })?;
        let ConnectionInfo { queue_pair, starting_psn: psn, .. } = vi.connection_info();
        let text = Numbers { queue_pair, psn, memory: end.memory.remote(SINK)?, ip: OWN_IP }.text(1);
        Ok(Self { end, vi, text })
    }

    /// Starts the client, connects to it, and does `serve` while it runs.
    fn run(
        &self,
        stage: &mut Stage,
        program: &str,
        size: usize,
        more: &str,
        serve: impl FnOnce(&mut Stage, &Client) -> Result<()>,
    ) -> Result<()> {
        let printed = self.run_to_end(stage, program, size, more, serve, Guest::finish_command)?;
        let line = printed
            .lines()
            .find(|line| line.split_whitespace().take(2).eq([size, COUNT].map(|n| n.to_string())))
            .with_context(|| format!("the client gives no figures: {printed}"))?;
        // Of a latency the third number behind these is the usual one; of a bandwidth the second one is the average.
        let column = |at| line.split_whitespace().nth(at).with_context(|| format!("too few figures: {line}"));
        stage.figure(match program.ends_with("lat") {
            true => format!("{size} bytes: {} us one way", column(4)?),
            false => format!("{size} bytes: {} MiB/s", column(3)?),
        });
        Ok(self.vi.disconnect()?)
    }

    /// Does what `run` does, with another end: `finish` waits until the client has ended as it should. What it has printed.
    fn run_to_end(
        &self,
        stage: &mut Stage,
        program: &str,
        size: usize,
        more: &str,
        serve: impl FnOnce(&mut Stage, &Client) -> Result<()>,
        finish: fn(&mut Guest, &str, Duration) -> Result<String>,
    ) -> Result<String> {
        let command =
            format!("{program} -d rxe0 -x 1 -m 1024 -u {TIMEOUT} -F -s {size} -n {COUNT} {more} {ANSWERER}");
        stage.guest.start_command("perftest", &command)?;
        let memory = self.meet(&mut stage.guest.numbers)?;
        let attended = stage.guest.numbers.try_clone()?;
        let over = AtomicBool::new(false);
        let (ends, at_end) = mpsc::sync_channel(0);
        let (done, attended) = thread::scope(|scope| {
            let attends = scope.spawn(|| self.attend(attended, &over, ends));
            let client = Client { memory, at_end };
            let done = serve(stage, &client);
            drop(client);
            let done = done.and_then(|()| finish(&mut stage.guest, "perftest", LIMIT));
            over.store(true, Ordering::Relaxed);
            (done, attends.join())
        });
        attended.ok().context("the thread that answers the client")??;
        done
    }

    /// Answers the client until it tells its numbers, and connects the VI. What it tells of its memory.
    fn meet(&self, client: &mut UnixStream) -> Result<Remote> {
        let mut message = [0; 256];
        loop {
            let length = client.read(&mut message).context("the client")?;
            ensure!(length > 0, "the client has gone");
            if length == NUMBERS {
                break;
            }
            client.write_all(&message[..length])?;
        }
        let told = Numbers::parse(&String::from_utf8_lossy(&message[..NUMBERS]))?;
        ensure!(told.ip == GUEST_IP, "the client is at {}", told.ip);
        self.vi.connect(&connection(&self.vi, told.queue_pair, told.psn, Mtu::DEFAULT))?;
        client.write_all(self.text.as_bytes())?;
        Ok(told.memory)
    }

    /// Answers the client until it is over. Its figures are answered when who waits for its end has looked at it.
    fn attend(&self, mut client: UnixStream, over: &AtomicBool, ends: SyncSender<()>) -> Result<()> {
        let patience = client.read_timeout()?;
        client.set_read_timeout(Some(LOOK))?;
        let mut message = [0; 256];
        while !over.load(Ordering::Relaxed) {
            match client.read(&mut message) {
                Ok(NUMBERS) => client.write_all(self.text.as_bytes())?,
                Ok(length) => {
                    // The first is taken by who waits for it, if anybody does; the second fails when he goes on.
                    let _ = ends.send(()).and_then(|()| ends.send(()));
                    client.write_all(&message[..length])?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Both handles are of one socket.
        Ok(client.set_read_timeout(patience)?)
    }
}

/// Messages to and fro.
fn send_lat(stage: &mut Stage) -> Result<()> {
    let server = Server::new(stage)?;
    let Server { end, vi, .. } = &server;
    vi.post_recv(Descriptor::new().segment(&end.memory, SINK, SMALL)?.build(&end.memory, 0)?)?;
    server.run(stage, "ib_send_lat", SMALL, "", |_, _| {
        for count in 0..COUNT {
            let received = vi.recv_wait(Some(LIMIT)).with_context(|| format!("message {count}"))?;
            ensure!(received.length() == SMALL, "a message of {} bytes", received.length());
            vi.post_recv(received)?;
            vi.post_send(Descriptor::new().segment(&end.memory, SOURCE, SMALL)?.build(&end.memory, 256)?)?;
            vi.send_wait(Some(LIMIT))?;
        }
        Ok(())
    })
}

/// Linux writes into our memory.
fn write_bw(stage: &mut Stage) -> Result<()> {
    let server = Server::new(stage)?;
    let memory = &server.end.memory;
    memory.write(SINK, &[BEFORE; LARGE])?;
    let words = WORDS.map(|word| format!("{word:#010x}")).join(",");
    stage.guest.run(&format!("printf %s {words} >/tmp/payload"), LIMIT)?;
    server.run(stage, "ib_write_bw", LARGE, "--payload_file_path=/tmp/payload", |_, _| Ok(()))?;
    stage.guest.run("rm /tmp/payload", LIMIT)?;
    let mut written = vec![0; LARGE];
    memory.read(SINK, &mut written)?;
    let expected: Vec<u8> = WORDS.iter().flat_map(|word| word.to_le_bytes()).cycle().take(LARGE).collect();
    compare(&written, &expected).context("what was written")
}

/// Linux reads our memory. perftest does not look at what it has read: we do, in the client's memory, before it ends.
fn read_bw(stage: &mut Stage) -> Result<()> {
    let server = Server::new(stage)?;
    let ours: Vec<u8> = (0..LARGE).map(|n| (n * 7 + n / 256 + 3) as u8).collect();
    server.end.memory.write(SINK, &ours)?;
    server.run(stage, "ib_read_bw", LARGE, "", |stage, client| {
        client.at_end.recv_timeout(LIMIT).context("the client's run ends")?;
        // It reads into the first half of its buffer, and tells where the second one is.
        let read = memory_of(stage, "ib_read_bw", client.memory.address - LARGE as u64)?;
        compare(&read, &ours).context("what was read")
    })
}

/// What the memory of a program of the guest's holds from a page's first byte on.
fn memory_of(stage: &mut Stage, program: &str, address: u64) -> Result<Vec<u8>> {
    const PAGE: u64 = 4096;
    ensure!(address % PAGE == 0, "the client's memory is at {address:#x}");
    let (page, pages) = (address / PAGE, LARGE as u64 / PAGE);
    let read = format!("dd if=/proc/$(pidof {program})/mem bs={PAGE} skip={page} count={pages} 2>/tmp/dd");
    let digits = stage.guest.run(&format!("{read} | hexdump -v -e '64/1 \"%02x\" \"\\n\"'"), LIMIT)?;
    let digits: Vec<u32> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
    Ok(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8)).collect())
}

/// Data is as it ought to be.
fn compare(data: &[u8], expected: &[u8]) -> Result<()> {
    ensure!(data.len() == expected.len(), "{} bytes of {}", data.len(), expected.len());
    let first = data.iter().zip(expected).position(|(is, ought)| is != ought);
    let place = first.map_or(0, |at| at.saturating_sub(4));
    let near = &data[place..data.len().min(place + 40)];
    ensure!(first.is_none(), "byte {first:?} is another one: from {place} on {near:02x?}");
    Ok(())
}

/// Our VI reads or writes memory that Linux' program has told of, and given no right for: ib_send_lat's is for messages.
fn without_right(stage: &mut Stage, begin: fn(Remote) -> DescriptorBuilder) -> Result<()> {
    let server = Server::new(stage)?;
    let Server { end, vi, .. } = &server;
    vi.post_recv(Descriptor::new().segment(&end.memory, SINK, SMALL)?.build(&end.memory, 0)?)?;
    let printed = server.run_to_end(
        stage,
        "ib_send_lat",
        SMALL,
        "",
        |stage, client| {
            // Its first message says that it is ready.
            vi.recv_wait(Some(LIMIT)).context("the client's message")?;
            ensure!(client.memory.handle != 0, "the client tells of no memory");
            end.memory.write(SOURCE, &[BEFORE; SMALL])?;
            let asked = begin(client.memory).segment(&end.memory, SOURCE, SMALL)?;
            vi.post_send(asked.build(&end.memory, 256)?)?;
            let refused = vi.send_wait(Some(LIMIT)).expect_err("Linux has refused it");
            let vipl::Error::Descriptor(descriptor) = refused else { bail!("{refused:#}") };
            ensure!(descriptor.status().contains(Status::RDMA_PROT_ERROR), "{}", descriptor.status());
            let mut data = [0; SMALL];
            end.memory.read(SOURCE, &mut data)?;
            compare(&data, &[BEFORE; SMALL]).context("what was not read")?;
            // Its queue pair is broken. It hears so where it has a receive: not every version has one at this moment.
            stage.guest.run("killall ib_send_lat; true", LIMIT).map(drop)
        },
        Guest::end_of_command,
    )?;
    ensure!(!printed.ends_with("status 0\n"), "the client was content: {printed}");
    Ok(vi.disconnect()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_as_perftest_tells_them() {
        let memory = Remote { address: 0x7f00_1234_5000, handle: 0x1a2b };
        let text = Numbers { queue_pair: 17, psn: 0xa0_ca1f, memory, ip: OWN_IP }.text(1);
        let gid = "00:00:00:00:00:00:00:00:00:00:ff:ff:0a:00:00:02";
        assert_eq!(text, format!("0000:0001:000011:a0ca1f:00001a2b:00007f0012345000:{gid}:00000000:\0"));
        assert_eq!(text.len(), NUMBERS);
        let back = Numbers::parse(&text).unwrap();
        assert_eq!((back.queue_pair, back.psn, back.memory, back.ip), (17, 0xa0_ca1f, memory, OWN_IP));
        assert!(Numbers::parse("0000:0001:000011\0").is_err());
    }
}
