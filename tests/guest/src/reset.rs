//! A function reset in the middle of everything: nothing of before comes after it.

use std::{thread, time::Duration};

use anyhow::{ensure, Context, Result};
use libtest_mimic::Completion;
use viaduct_driver::device::{Bar, DeviceError, PciDevice};
use viaduct_spec::register::{counter, registers, MAGIC_VALUE};
use vipl::{Descriptor, Error, MemAttributes, NicKind, Region, ReliabilityLevel, Vi};

use crate::{
    bench::{read, Bench, LIMIT},
    note::note,
    setting::Setting,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[Test { name: "reset_gives_a_clean_device", body: Body::Names(reset) }];

/// Messages under way.
const MESSAGES: usize = 16;
/// Long enough for many more of them.
const A_WHILE: Duration = Duration::from_millis(200);

fn reset(setting: &Setting) -> Result<Completion> {
    for end in [0, 1] {
        note(format!("NIC {end}, {}", ["which sends", "which receives"][end]));
        let mut bench = Bench::open(setting)?;
        let device = bench.ends[end].device.clone();
        let vis = bench.connect(ReliabilityLevel::ReliableDelivery)?;
        let size = size(bench.ends[0].nic.attributes().kind);
        let regions = post(&mut bench, &vis, size)?;
        // In the middle: the first has arrived, the last has not.
        vis[1].recv_wait(Some(LIMIT)).context("the first message")?;
        match device.reset() {
            Ok(()) => {}
            Err(DeviceError::Refused { reason, .. }) => {
                return Ok(Completion::ignored_with(format!("the function has no reset: {reason}")));
            }
            Err(error) => return Err(error.into()),
        }
        let mut last = 1;
        while vis[1].recv_done().is_ok() {
            last += 1;
        }
        ensure!(last < MESSAGES, "the reset came too late to be in the middle");
        // What the NIC has written is what there will be.
        let memory = read(&regions[end], 0, MESSAGES * size)?;
        thread::sleep(A_WHILE);
        ensure!(read(&regions[end], 0, MESSAGES * size)? == memory, "DMA after a reset");
        ensure!(matches!(vis[end].recv_done(), Err(Error::NotDone | Error::Empty)), "a completion after it");

        let register = |offset| device.read32(Bar::Registers, offset);
        assert_eq!(register(registers::MAGIC)?, MAGIC_VALUE, "it answers");
        assert_eq!(register(registers::CONTROL)?, 0, "no enable is left");
        assert_eq!(device.read64(Bar::Registers, registers::MAC)?, 0, "no address is left");
        for number in [counter::FRAMES_SENT, counter::FRAMES_RECEIVED, counter::MESSAGES_SENT] {
            assert_eq!(
                device.read64(Bar::Registers, registers::COUNTERS + 8 * number)?,
                0,
                "no count is left"
            );
        }
        // The agent of before can do nothing more with it; dropping everything must do no harm.
    }
    Ok(Completion::Completed)
}

/// Bytes of a message: those behind the first take a NIC of this kind far longer than a reset takes to come.
fn size(kind: NicKind) -> usize {
    match kind {
        NicKind::Model => 512 << 10,
        _ => 32 << 10,
    }
}

/// Posts all receives, and then all sends.
fn post(bench: &mut Bench, vis: &[Vi; 2], size: usize) -> Result<[Region; 2]> {
    let region = |end: usize| {
        let end = &bench.ends[end];
        end.nic.allocate(MESSAGES * (size + 64), &MemAttributes::new(&end.ptag))
    };
    let regions = [region(0)?, region(1)?];
    let bytes = bench.bytes(MESSAGES * size);
    regions[0].write(0, &bytes)?;
    for end in [1, 0] {
        let region = &regions[end];
        for number in 0..MESSAGES {
            let descriptor = Descriptor::new()
                .segment(region, number * size, size)?
                .build(region, MESSAGES * size + 64 * number)?;
            if end == 1 {
                bench.ends[1].receive(&vis[1], descriptor)?;
            } else {
                vis[0].post_send(descriptor)?;
            }
        }
    }
    Ok(regions)
}
