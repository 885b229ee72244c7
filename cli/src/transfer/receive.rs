//! The receiving application.

use std::{
    fs::File,
    io::Write,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{ensure, Context, Result};
use sha2::{Digest, Sha256};
use vipl::{Descriptor, MemAttributes, Nic, Region};

use super::{
    channel::{Channel, Offer, Outcome, Window},
    device_us, done, hex, room, End, ReceiveArguments, HEADER, MAX_MESSAGE,
};
use crate::{
    note::{Report, Voice},
    stop::Stop,
};

/// Credits that may be under way; see [`super::CREDIT_RECEIVES`].
const CREDITS: usize = 4;

/// What the receiving side knows on the way.
struct Receiver {
    end: End,
    file: Option<File>,
    offer: Offer,
    window: u32,
    buffers: Region,
    credits: Vec<Descriptor>,
}

pub fn run(arguments: &ReceiveArguments) -> Result<()> {
    let common = &arguments.common;
    let stop = Stop::on_signals()?;
    let create = |path: &PathBuf| File::create(path).with_context(|| path.display().to_string());
    let file = arguments.file.as_ref().map(create).transpose()?;
    let nic = Nic::open(&common.nic)?;
    let patience = Duration::from_secs(common.timeout);
    let mut channel = Channel::accept(&common.channel, patience, &stop)?;
    let offer: Offer = channel.hear()?;
    let Offer { bytes, message } = offer;
    ensure!((1..=MAX_MESSAGE).contains(&message), "the sender offers messages of {message} bytes");
    let window = arguments.window;

    let mut end = End::new(common, channel, &stop, nic, message, window as usize)?;
    let room = room(message);
    let memory = MemAttributes::new(&end.ptag);
    let buffers = end.nic.allocate(window as usize * room, &memory)?;
    for n in 0..window as usize {
        let descriptor = Descriptor::new().segment(&buffers, n * room + HEADER, message as usize)?;
        end.vi.post_recv(descriptor.build(&buffers, n * room)?)?;
    }
    let credits = end.nic.allocate(CREDITS * HEADER, &memory)?;
    let credits = (0..CREDITS)
        .map(|n| Descriptor::new().immediate(0).build(&credits, n * HEADER))
        .collect::<Result<_, _>>()?;
    end.channel.say(&Window { receives: window })?;
    let mut receiver = Receiver { end, file, offer, window, buffers, credits };
    let voice = Voice::new(common.json, bytes);
    match receiver.transfer(&voice) {
        Ok(report) => {
            let Receiver { end, .. } = &mut receiver;
            end.channel.say(&Outcome::Arrived(report.sha256.clone()))?;
            // The last acknowledgement may still be on its way: the VI stays until the sender has
            // it. What the sender says then, or that it is gone, changes nothing here.
            let _ = end.channel.hear_for::<Outcome>(end.timeout);
            voice.report("received", &report);
            Ok(())
        }
        Err(error) => Err(receiver.end.explain(error, "receiver", "sender")),
    }
}

impl Receiver {
    fn transfer(&mut self, voice: &Voice) -> Result<Report> {
        let end = &mut self.end;
        end.vi.connect_through(end.channel.stream()).context("connecting")?;
        let (start, ticks) = (Instant::now(), end.nic.device_time()?);
        let total = self.offer.messages();
        let (mut taken, mut told, mut bytes) = (0u64, 0u64, 0u64);
        let mut hash = Sha256::new();
        let mut data = vec![0; self.offer.message as usize];
        end.progress();
        while taken < total {
            let mut moved = false;
            if let Some(message) = done(end.vi.recv_done(), "a receive")? {
                let expected = (self.offer.bytes - bytes).min(self.offer.message.into());
                ensure!(
                    message.length() as u64 == expected,
                    "message {taken} has {} bytes, not {expected}",
                    message.length()
                );
                let data = &mut data[..message.length()];
                self.buffers.read(message.offset() + HEADER, data)?;
                end.vi.post_recv(message)?;
                hash.update(&*data);
                if let Some(file) = &mut self.file {
                    file.write_all(data).context("writing the file")?;
                }
                taken += 1;
                bytes += data.len() as u64;
                voice.progress(bytes);
                moved = true;
            }
            while let Some(credit) = done(end.vi.send_done(), "the send of a credit")? {
                self.credits.push(credit);
            }
            if taken < total && taken - told >= u64::from(self.window / 2) {
                if let Some(mut credit) = self.credits.pop() {
                    // The sender takes it modulo 2^32.
                    credit.set_immediate(Some(taken as u32));
                    end.vi.post_send(credit)?;
                    told = taken;
                }
            }
            if moved {
                end.progress();
            } else {
                end.idle("sender")?;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let device_us = device_us(ticks, end.nic.device_time()?);
        if let Some(file) = &mut self.file {
            file.flush().context("writing the file")?;
        }
        end.report(&self.offer, hex(&hash.finalize()), seconds, device_us)
    }
}
