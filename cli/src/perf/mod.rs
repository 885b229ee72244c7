//! `viaduct perf`: latency and bandwidth of a NIC between two programs, with the options and the tables of linux-rdma's perftest.

mod bandwidth;
mod bench;
mod figures;
mod latency;
mod table;
mod terms;

use anyhow::{ensure, Result};
use clap::Args;
use vipl::connections::HostAddress;

use self::{
    bench::{Bench, Role},
    table::{Row, Table},
    terms::{Limit, Metric, Operation, Terms},
};
use crate::{
    output::print,
    peer::{Options, Port, Purpose, Reliability},
    stop::Stop,
};

/// Measures between two programs. Without the address of a server it is the server, which is told the same options.
#[derive(Args)]
#[group(skip)]
pub struct Arguments {
    /// What the messages are
    #[arg(value_enum)]
    operation: Operation,
    /// What is measured of them
    #[arg(value_enum)]
    metric: Metric,
    /// MAC or IPv4 address of the server's NIC; not given: this is the server
    server: Option<HostAddress>,
    #[command(flatten)]
    options: Options,
    /// Bytes of a message [default: 2 for lat, 65536 for bw]
    #[arg(short, long)]
    size: Option<u32>,
    /// All sizes: the powers of two from 2 to 8388608
    #[arg(short, long, conflicts_with = "size")]
    all: bool,
    /// Messages of each size [default: 1000 for lat, 5000 for bw]
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    iters: Option<u32>,
    /// Seconds that each size is measured, in place of a number of messages
    #[arg(short = 'D', long, conflicts_with = "iters", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    duration: Option<u32>,
    /// Messages that are posted at once, for bw
    #[arg(short = 't', long, default_value_t = 128, value_parser = clap::value_parser!(u16).range(1..=1000))]
    tx_depth: u16,
    /// Both ends send at once; the rates are of both together. For bw
    #[arg(short, long)]
    bidirectional: bool,
    /// Sleep until the NIC's interrupt, in place of polling. Not for write lat, which polls memory
    #[arg(short, long)]
    events: bool,
    /// Results in JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// What is to be measured.
    ///
    /// # Errors
    /// Options that exclude each other.
    fn terms(&self) -> Result<Terms> {
        let Self { operation, metric, .. } = *self;
        let is_lat = metric == Metric::Lat;
        let reliability = self.options.reliability;
        ensure!(!(is_lat && self.bidirectional), "--bidirectional is for bw: of lat both ends send anyway");
        ensure!(
            !(is_lat && operation == Operation::Write && self.events),
            "--events is not for write lat: what ends it is a byte in memory, of which no interrupt tells"
        );
        ensure!(
            !(operation == Operation::Read && reliability == Reliability::Unreliable),
            "--reliability unreliable has no RDMA reads: they need delivery or reception"
        );
        ensure!(self.size != Some(0), "--size 0: messages have 1 byte at least");
        let size = self.size.unwrap_or(if is_lat { 2 } else { 65536 });
        let limit = match self.duration {
            Some(seconds) => Limit::Seconds(seconds),
            None => Limit::Iterations(self.iters.unwrap_or(if is_lat { 1000 } else { 5000 })),
        };
        let size = (!self.all).then_some(size);
        let bidirectional = self.bidirectional;
        Ok(Terms { operation, metric, size, limit, depth: self.tx_depth, bidirectional, reliability })
    }
}

/// `viaduct perf`.
pub fn run(arguments: &Arguments) -> Result<()> {
    let terms = arguments.terms()?;
    let stop = Stop::on_signals()?;
    let nic = arguments.options.open()?;
    let port = Port::new(&nic, &arguments.options, Purpose::Perf, &stop)?;
    let new = |role: Role| Bench::new(nic.clone(), &arguments.options, terms, role, arguments.events, &stop);
    match arguments.server {
        None => serve(arguments, &terms, &port, new(Role::Server)?),
        Some(server) => {
            let mut bench = new(Role::Client)?;
            port.ask::<()>(bench.vi(), server, &terms)?;
            let mut table = Table::new(arguments.json, &terms, &nic, server, arguments.options.mtu);
            match measure(&mut bench, Some(&mut table)) {
                Ok(()) => {
                    // The server waits for that.
                    bench.vi().disconnect()?;
                    table.end()
                }
                Err(error) => Err(bench.explain(error)),
            }
        }
    }
}

/// The server's side: one client, and then it ends.
fn serve(arguments: &Arguments, terms: &Terms, port: &Port, mut bench: Bench) -> Result<()> {
    let (address, number) = (port.host(), arguments.options.port);
    print(&match arguments.json {
        true => serde_json::json!({ "address": address, "port": number }).to_string(),
        false => format!("waiting at port {number} of {address}"),
    })?;
    let request = port.wait::<Terms>()?;
    if let Some(difference) = terms.difference(&request.offer) {
        return Err(request.refuse(difference));
    }
    request.accept(bench.vi(), &())?;
    match measure(&mut bench, None) {
        Ok(()) => {
            bench.wait_for_its_end();
            Ok(())
        }
        Err(error) => Err(bench.explain(error)),
    }
}

/// Measures all sizes; the client has a table for the results.
fn measure(bench: &mut Bench, mut table: Option<&mut Table>) -> Result<()> {
    bench.meet()?;
    for size in bench.terms().sizes() {
        bench.check(size)?;
        let row = match bench.terms().metric {
            Metric::Lat => latency::measure(bench, size)?.map(Row::Latency),
            Metric::Bw => bandwidth::measure(bench, size)?.map(Row::Bandwidth),
        };
        if let (Some(table), Some(row)) = (&mut table, row) {
            table.row(row)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        perf: Arguments,
    }

    fn terms(line: &str) -> Result<Terms> {
        Line::try_parse_from(["perf", "-d", "nic0"].into_iter().chain(line.split(' ')))?.perf.terms()
    }

    #[test]
    fn defaults_are_perftest_s() {
        let lat = terms("send lat").expect("all there");
        assert_eq!((lat.size, lat.limit, lat.depth), (Some(2), Limit::Iterations(1000), 128));
        let bw = terms("read bw").expect("all there");
        assert_eq!((bw.size, bw.limit), (Some(65536), Limit::Iterations(5000)));
        assert_eq!(terms("write bw -a -D 3").expect("all there").limit, Limit::Seconds(3));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (line, text) in [
            ("send lat -b", "--bidirectional is for bw"),
            ("write lat -e", "--events is not for write lat"),
            ("read bw --reliability unreliable", "no RDMA reads"),
            ("send bw -s 0", "--size 0"),
            ("send bw -s 1 -a", "cannot be used with"),
            ("send bw -n 1 -D 1", "cannot be used with"),
            ("send bw -t 1001", "1001"),
            ("send all", "all"),
            ("send bw 02:00", "six bytes in hexadecimal"),
        ] {
            let error = format!("{:#}", terms(line).expect_err("refused"));
            assert!(error.contains(text), "{line}: {error}");
        }
    }
}
