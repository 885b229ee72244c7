//! A server of many clients with one completion queue: each client sends words, and gets them back in capitals.
//! `server NIC CLIENTS` serves so many clients and ends; `server NIC ADDRESS TEXT` is one.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use vipl::{Cq, Vi, ViId};

mod common;
use common::{End, Result};

const MESSAGE: usize = 256;
/// Bytes that a client's descriptors and buffers take.
const SHARE: usize = 4096;

/// A client's VI, and where its share of the memory is.
struct Client {
    vi: Vi,
    share: usize,
}

type Clients = Mutex<BTreeMap<ViId, Arc<Client>>>;

/// Takes so many clients, while others are served. One that gives up in the middle makes room for the next.
fn accept(end: &End, cq: &Cq, clients: &Clients, count: usize) -> Result<()> {
    for n in 0..count {
        let client = Arc::new(Client { vi: end.vi(Some(cq))?, share: SHARE * n });
        client.vi.post_recv(end.describe(client.share, client.share + 1024, MESSAGE)?)?;
        let id = client.vi.id();
        clients.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&client));
        while let Err(error) = end.accept("server", &client.vi) {
            eprintln!("a client that gave up: {error}");
        }
    }
    Ok(())
}

fn serve(end: &End, count: usize) -> Result<()> {
    let cq = end.nic.create_cq(1024)?;
    let clients = Clients::default();
    println!("{}", end.mac());
    thread::scope(|scope| {
        let acceptor = scope.spawn(|| accept(end, &cq, &clients, count).map_err(|error| error.to_string()));
        for _ in 0..count {
            // The entry says whose receive is complete.
            let entry = cq.wait(None)?;
            let client = clients.lock().unwrap_or_else(PoisonError::into_inner).get(&entry.vi).cloned();
            let Some(client) = client else { continue };
            let received = client.vi.recv_done()?;
            let text = end.read(client.share + 1024, received.length())?.to_ascii_uppercase();
            end.memory.write(client.share + 2048, &text)?;
            client.vi.post_send(end.describe(client.share + 64, client.share + 2048, text.len())?)?;
            // However it ends: a client may leave as soon as it has its answer.
            let _ = client.vi.send_wait(None);
        }
        acceptor.join().map_err(|_| "the thread that accepts has panicked")??;
        Result::Ok(())
    })?;
    for client in clients.into_inner().unwrap_or_else(PoisonError::into_inner).values() {
        client.vi.disconnect()?;
    }
    println!("{count} clients served");
    Ok(())
}

fn ask(end: &End, server: &str, text: &str) -> Result<()> {
    let vi = end.vi(None)?;
    vi.post_recv(end.describe(0, 1024, MESSAGE)?)?;
    end.ask(server, "server", &vi)?;
    end.memory.write(2048, text.as_bytes())?;
    vi.post_send(end.describe(64, 2048, text.len())?)?;
    vi.send_wait(None)?;
    let answer = vi.recv_wait(None)?;
    println!("{}", String::from_utf8(end.read(1024, answer.length())?)?);
    Ok(vi.disconnect()?)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [nic, clients] => {
            let clients: usize = clients.parse()?;
            serve(&End::open(nic, SHARE * clients)?, clients)
        }
        [nic, server, text] if text.len() <= MESSAGE => ask(&End::open(nic, SHARE)?, server, text),
        _ => Err("server NIC CLIENTS | server NIC ADDRESS TEXT".into()),
    }
}
