//! Private data that is not for whoever gets it: VIA's for a program of Linux', and that of a program of Linux' for us. rstream's sockets, unlike rping,
//! have private data of their own, and refuse who sends other.

use std::time::Duration;

use anyhow::{bail, ensure, Result};
use viaduct_spec::cm::{via, VIA_MAGIC, VIA_VERSION};
use vipl::ReliabilityLevel;

use crate::refusals::ended;
use crate::rping::{connect, server_at, PORT};
use crate::stage::{Stage, GUEST_IP, OWN_IP};
use crate::talk::{Talk, BYTES, LIMIT};
use crate::Case;

/// One message of 64 bytes, in calls that wait.
const WORK: &str = "-S 64 -I 1 -C 1 -T b";

/// The cases.
pub const CASES: [Case; 3] = [
    ("linux_refuses_our_private_data", linux_refuses),
    ("we_refuse_private_data_of_linux", we_refuse),
    ("we_refuse_private_data_of_version_1", version_1),
];

/// A server of Linux' that finds VIA's private data in the place of its own lets go of the request: its kernel rejects it.
fn linux_refuses(stage: &mut Stage) -> Result<()> {
    stage.guest.start_command("rstream", &format!("rstream -b {GUEST_IP} -p {PORT} {WORK}"))?;
    let end = stage.open(BYTES)?;
    let talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    let refused = connect(&end, &talk).expect_err("the server has refused it");
    let Some(vipl::Error::Rejected(data)) = refused.downcast_ref() else { bail!("{refused:#}") };
    ensure!(data.is_empty(), "a kernel's rejection with {data:?}");
    // The server waits for the next client.
    stage.guest.run("killall rstream", LIMIT)?;
    ended(stage, "rstream")
}

/// A client of Linux' brings private data that is not VIA's: our program sees none. It refuses the first, and the client hears so. It accepts the second:
/// the client finds no answer in its own manner, and ends the connection.
fn we_refuse(stage: &mut Stage) -> Result<()> {
    let end = stage.open(BYTES)?;
    let listener = end.nic.connections()?.listen(&server_at(OWN_IP), 1)?;
    let client = format!("rstream -s {OWN_IP} -p {PORT} {WORK}; true");
    stage.guest.start_command("rstream", &client)?;
    let asked = listener.next(Some(LIMIT), &|| false)?;
    ensure!(asked.data().is_empty(), "{:?}", asked.data());
    asked.reject(b"not for us")?;
    let printed = stage.guest.finish_command("rstream", LIMIT)?;
    ensure!(printed.contains("rconnect: Connection refused"), "{printed}");

    stage.guest.start_command("rstream", &client)?;
    let talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    listener.next(Some(LIMIT), &|| false)?.accept(&talk.vi, &[])?;
    talk.until_over()?;
    let printed = stage.guest.finish_command("rstream", LIMIT)?;
    ensure!(printed.contains("rconnect: Operation not supported"), "{printed}");
    Ok(talk.vi.disconnect()?)
}

/// A program that asks by Linux' rdma_cm has private data of VIA's. That of version 1 is refused before our program hears of it (REJ 5), and that of today's,
/// which is the same but for the version, comes to our program: it refuses (REJ 28) with data of its own.
fn version_1(stage: &mut Stage) -> Result<()> {
    let end = stage.open(BYTES)?;
    let listener = end.nic.connections()?.listen(&server_at(OWN_IP), 1)?;
    let ask = |version| format!("timeout 20 viaduct-linux-ask {OWN_IP} {PORT} {}", private_data(version));
    let printed = stage.guest.run(&ask(1), LIMIT)?;
    ensure!(printed.starts_with("rejected 5 "), "{printed}");
    let heard = listener.next(Some(Duration::ZERO), &|| false);
    ensure!(matches!(heard, Err(vipl::Error::Timeout)), "our program has heard of it");

    stage.guest.start_command("ask", &ask(VIA_VERSION))?;
    listener.next(Some(LIMIT), &|| false)?.reject(b"no")?;
    let printed = stage.guest.finish_command("ask", LIMIT)?;
    ensure!(printed.starts_with("rejected 28 5649"), "{printed}");
    // Behind VIA's part, whose last byte is their number.
    ensure!(printed.contains("026e6f"), "{printed}");
    Ok(())
}

/// VIA's part of a REQ, in hexadecimal digits.
fn private_data(version: u8) -> String {
    let port = PORT.to_be_bytes();
    let mut bytes = [0; via::BYTES];
    via::MAGIC.put(&mut bytes, VIA_MAGIC.into());
    via::VERSION.put(&mut bytes, version.into());
    via::LEVEL.put(&mut bytes, 1);
    via::MAX_TRANSFER.put(&mut bytes, 1 << 16);
    via::TO_LENGTH.put(&mut bytes, port.len() as u64);
    via::MTU.put(&mut bytes, 3);
    bytes.iter().chain(&port).map(|byte| format!("{byte:02x}")).collect()
}
