//! The sending application.

use std::{
    fs::File,
    io::Read,
    time::{Duration, Instant},
};

use anyhow::{bail, ensure, Context, Result};
use sha2::{Digest, Sha256};
use vipl::{Descriptor, MemAttributes, Nic};

use super::{
    channel::{Channel, Offer, Outcome, Window},
    device_us, done, hex, room, End, SendArguments, CREDIT_RECEIVES, HEADER, MAX_MESSAGE,
};
use crate::{
    note::{Report, Voice},
    stop::Stop,
};

/// Messages that the sender has in memory at once.
const BUFFERS: usize = 8;

/// What the sending side knows on the way.
struct Sender {
    end: End,
    file: File,
    offer: Offer,
    window: u32,
    hash: Sha256,
}

pub fn run(arguments: &SendArguments) -> Result<()> {
    let common = &arguments.common;
    ensure!((1..=MAX_MESSAGE).contains(&arguments.message), "messages have 1 to {MAX_MESSAGE} bytes");
    let stop = Stop::on_signals()?;
    let context = || arguments.file.display().to_string();
    let file = File::open(&arguments.file).with_context(context)?;
    let bytes = file.metadata().with_context(context)?.len();
    let offer = Offer { bytes, message: arguments.message };
    let nic = Nic::open(&common.nic)?;
    let patience = Duration::from_secs(common.timeout);
    let mut channel = Channel::connect(&common.channel, patience, &stop)?;
    channel.say(&offer)?;
    let Window { receives: window } = channel.hear()?;
    ensure!(window >= 2, "the receiver has a window of {window} receives; 2 is the least");
    let end = End::new(common, channel, &stop, nic, offer.message, BUFFERS)?;
    let mut sender = Sender { end, file, offer, window, hash: Sha256::new() };
    let voice = Voice::new(common.json, bytes);
    match sender.transfer(&voice) {
        Ok(report) => {
            voice.report("sent", &report);
            Ok(())
        }
        Err(error) => Err(sender.end.explain(error, "sender", "receiver")),
    }
}

impl Sender {
    fn transfer(&mut self, voice: &Voice) -> Result<Report> {
        let message = self.offer.message as usize;
        let total = self.offer.messages();
        let end = &mut self.end;
        let memory = MemAttributes::new(&end.ptag);
        let room = room(self.offer.message);
        let buffers = end.nic.allocate(BUFFERS * room, &memory)?;
        let mut free: Vec<usize> = (0..BUFFERS).map(|n| n * room).collect();
        let credits = end.nic.allocate(CREDIT_RECEIVES * HEADER, &memory)?;
        for n in 0..CREDIT_RECEIVES {
            end.vi.post_recv(Descriptor::new().build(&credits, n * HEADER)?)?;
        }
        end.vi.connect_through(end.channel.stream()).context("connecting")?;

        let (start, ticks) = (Instant::now(), end.nic.device_time()?);
        let (mut sent, mut complete, mut taken) = (0u64, 0u64, 0u64);
        let mut bytes_left = self.offer.bytes;
        let mut data = vec![0; message];
        end.progress();
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
            while let Some(descriptor) = done(end.vi.send_done(), "a send")? {
                free.push(descriptor.offset());
                complete += 1;
                moved = true;
                voice.progress((complete * message as u64).min(self.offer.bytes));
            }
            while let Some(credit) = done(end.vi.recv_done(), "the receive of a credit")? {
                taken = credit_of(&credit, taken, sent)?;
                end.vi.post_recv(credit)?;
                moved = true;
            }
            if moved {
                end.progress();
            } else {
                end.idle("receiver")?;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let device_us = device_us(ticks, end.nic.device_time()?);
        let rest = self.file.read(&mut [0]).unwrap_or(0);
        ensure!(rest == 0, "the file grew while it was read");
        let sha256 = hex(&std::mem::take(&mut self.hash).finalize());
        // All messages are complete here; the receiver says whether they are there. It gives up before
        // this end does.
        let arrived = match end.channel.hear_for(2 * end.timeout)? {
            Outcome::Arrived(sha256) => sha256,
            Outcome::Failed(reason) => bail!("the receiver gave up: {reason}"),
        };
        ensure!(arrived == sha256, "the receiver has other bytes: sha256 {arrived}, not {sha256}");
        let report = end.report(&self.offer, sha256, seconds, device_us)?;
        // The receiver keeps its VI until it hears this: nothing of ours is under way any more.
        end.channel.say(&Outcome::Arrived(arrived))?;
        Ok(report)
    }
}

/// How many messages the receiver has taken: its count modulo 2^32 is in the immediate data.
fn credit_of(credit: &Descriptor, taken: u64, sent: u64) -> Result<u64> {
    let Some(count) = credit.immediate() else { bail!("the receiver sent a message that is no credit") };
    let taken = taken + u64::from(count.wrapping_sub(taken as u32));
    ensure!(taken <= sent, "the receiver says that it has taken {taken} messages, of {sent} that were sent");
    Ok(taken)
}
