//! A ball goes there and back: `pingpong NIC` waits for it, `pingpong NIC ADDRESS` serves it, and both measure. `End`, of `common`, is an open NIC
//! with registered memory.

use std::time::Instant;

mod common;
use common::{End, Result};

const BALLS: u32 = 1000;
const BYTES: usize = 64;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(nic) = arguments.first() else { return Err("pingpong NIC [ADDRESS]".into()) };
    let (end, server) = (End::open(nic, 16384)?, arguments.get(1));
    let vi = end.vi(None)?;
    // Where a descriptor lies, where its data does, and their length: two receives take turns.
    vi.post_recv(end.describe(0, 4096, BYTES)?)?;
    vi.post_recv(end.describe(64, 4096 + BYTES, BYTES)?)?;
    let mut send = end.describe(128, 8192, BYTES)?;
    if let Some(server) = server {
        end.ask(server, "pingpong", &vi)?;
        vi.post_send(send)?;
        send = vi.send_wait(None)?;
    } else {
        println!("{}", end.mac());
        end.accept("pingpong", &vi)?;
    }
    let start = Instant::now();
    for ball in 1..=BALLS {
        // The receive for the next ball is posted before this one is returned. The client has sent one before the loop.
        vi.post_recv(vi.recv_wait(None)?)?;
        if server.is_none() || ball < BALLS {
            vi.post_send(send)?;
            send = vi.send_wait(None)?;
        }
    }
    println!("{BALLS} balls there and back, {:.1} us each", (start.elapsed() / BALLS).as_secs_f64() * 1e6);
    Ok(vi.disconnect()?)
}
