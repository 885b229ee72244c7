//! A ball goes there and back: `pingpong NIC` returns it, `pingpong NIC ADDRESS` serves it and measures.

use std::time::Instant;

mod common;
use common::{End, Result};

const BALLS: u32 = 1000;
const BYTES: usize = 64;
/// Where things lie: two receives, whose turn it is by turns, and a send.
const SEND: usize = 128;
const BUFFER: usize = 4096;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(nic) = arguments.first() else { return Err("pingpong NIC [ADDRESS]".into()) };
    let end = End::open(nic, 16384)?;
    let vi = end.vi(None)?;
    for slot in 0..2 {
        vi.post_recv(end.describe(64 * slot, BUFFER + BYTES * slot, BYTES)?)?;
    }
    let mut send = end.describe(SEND, 8192, BYTES)?;
    match arguments.get(1) {
        None => {
            println!("{}", end.mac());
            end.accept("pingpong", &vi)?;
            for _ in 0..BALLS {
                let ball = vi.recv_wait(None)?;
                // First it is ready for the next ball, then it returns this one.
                vi.post_recv(ball)?;
                vi.post_send(send)?;
                send = vi.send_wait(None)?;
            }
        }
        Some(server) => {
            end.ask(server, "pingpong", &vi)?;
            let start = Instant::now();
            for _ in 0..BALLS {
                vi.post_send(send)?;
                send = vi.send_wait(None)?;
                let ball = vi.recv_wait(None)?;
                vi.post_recv(ball)?;
            }
            let each = start.elapsed() / BALLS;
            println!("{BALLS} balls there and back, {:.1} us each", each.as_secs_f64() * 1e6);
        }
    }
    Ok(vi.disconnect()?)
}
