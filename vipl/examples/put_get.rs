//! Put and get: the server tells where its memory is, and then sleeps; the client writes there, reads what it wrote together with what was
//! there, and tells with the last write's immediate data that it is done. `put_get NIC` serves, `put_get NIC ADDRESS` asks.

use vipl::{Descriptor, Remote};

mod common;
use common::{End, Result};

/// The server's memory for all: the first half is its own writing, the second one the client's.
const WINDOW: usize = 128 << 10;
const HALF: usize = WINDOW / 2;
const START: usize = 64 << 10;
/// Where messages lie.
const MESSAGE: usize = 4096;

/// What byte `n` of a half is.
fn pattern(n: usize, seed: usize) -> u8 {
    (n * 7 + n / 256 + seed) as u8
}

fn half(seed: usize) -> Vec<u8> {
    (0..HALF).map(|n| pattern(n, seed)).collect()
}

fn serve(end: &End) -> Result<()> {
    let vi = end.vi(None)?;
    end.memory.write(START, &half(1))?;
    // The client's last write takes this one; its segments stay as they are.
    vi.post_recv(Descriptor::new().build(&end.memory, 0)?)?;
    println!("{}", end.mac());
    end.accept("put_get", &vi)?;
    // An address and a handle are all that a peer needs: plain numbers, which travel as any data does.
    let Remote { address, handle } = end.memory.remote(START)?;
    end.memory.write(MESSAGE, &address.to_le_bytes())?;
    end.memory.write(MESSAGE + 8, &u64::from(handle).to_le_bytes())?;
    vi.post_send(end.describe(64, MESSAGE, 16)?)?;
    vi.send_wait(None)?;
    let done = vi.recv_wait(None)?;
    let written = end.read(START + HALF, HALF)?;
    if written != half(2) {
        return Err("what was put is not what was to be put".into());
    }
    println!("{} bytes were put here", done.immediate().unwrap_or(0));
    Ok(vi.disconnect()?)
}

fn ask(end: &End, server: &str) -> Result<()> {
    let vi = end.vi(None)?;
    vi.post_recv(end.describe(0, MESSAGE, 16)?)?;
    end.ask(server, "put_get", &vi)?;
    vi.recv_wait(None)?;
    let window = Remote { address: end.word(MESSAGE)?, handle: end.word(MESSAGE + 8)? as u32 };
    // Get the server's half.
    let get = Descriptor::rdma_read(window).segment(&end.memory, START, HALF)?.build(&end.memory, 64)?;
    vi.post_send(get)?;
    vi.send_wait(None)?;
    if end.read(START, HALF)? != half(1) {
        return Err("what was got is not what was there".into());
    }
    println!("{HALF} bytes were got from there");
    // Put the other half, the last piece with the word that it is the last.
    end.memory.write(START + HALF, &half(2))?;
    let there = Remote { address: window.address + HALF as u64, ..window };
    let put = Descriptor::rdma_write(there).segment(&end.memory, START + HALF, HALF)?;
    vi.post_send(put.immediate(HALF as u32).build(&end.memory, 128)?)?;
    vi.send_wait(None)?;
    Ok(vi.disconnect()?)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(nic) = arguments.first() else { return Err("put_get NIC [ADDRESS]".into()) };
    let end = End::open(nic, 256 << 10)?;
    match arguments.get(1) {
        None => serve(&end),
        Some(server) => ask(&end, server),
    }
}
