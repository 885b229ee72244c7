//! What Icarus shows, held against what was recorded.
//!
//! From the first cycle without `reset`:
//!
//! * an output that nothing qualifies (`valid`, `ready`, `idle`, ...) is known;
//! * an output that belongs to a `valid` (`data`, `keep`, `last`, `class` of a stream, and a deadline) is known, to its last bit, while that is 1;
//! * a bit that is known is the recorded one.
//!
//! So X is allowed only in an output whose `valid` is 0. Data registers have no reset, and show X until there is a first packet, frame or
//! deadline; RAMs hold X until they are written, which no output with a `valid` of 1 may show.

use std::collections::BTreeMap;
use std::fmt;

use crate::icarus::recording::Recording;

/// The outputs of one cycle: for each a character a bit, the highest first.
pub type Shown = Vec<String>;

/// What is wrong with an output, told once for each output and kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Icarus comes to no end of a cycle: signals wake each other for ever without time passing.
    Stuck {
        /// Cycles before.
        cycles: usize,
    },
    /// Bits are unknown that may not be.
    Unknown(Place),
    /// Bits are other than recorded.
    Other(Place),
}

/// Where.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The output.
    pub output: String,
    /// The first such cycle.
    pub cycle: u64,
    /// What is shown there.
    pub shown: String,
    /// What was recorded.
    pub recorded: String,
    /// Such cycles.
    pub cycles: usize,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, place) = match self {
            Self::Stuck { cycles } => {
                return write!(
                    f,
                    "Icarus comes to no end of the cycle after {cycles} others: a loop without delay"
                )
            }
            Self::Unknown(place) => ("is unknown", place),
            Self::Other(place) => ("is other than in Verilator", place),
        };
        let Place { output, cycle, shown, recorded, cycles } = place;
        write!(f, "`{output}` {what} in cycle {cycle}: {shown}, recorded {recorded} ({cycles} such cycles)")
    }
}

/// The `valid` that says whether an output means anything; nothing for those that always do.
fn valid_of(output: &str, outputs: &[String]) -> Option<usize> {
    if output.ends_with("_valid") || output.ends_with("_ready") {
        return None;
    }
    let stream = output.rsplit_once('_').map_or(output, |(stream, _)| stream);
    let named = |name: String| outputs.iter().position(|output| *output == name);
    named(format!("{output}_valid")).or_else(|| named(format!("{stream}_valid")))
}

/// Compares all outputs in all cycles.
pub fn judge(recording: &Recording, shown: &[Shown]) -> Vec<Fault> {
    let Recording { inputs, outputs, rows } = recording;
    let reset = inputs.iter().position(|input| input == "reset").expect("a reset");
    let start = rows.iter().position(|row| row.inputs[reset] == 0).expect("a cycle without reset");
    let valids: Vec<Option<usize>> = outputs.iter().map(|output| valid_of(output, outputs)).collect();
    let mut faults: BTreeMap<(usize, bool), Place> = BTreeMap::new();
    for (row, shown) in rows.iter().zip(shown).skip(start) {
        for (number, (output, bits)) in outputs.iter().zip(shown).enumerate() {
            let recorded = format!("{:0width$b}", row.outputs[number], width = bits.len());
            let is_meant = valids[number].is_none_or(|valid| row.outputs[valid] != 0);
            let is_unknown = is_meant && !bits.bytes().all(|bit| bit == b'0' || bit == b'1');
            let is_other = bits
                .bytes()
                .zip(recorded.bytes())
                .any(|(bit, was)| (bit == b'0' || bit == b'1') && bit != was);
            for (kind, found) in [(false, is_unknown), (true, is_other)] {
                let place = || Place {
                    output: output.clone(),
                    cycle: row.cycle,
                    shown: bits.clone(),
                    recorded: recorded.clone(),
                    cycles: 0,
                };
                if found {
                    faults.entry((number, kind)).or_insert_with(place).cycles += 1;
                }
            }
        }
    }
    let fault = |((_, kind), place)| if kind { Fault::Other(place) } else { Fault::Unknown(place) };
    let mut faults: Vec<((usize, bool), Place)> = faults.into_iter().collect();
    faults.sort_by_key(|(_, place)| place.cycle);
    faults.into_iter().map(fault).collect()
}

#[test]
fn a_valid_qualifies_its_stream_and_its_deadline_and_nothing_else() {
    let outputs = [
        "tlp_rx_np_ready",
        "tx_valid",
        "tx_data",
        "tx_last",
        "tx_ready",
        "end_valid",
        "end",
        "rx_pause",
        "idle",
    ];
    let outputs = outputs.map(str::to_owned);
    let valid = |output: &str| valid_of(output, &outputs).map(|valid| outputs[valid].as_str());
    assert_eq!(
        [valid("tx_data"), valid("tx_last"), valid("end")],
        [Some("tx_valid"), Some("tx_valid"), Some("end_valid")]
    );
    for always in ["tlp_rx_np_ready", "tx_valid", "tx_ready", "end_valid", "rx_pause", "idle"] {
        assert_eq!(valid(always), None, "{always}");
    }
}
