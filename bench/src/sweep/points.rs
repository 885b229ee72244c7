//! The points of the sweep.

use super::point::{Kind, Point};
use crate::conditions::Conditions;
use crate::loss::Loss;
use crate::measurements::long;
use crate::way::Way;

/// Bytes of a message: 1 to 1 MiB in powers of 4.
const EXPONENTS: std::ops::RangeInclusive<u32> = 0..=10;
/// Bytes a cycle on the wire.
const LINKS: [u64; 2] = [1, 8];
/// VIs, and messages posted at a time on each.
const VIS: [(usize, usize); 4] = [(1, 256), (4, 64), (16, 32), (64, 8)];
/// Cycles of a round trip on the bus, but for the usual one.
const ROUND_TRIPS: [u64; 3] = [20, 125, 250];
/// Of 1000 frames so many are lost, but for none.
const LOSSES: [u32; 2] = [1, 10];

/// All of them. Those that take longest come first, so that no processor waits for the last one.
pub fn points() -> Vec<Point> {
    let mut points = sizes();
    points.extend(LINKS.into_iter().flat_map(|link| Way::ALL.map(|way| (way, link))).flat_map(
        |(way, link)| {
            LOSSES.map(|per_mille| {
                let loss = Loss { per_mille, ..Loss::NONE };
                Point { kind: Kind::Goodput, conditions: Conditions { loss, ..long(way, link) } }
            })
        },
    ));
    for link in LINKS {
        for way in Way::ALL {
            points.extend(VIS.map(|(connections, window)| {
                let conditions = Conditions { way, rate: link, connections, window, ..Conditions::USUAL };
                Point { kind: Kind::Rate, conditions }
            }));
        }
    }
    points.extend(round_trips());
    points
}

/// Latency and goodput of each size.
fn sizes() -> Vec<Point> {
    let mut points = Vec::new();
    for message in EXPONENTS.rev().map(|exponent| 4usize.pow(exponent)) {
        for link in LINKS {
            let usual = Conditions { rate: link, message, ..Conditions::USUAL };
            points.push(Point { kind: Kind::Latency, conditions: usual });
            let window = ((512 << 10) / message).clamp(2, 128);
            points.extend(
                Way::ALL.map(|way| Point {
                    kind: Kind::Goodput,
                    conditions: Conditions { way, window, ..usual },
                }),
            );
        }
    }
    points
}

/// Every kind of figure at other round trips.
fn round_trips() -> Vec<Point> {
    let mut points = Vec::new();
    for link in LINKS {
        points
            .push(Point { kind: Kind::Latency, conditions: Conditions { rate: link, ..Conditions::USUAL } });
    }
    for round_trip in ROUND_TRIPS {
        let mut at = |kind, conditions| {
            points.push(Point { kind, conditions: Conditions { round_trip, ..conditions } });
        };
        for link in LINKS {
            at(Kind::Latency, Conditions { rate: link, ..Conditions::USUAL });
        }
        Way::ALL.into_iter().for_each(|way| at(Kind::Goodput, long(way, 8)));
        for (connections, window) in [(1, 256), (16, 32)] {
            at(Kind::Rate, Conditions { connections, window, ..Conditions::USUAL });
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_point_is_measured_once() {
        let points = points();
        let names: BTreeSet<_> = points.iter().map(Point::name).collect();
        assert_eq!(names.len(), points.len());
    }

    #[test]
    fn every_size_and_every_condition_is_there() {
        let names: BTreeSet<_> = points().iter().map(Point::name).collect();
        for name in [
            "send_1B_latency_link1_vi1_rtt62_loss0",
            "send_8B_latency_link8_vi1_rtt250_loss0",
            "read_1048576B_goodput_link8_vi1_rtt62_loss0",
            "write_65536B_goodput_link1_vi1_rtt62_loss0.1",
            "write_8B_rate_link1_vi64_rtt62_loss0",
        ] {
            assert!(names.contains(name), "{name}");
        }
    }
}
