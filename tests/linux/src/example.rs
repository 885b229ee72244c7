//! The library's example `rping` with rping of librdmacm, in both roles.

use std::process::Command;

use anyhow::{ensure, Result};

use crate::program::{example, Program};
use crate::stage::{Stage, GUEST_IP, OWN_IP};
use crate::talk::LIMIT;
use crate::Case;

/// The example.
const NAME: &str = "rping";
/// Pings of the example's client, and of the guest's.
const PINGS: usize = 10;

/// The cases.
pub const CASES: [Case; 2] = [("the_example_serves", serves), ("the_example_asks", asks)];

/// The guest's client compares what comes back.
fn serves(stage: &mut Stage) -> Result<()> {
    let server = Program::start(Command::new(example(NAME)?).arg(stage.name()))?;
    let address = server.line()?;
    ensure!(address == OWN_IP.to_string(), "{address}");
    stage.guest.start_command("rping", &format!("rping -c -a {address} -C {PINGS} -V -v"))?;
    let printed = stage.guest.finish_command("rping", LIMIT)?;
    ensure!(printed.matches("ping data:").count() == PINGS, "{printed}");
    let said = server.line()?;
    ensure!(said == format!("{PINGS} pings served"), "{said}");
    server.finish()
}

/// The example compares what comes back.
fn asks(stage: &mut Stage) -> Result<()> {
    stage.guest.start_command("rping", &format!("rping -s -a {GUEST_IP} -C {PINGS} -v"))?;
    let client = Program::start(Command::new(example(NAME)?).arg(stage.name()).arg(GUEST_IP.to_string()))?;
    let said = client.line()?;
    ensure!(said == format!("{PINGS} pings of 64 bytes came back"), "{said}");
    client.finish()?;
    let printed = stage.guest.finish_command("rping", LIMIT)?;
    ensure!(printed.matches("server ping data:").count() == PINGS, "{printed}");
    Ok(())
}
