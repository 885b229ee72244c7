//! The client's table of results, as perftest prints it, or in JSON.

use anyhow::Result;
use serde::Serialize;
use serde_json::json;
use vipl::{connections::HostAddress, Mtu, Nic};

use super::{
    figures::{Bandwidth, Latency},
    terms::{Limit, Metric, Operation, Terms},
};
use crate::{note, output::print};

/// What was measured of a size.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Row {
    /// Latency.
    Latency(Latency),
    /// Bandwidth.
    Bandwidth(Bandwidth),
}

/// A table: its rows are printed as they come, in JSON at the end.
pub struct Table {
    json: bool,
    terms: Terms,
    kind: &'static str,
    nic: String,
    server: HostAddress,
    mtu: Mtu,
    rows: Vec<Row>,
}

const LINE: &str = "---------------------------------------------------------------------------------------";

impl Table {
    /// A table without rows, whose head is printed with the first.
    pub fn new(json: bool, terms: &Terms, nic: &Nic, server: HostAddress, mtu: Mtu) -> Self {
        let is = nic.attributes();
        let kind = note::kind(is.kind);
        Self { json, terms: *terms, kind, nic: is.name, server, mtu, rows: Vec::new() }
    }

    /// Adds what was measured of a size.
    ///
    /// # Errors
    /// Standard output is full or closed.
    pub fn row(&mut self, row: Row) -> Result<()> {
        if !self.json {
            if self.rows.is_empty() {
                print(&self.head())?;
            }
            print(&text(&row))?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// All sizes are measured.
    ///
    /// # Errors
    /// As [`Table::row`].
    pub fn end(self) -> Result<()> {
        if !self.json {
            return print(LINE);
        }
        let Terms { operation, metric, limit, depth, bidirectional, reliability, .. } = self.terms;
        let (iterations, seconds) = match limit {
            Limit::Iterations(count) => (Some(count), None),
            Limit::Seconds(seconds) => (None, Some(seconds)),
        };
        let all = json!({
            "operation": operation.name(),
            "metric": metric.name(),
            "nic": self.nic,
            "kind": self.kind,
            "server": self.server.to_string(),
            "reliability": reliability.name(),
            "mtu": self.mtu.bytes(),
            "tx_depth": depth,
            "bidirectional": bidirectional,
            "iterations": iterations,
            "duration_seconds": seconds,
            "results": self.rows,
        });
        print(&serde_json::to_string_pretty(&all)?)
    }

    fn head(&self) -> String {
        let Terms { operation, metric, depth, bidirectional, reliability, .. } = self.terms;
        let operation = match operation {
            Operation::Send => "Send",
            Operation::Write => "RDMA Write",
            Operation::Read => "RDMA Read",
        };
        let both = if bidirectional { "Bidirectional " } else { "" };
        let (metric, columns) = match metric {
            Metric::Lat => (
                "Latency",
                " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   \
                 99% percentile[usec]   99.9% percentile[usec]",
            ),
            Metric::Bw => (
                "BW",
                " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]",
            ),
        };
        format!(
            "{LINE}\n                    {operation} {both}{metric} Test\n NIC             : {} ({})\n \
             Server          : {}\n Reliability     : {}\n Mtu             : {}[B]\n TX depth        : {depth}\n\
             {LINE}\n{columns}",
            self.nic,
            self.kind,
            self.server,
            reliability.name(),
            self.mtu.bytes(),
        )
    }
}

/// A row for people.
fn text(row: &Row) -> String {
    match row {
        Row::Latency(is) => format!(
            " {:<7} {:<10}    {:<11.2}    {:<11.2}  {:<15.2}    {:<11.2}    {:<13.2}   {:<20.2}   {:<.2}",
            is.bytes,
            is.iterations,
            is.t_min_usec,
            is.t_max_usec,
            is.t_typical_usec,
            is.t_avg_usec,
            is.t_stdev_usec,
            is.percentile_99_usec,
            is.percentile_99_9_usec,
        ),
        Row::Bandwidth(is) => format!(
            " {:<10} {:<14} {:<18.2} {:<20.2} {:<.6}",
            is.bytes,
            is.iterations,
            // As perftest has it when it is not measured.
            is.bw_peak_mb_per_sec.unwrap_or(0.0),
            is.bw_average_mb_per_sec,
            is.msg_rate_mpps,
        ),
    }
}
