//! Bus Master Enable: a function that may not send memory requests moves nothing, and goes on where it
//! was when it may again.

use std::{thread, time::Duration};

use anyhow::{Context, Result};
use libtest_mimic::Completion;
use viaduct_driver::device::PciDevice;
use vipl::{Error, Status};

use crate::{
    bench::{read, Bench, DATA, LEVELS, LIMIT},
    note::note,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[Test { name: "bus_master_off_stops_dma", body: Body::Pair(stops) }];

/// Configuration space: the command register, in the low half.
const COMMAND: u16 = 0x04;
/// Command register: the function may send memory requests.
const BUS_MASTER: u32 = 1 << 2;
/// Bytes of a message.
const BYTES: usize = 2000;
/// Long against the time that a message takes, on any of the devices.
const A_WHILE: Duration = Duration::from_millis(300);

fn set(device: &dyn PciDevice, on: bool) -> Result<()> {
    let command = device.config_read32(COMMAND)? & 0xffff & !BUS_MASTER;
    device.config_write32(COMMAND, if on { command | BUS_MASTER } else { command })?;
    let now = device.config_read32(COMMAND)? & BUS_MASTER != 0;
    assert_eq!(now, on, "the command register keeps what was written");
    Ok(())
}

fn stops(bench: &mut Bench) -> Result<Completion> {
    for level in LEVELS {
        // The side that reads memory, and the side that writes it.
        for off in [0, 1] {
            note(format!("{level}, end {off}"));
            let vis = bench.connect(level)?;
            let sent = bench.bytes(BYTES);
            bench.ends[0].memory.write(DATA, &sent)?;
            bench.ends[1].memory.write(DATA, &[0; BYTES])?;
            let receive = bench.ends[1].in_memory(BYTES)?;
            bench.ends[1].receive(&vis[1], receive)?;
            // The receive is fetched ahead; without it, one side could not be told from the other.
            bench.settle()?;
            set(&*bench.ends[off].device, false)?;
            let frames = bench.ends[0].frames_sent()?;
            vis[0].post_send(bench.ends[0].in_memory(BYTES)?)?;
            thread::sleep(A_WHILE);
            assert!(matches!(vis[1].recv_done(), Err(Error::NotDone)), "a completion, without Bus Master");
            assert_eq!(read(&bench.ends[1].memory, DATA, BYTES)?, [0; BYTES], "data, without Bus Master");
            if off == 0 {
                assert!(
                    matches!(vis[0].send_done(), Err(Error::NotDone)),
                    "a completion, without Bus Master"
                );
                assert_eq!(bench.ends[0].frames_sent()?, frames, "a frame of data that it cannot read");
            }
            set(&*bench.ends[off].device, true)?;
            let received = vis[1].recv_wait(Some(LIMIT)).context("the receive, with Bus Master again")?;
            let sent_again = vis[0].send_wait(Some(LIMIT)).context("the send, with Bus Master again")?;
            assert_eq!((received.status(), sent_again.status()), (Status::DONE, Status::DONE));
            assert_eq!(read(&bench.ends[1].memory, DATA, BYTES)?, sent);
        }
    }
    Ok(Completion::Completed)
}
