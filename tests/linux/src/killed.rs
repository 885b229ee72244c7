//! A process of ours is killed in the middle of a conversation: its NIC forgets the connection, and nobody says goodbye. What Linux' program sends then is
//! answered by nobody, until it has sent it as often as it may.
//!
//! ```text
//!   process                      case                          rping -c
//!     reads the client's source, which waits until it is told
//!     READ ------------------->  loses all frames but the next
//!     <-------------- go on
//!     tells ------------------------------------------------>  sends where its sink is, which is lost
//!                                kills the process
//!                                                              sends it again and again, and gives up
//! ```

use std::io;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use vipl::{Mtu, ReliabilityLevel};

use crate::program::Program;
use crate::refusals::failed;
use crate::rping::{serve_round, server_at};
use crate::stage::{End, Stage, OWN_IP};
use crate::talk::{Talk, BYTES, LIMIT};
use crate::Case;

/// Bytes of a ping.
const SIZE: usize = 1000;
/// What the process says when it listens.
const LISTENS: &str = "listens";
/// What it says when it has read the client's source.
const READ: &str = "read";

/// The case.
pub const CASES: [Case; 1] = [("our_program_is_killed", killed)];

/// The process: serves on the NIC of this name until it is killed.
pub fn serve(name: &str) -> Result<()> {
    let end = End::open(name, BYTES, Mtu::DEFAULT)?;
    let mut talk = Talk::new(&end, ReliabilityLevel::ReliableDelivery)?;
    let listener = end.nic.connections()?.listen(&server_at(OWN_IP), 1)?;
    println!("{LISTENS}");
    listener.next(Some(LIMIT), &|| false)?.accept(&talk.vi, &[])?;
    (0..3).try_for_each(|_| serve_round(&mut talk, SIZE))?;
    let source = talk.hear()?;
    talk.read(source)?;
    println!("{READ}");
    io::stdin().read_line(&mut String::new())?;
    talk.tell_last(source)?;
    loop {
        thread::park();
    }
}

fn killed(stage: &mut Stage) -> Result<()> {
    let mut program = Program::start(Command::new(std::env::current_exe()?).arg("killed").arg(stage.name()))?;
    says(&program, LISTENS)?;
    stage.guest.start_command("rping", &format!("rping -c -a {OWN_IP} -S {SIZE} -C 100000 -v"))?;
    says(&program, READ)?;
    let hit = stage.lose_all_but(1)?;
    program.go_on()?;
    let start = Instant::now();
    while stage.hit()? == hit {
        ensure!(start.elapsed() < LIMIT, "no frame behind the message");
        thread::sleep(Duration::from_millis(1));
    }
    program.kill()?;
    let printed = failed(stage, "rping")?;
    stage.clear_faults()?;
    // IBV_WC_RETRY_EXC_ERR.
    ensure!(printed.contains("failed status 12"), "its retries have not run out: {printed}");
    Ok(())
}

fn says(program: &Program, wanted: &str) -> Result<()> {
    let said = program.line().with_context(|| format!("it is to say {wanted:?}"))?;
    ensure!(said == wanted, "it says {said:?} in the place of {wanted:?}");
    Ok(())
}
