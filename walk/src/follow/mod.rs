//! Follows the trace of a NIC with one model: the same goes in, and what the specification leaves open is what the NIC was seen to choose. Then
//! all that the model lets out is all that the NIC let out, byte by byte and in its order, or the NIC is wrong.
//!
//! ```text
//!   trace --+--> inputs ----> steps --> model --> state: matched with --+
//!           |                   ^                                       |
//!           +--> outputs -------+------------ search <------------------+
//!           +--> history: memory, for what the model reads
//! ```

mod answers;
mod end_trace;
mod hear;
mod history;
mod host;
mod inputs;
mod outputs;
mod places;
mod reached;
mod rings;
mod search;
mod state;
mod steps;
mod unheard;

use std::ops::Range;
use std::sync::Arc;

use viaduct_driver::device::Bar;
use viaduct_sim::watch::Seen;
use viaduct_spec::register::{control, registers, state as shown};

use crate::program::Program;
use crate::trace::{Moment, Trace, What};
use end_trace::EndTrace;
use history::History;
use inputs::Reader;
use outputs::Outputs;
use places::Places;
use rings::Rings;
use search::Search;

/// Whether a moment is the reset of a NIC.
fn is_reset(what: &What) -> bool {
    match what {
        What::Seen(Seen::FunctionReset) => true,
        What::Seen(Seen::Store { bar: Bar::Registers, offset: registers::CONTROL, value, .. }) => {
            control::RESET.get(&[*value]) != 0
        }
        _ => false,
    }
}

/// Whether the NIC says that its tables are clear.
fn is_ready(what: &What) -> bool {
    match what {
        What::Seen(Seen::Load { bar: Bar::Registers, offset: registers::STATE, value, .. }) => {
            shown::COMMAND_BUSY.get(&[*value]) == 0
        }
        _ => false,
    }
}

/// Follows the trace of NIC `nic` through a program; the error says what no schedule of the model does.
pub fn follow(program: &Program, nic: usize, trace: &Trace) -> Result<(), String> {
    let places = Places { program, nic };
    let history = Arc::new(History::new(nic, trace));
    let mut reader = Reader::new(places, trace);
    let resets = trace.moments.iter().enumerate().filter(|(_, moment)| is_reset(&moment.what));
    let mut starts: Vec<usize> = resets.map(|(at, _)| at).collect();
    let mut begins = 0;
    starts.push(trace.moments.len());
    let mut left = 0;
    for end in starts {
        // Until the NIC says that its reset has ended, what was on its way leaves, and a frame that comes may still be heard.
        let asked = trace.moments.iter().skip(end).take_while(|moment| !is_ready(&moment.what)).count();
        let moments = Moments { said: begins..end, comes: begins..end + asked, leaves: left..end + asked };
        let cut = end < trace.moments.len();
        epoch(places, trace, &mut reader, &history, moments, cut)?;
        (begins, left) = (end + 1, end + asked);
    }
    Ok(())
}

/// Of what is from one reset to the next: in which moments the host said it, in which frames came, in which things left.
struct Moments {
    said: Range<usize>,
    comes: Range<usize>,
    leaves: Range<usize>,
}

/// From one reset to the next.
fn epoch<'a>(
    places: Places<'a>,
    trace: &Trace,
    reader: &mut Reader<'a>,
    history: &Arc<History>,
    moments: Moments,
    cut: bool,
) -> Result<(), String> {
    let mut rings = Rings::new(trace, moments.said.clone());
    let inputs = reader.read(moments.said, moments.comes);
    let mut outputs = Outputs::read(&places, trace, moments.leaves, &mut rings)?;
    if !cut {
        rings.end()?;
    }
    let cycles: Arc<[u64]> = trace.moments.iter().map(|moment| moment.cycle).collect();
    for end in places.ends() {
        let own = EndTrace::new(places, end, &inputs, &mut outputs, history, &cycles, cut);
        let mut search = Search::new(&own);
        if let Err(why) = search.run() {
            let around = search.stopped().map_or(String::new(), |at| excerpt(trace, at));
            return Err(format!("end {end}: {why}{around}"));
        }
    }
    Ok(())
}

/// What the NIC did just before a moment, and a little behind it.
fn excerpt(trace: &Trace, at: usize) -> String {
    let around = at.saturating_sub(16)..(at + 16).min(trace.moments.len());
    let lines = around.map(|number| {
        let mark = if number == at { '>' } else { ' ' };
        format!("{mark} {}\n", line(&trace.moments[number]))
    });
    lines.collect()
}

/// A moment in words.
pub fn line(moment: &Moment) -> String {
    let what = match &moment.what {
        What::Host(address, data) => format!("host writes {} bytes at {address:#x}", data.len()),
        What::Seen(Seen::FrameIn { data, damaged }) => {
            format!("frame in{}: {}", if *damaged { ", damaged" } else { "" }, places::describe(data))
        }
        What::Seen(Seen::FrameOut { data, .. }) => format!("frame out: {}", places::describe(data)),
        What::Seen(Seen::Loopback { data, .. }) => format!("frame round: {}", places::describe(data)),
        What::Seen(Seen::Read { address, data }) => format!("{} bytes read at {address:#x}", data.len()),
        What::Seen(Seen::Write { address, data }) => {
            let some = &data[..data.len().min(16)];
            format!("{} bytes written at {address:#x}: {some:02x?}", data.len())
        }
        What::Seen(seen) => format!("{seen:x?}"),
    };
    format!("cycle {}: {what}", moment.cycle)
}
