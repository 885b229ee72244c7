//! The receiving application.

use std::{fs::File, io::Write, path::PathBuf, time::Instant};

use anyhow::{ensure, Context, Result};
use sha2::{Digest, Sha256};
use vipl::{Descriptor, MemAttributes, ReliabilityLevel};

use super::{device_us, hex, report, Arrived, Offer, ReceiveArguments, Window, MAX_MESSAGE};
use crate::{
    note::{Report, Voice},
    peer::{End, Names, Needs, Options, Port, Purpose},
    stop::Stop,
};

/// Credits that may be under way; see [`super::CREDIT_RECEIVES`].
const CREDITS: usize = 4;
/// Bytes of a credit's descriptor.
const CREDIT: usize = 64;

/// What the receiving side knows on the way.
struct Receiver {
    end: End,
    file: Option<File>,
    offer: Offer,
    window: u32,
    credits: Vec<Descriptor>,
}

pub fn run(arguments: &ReceiveArguments) -> Result<()> {
    let (options, json) = (&arguments.common.options, arguments.common.json);
    let stop = Stop::on_signals()?;
    let create = |path: &PathBuf| File::create(path).with_context(|| path.display().to_string());
    let file = arguments.file.as_ref().map(create).transpose()?;
    let nic = options.open()?;
    let port = Port::new(&nic, options, Purpose::Transfer, &stop)?;
    if !json {
        // To whom the sender goes.
        println!("waiting at port {} of {}", options.port, port.host());
    }
    let request = port.wait::<Offer>()?;
    let offer = request.offer;
    if let Err(reason) = judge(&offer, options, request.attributes().reliability_level) {
        return Err(request.refuse(reason));
    }

    let window = arguments.window;
    let needs = Needs {
        names: Names { own: "receiver", other: "sender" },
        message: offer.message,
        sends: CREDITS,
        receives: window as usize,
        shared: false,
        rdma: [false; 2],
    };
    let end = End::new(nic, options, &needs, &stop)?;
    let credits = end.nic.allocate(CREDITS * CREDIT, &MemAttributes::new(&end.ptag))?;
    let credits = (0..CREDITS)
        .map(|n| Descriptor::new().immediate(0).build(&credits, n * CREDIT))
        .collect::<Result<_, _>>()?;
    request.accept(&end.vi, &Window { receives: window })?;
    let mut receiver = Receiver { end, file, offer, window, credits };
    let voice = Voice::new(json, offer.bytes);
    let transferred = receiver.transfer(&voice).and_then(|report| {
        receiver.end.send_control(&Arrived(report.sha256.clone()))?;
        Ok(report)
    });
    match transferred {
        Ok(report) => {
            // The last acknowledgement may still be on its way: the VI stays until the sender has left.
            receiver.end.wait_for_its_end();
            voice.report("received", &report);
            Ok(())
        }
        Err(error) => Err(receiver.end.explain(error, !json)),
    }
}

/// What stands against a sender's offer.
fn judge(offer: &Offer, options: &Options, level: ReliabilityLevel) -> Result<(), String> {
    if !(1..=MAX_MESSAGE).contains(&offer.message) {
        return Err(format!("messages of {} bytes: 1 to {MAX_MESSAGE} bytes", offer.message));
    }
    if level != options.reliability.into() {
        let own = options.reliability.name();
        return Err(format!(
            "the receiver was given --reliability {own}, the sender another: they are the same"
        ));
    }
    Ok(())
}

impl Receiver {
    fn transfer(&mut self, voice: &Voice) -> Result<Report> {
        let end = &mut self.end;
        let (start, ticks) = (Instant::now(), end.nic.device_time()?);
        let total = self.offer.messages();
        let (mut taken, mut told, mut bytes) = (0u64, 0u64, 0u64);
        let mut hash = Sha256::new();
        end.begin();
        while taken < total {
            let received = end.receive()?;
            let moved = received.is_some();
            if let Some(message) = received {
                // A sender says nothing but that it gives up.
                end.control_of::<()>(&message)?;
                let expected = (self.offer.bytes - bytes).min(self.offer.message.into());
                ensure!(
                    message.length() as u64 == expected,
                    "message {taken} has {} bytes, not {expected}",
                    message.length()
                );
                let data = end.read(&message)?;
                end.vi.post_recv(message)?;
                hash.update(&data);
                if let Some(file) = &mut self.file {
                    file.write_all(&data).context("writing the file")?;
                }
                taken += 1;
                bytes += data.len() as u64;
                voice.progress(bytes);
            }
            while let Some(credit) = end.sent()? {
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
            if !moved {
                end.idle()?;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let device_us = device_us(ticks, end.nic.device_time()?);
        if let Some(file) = &mut self.file {
            file.flush().context("writing the file")?;
        }
        report(end, &self.offer, hex(&hash.finalize()), seconds, device_us)
    }
}
