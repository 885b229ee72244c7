//! The sending application.

use std::{fs::File, io::Read, time::Instant};

use anyhow::{bail, ensure, Context, Result};
use sha2::{Digest, Sha256};
use vipl::{Descriptor, MemAttributes};

use super::{device_us, hex, report, Arrived, Offer, SendArguments, Window, CREDIT_RECEIVES, MAX_MESSAGE};
use crate::{
    note::{Report, Voice},
    peer::{credit_of, End, Names, Needs, Port, Purpose},
    stop::Stop,
};

/// Messages that the sender has in memory at once.
const BUFFERS: usize = 8;
/// Where data starts in a buffer: the descriptor is first.
const HEADER: usize = 64;

/// What the sending side knows on the way.
struct Sender {
    end: End,
    file: File,
    offer: Offer,
    window: u32,
    hash: Sha256,
}

pub fn run(arguments: &SendArguments) -> Result<()> {
    let (options, json) = (&arguments.common.options, arguments.common.json);
    ensure!(
        (1..=MAX_MESSAGE).contains(&arguments.message),
        "messages of {} bytes: 1 to {MAX_MESSAGE} bytes",
        arguments.message
    );
    let stop = Stop::on_signals()?;
    let context = || arguments.file.display().to_string();
    let file = File::open(&arguments.file).with_context(context)?;
    let bytes = file.metadata().with_context(context)?.len();
    let offer = Offer { bytes, message: arguments.message };
    let nic = options.open()?;
    let port = Port::new(&nic, options, Purpose::Transfer, &stop)?;
    let needs = Needs {
        names: Names { own: "sender", other: "receiver" },
        message: offer.message,
        sends: BUFFERS,
        receives: CREDIT_RECEIVES,
        shared: false,
        rdma: [false; 2],
    };
    let end = End::new(nic, options, &needs, &stop)?;
    let Window { receives: window } = port.ask(&end.vi, arguments.receiver, &offer)?;
    ensure!(window >= 2, "the receiver has a window of {window} receives; 2 is the least");
    let mut sender = Sender { end, file, offer, window, hash: Sha256::new() };
    let voice = Voice::new(json, bytes);
    match sender.transfer(&voice) {
        Ok(report) => {
            // The receiver keeps its VI until this end leaves: nothing of ours is under way any more.
            sender.end.vi.disconnect()?;
            voice.report("sent", &report);
            Ok(())
        }
        Err(error) => Err(sender.end.explain(error, !json)),
    }
}

impl Sender {
    fn transfer(&mut self, voice: &Voice) -> Result<Report> {
        let message = self.offer.message as usize;
        let total = self.offer.messages();
        let end = &mut self.end;
        let memory = MemAttributes::new(&end.ptag);
        let room = (HEADER + message).next_multiple_of(HEADER);
        let buffers = end.nic.allocate(BUFFERS * room, &memory)?;
        let mut free: Vec<usize> = (0..BUFFERS).map(|n| n * room).collect();

        let (start, ticks) = (Instant::now(), end.nic.device_time()?);
        let (mut sent, mut complete, mut taken) = (0u64, 0u64, 0u64);
        let mut bytes_left = self.offer.bytes;
        let mut data = vec![0; message];
        let mut arrived: Option<Arrived> = None;
        end.begin();
        while complete < total {
            let mut moved = false;
            while sent < total && sent - taken < u64::from(self.window) {
                let Some(at) = free.pop() else { break };
                let length = bytes_left.min(message as u64) as usize;
                self.file.read_exact(&mut data[..length]).context("the file changed while it was read")?;
                self.hash.update(&data[..length]);
                buffers.write(at + HEADER, &data[..length])?;
                let descriptor = Descriptor::new().segment(&buffers, at + HEADER, length)?;
                end.vi.post_send(descriptor.build(&buffers, at)?)?;
                bytes_left -= length as u64;
                sent += 1;
                moved = true;
            }
            while let Some(descriptor) = end.sent()? {
                free.push(descriptor.offset());
                complete += 1;
                moved = true;
                voice.progress((complete * message as u64).min(self.offer.bytes));
            }
            while let Some(receive) = end.receive()? {
                match end.control_of(&receive)? {
                    // The last acknowledgement may come after it.
                    Some(all) if sent == total => arrived = Some(all),
                    Some(Arrived(_)) => {
                        bail!("the receiver says that all bytes are there before they can be")
                    }
                    None => taken = credit_of(&receive, taken, sent)?,
                }
                end.vi.post_recv(receive)?;
                moved = true;
            }
            if !moved {
                end.idle()?;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let device_us = device_us(ticks, end.nic.device_time()?);
        let rest = self.file.read(&mut [0]).unwrap_or(0);
        ensure!(rest == 0, "the file grew while it was read");
        let sha256 = hex(&std::mem::take(&mut self.hash).finalize());
        // All messages are complete here; the receiver says whether they are there.
        let Arrived(arrived) = match arrived {
            Some(arrived) => arrived,
            None => end.receive_control()?,
        };
        ensure!(arrived == sha256, "the receiver has other bytes: sha256 {arrived}, not {sha256}");
        report(end, &self.offer, sha256, seconds, device_us)
    }
}
