//! Two processes of libfabric's own fi_pingpong, a server and its client, with a NIC each.

use super::{job, process::Process, Bench};
use crate::command::Cmd;
use anyhow::{bail, ensure, Context, Result};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(60);

/// What carries messages.
#[derive(Clone, Copy)]
pub struct Way {
    /// The provider, with what is layered on it.
    pub provider: &'static str,
    /// The type of its endpoints.
    pub endpoint: &'static str,
    /// ofi_rxm has long messages written by who sends them, and not read by who gets them.
    pub by_writes: bool,
}

/// The provider alone.
pub const MSG: Way = Way { provider: "via", endpoint: "msg", by_writes: false };
/// ofi_rxm on it: who gets a message longer than 128 KiB fetches it by RDMA read.
pub const RDM: Way = Way { provider: "via;ofi_rxm", endpoint: "rdm", by_writes: false };
/// The same, but who sends such a message puts it there by RDMA write.
pub const RDM_WRITE: Way = Way { by_writes: true, ..RDM };
/// libfabric's own provider for TCP, on the loopback interface.
pub const TCP: Way = Way { provider: "tcp", endpoint: "msg", by_writes: false };

/// What is asked of fi_pingpong.
#[derive(Clone, Copy)]
pub struct Exchange {
    /// What carries its messages.
    pub way: Way,
    /// Bytes of a message.
    pub size: u64,
    /// Messages each way.
    pub count: u64,
}

impl Exchange {
    /// Bytes that go both ways together.
    pub fn bytes(&self) -> u64 {
        2 * self.size * self.count
    }
}

/// Starts one of the two, and says so.
fn announce(cmd: &Cmd) -> Result<Process> {
    println!("$ {cmd} &");
    Process::start(cmd)
}

/// Starts a server with the first NIC, and its client with the second one. They meet over a socket first, on a port that is free.
pub fn start(bench: &Bench, exchange: Exchange) -> Result<[Process; 2]> {
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let [server, client] = [0, 1].map(|nic| {
        let Exchange { way, size, count } = exchange;
        let bare = job::bare(bench, nic, "fi_pingpong");
        let cmd = match way.by_writes {
            false => bare,
            // By the libfabric of MPICH's package: the ofi_rxm of 1.17 asks for a write of no bytes then.
            true => bare
                .env("LD_LIBRARY_PATH", bench.project.venv.join("lib/mpich"))
                .env("FI_OFI_RXM_USE_RNDV_WRITE", "1"),
        };
        let cmd = cmd.args(["-p", way.provider, "-e", way.endpoint, "-c"]);
        cmd.args(["-S", &size.to_string(), "-I", &count.to_string()])
    });
    let port = port.to_string();
    let mut server = announce(&server.args(["-B", &port]))?;
    // It listens when somebody can connect; a connection that says nothing would be its client, so the system is asked.
    let start = Instant::now();
    while !listens(&port)? {
        ensure!(server.ended()?.is_none(), "the server has ended; it said:\n{}", server.said());
        ensure!(start.elapsed() < START, "the server does not listen; it said:\n{}", server.said());
        std::thread::sleep(Duration::from_millis(20));
    }
    let client = announce(&client.args(["-P", &port, "127.0.0.1"]))?;
    Ok([server, client])
}

/// Whether a process of this machine listens on a TCP port.
fn listens(port: &str) -> Result<bool> {
    let port: u16 = port.parse()?;
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| std::fs::read_to_string(table).unwrap_or_default());
    ensure!(!tables[0].is_empty(), "/proc/net/tcp cannot be read");
    Ok(tables.iter().any(|table| has_listener(table, port)))
}

/// Whether one of the kernel's tables of sockets has one that listens on a port.
fn has_listener(table: &str, port: u16) -> bool {
    const LISTENS: &str = "0A";
    let ends = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|local| local.ends_with(&ends)) && words.nth(1) == Some(LISTENS)
    })
}

/// Runs both until they end, which both must do well.
pub fn run(bench: &Bench, exchange: Exchange, limit: Duration) -> Result<String> {
    finish(start(bench, exchange)?, limit)
}

/// Waits until both have ended, which both must do well: the last row that the client has written. One that fails is told of at once: the other one may
/// wait for it without end.
pub fn finish(mut ends: [Process; 2], limit: Duration) -> Result<String> {
    let start = Instant::now();
    let mut running = true;
    while running {
        running = false;
        for (name, end) in ["server", "client"].iter().zip(&mut ends) {
            match end.ended()? {
                None => running = true,
                Some(status) if status.success() => {}
                Some(status) => {
                    end.end(limit)?;
                    bail!("the {name} ended with {status}; it said:\n{}", end.said());
                }
            }
        }
        let said = || ends.iter().map(Process::said).collect::<Vec<_>>().join("\n--\n");
        ensure!(start.elapsed() < limit, "they have not ended after {limit:?}; they said:\n{}", said());
        std::thread::sleep(Duration::from_millis(20));
    }
    // All that it has written is there then.
    ends[1].end(limit)?;
    let said = ends[1].said();
    let row = said.lines().last().context("the client has said nothing")?;
    Ok(row.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_by_its_port_and_state() {
        let table = "  sl  local_address rem_address   st tx_queue\n   \
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n   \
                     1: 0100007F:1F91 0100007F:A0B0 01 00000000:00000000\n";
        assert!(has_listener(table, 8080));
        assert!(!has_listener(table, 8081), "it is connected");
        assert!(!has_listener(table, 80));
        assert!(!has_listener("", 80));
    }
}
