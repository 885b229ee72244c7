//! What is followed by itself: what came to one end of a connection and what it let out, from one reset to the next. Ends have nothing to do
//! with each other but the order of entries in a completion queue, which [`rings`](super::rings) look at.

use std::collections::HashMap;
use std::sync::Arc;

use super::history::History;
use super::inputs::{Arrived, Given, Inputs};
use super::outputs::{OfEnd, Outputs, Written};
use super::places::Places;
use crate::operation::End;

/// See the module's description.
#[derive(Debug)]
pub struct EndTrace<'a> {
    /// Whose everything is.
    pub places: Places<'a>,
    /// The end.
    pub end: End,
    /// Its VI.
    pub vi: usize,
    /// The service of its connection.
    pub service: u8,
    /// What the host says to it.
    pub host: Vec<Given>,
    /// Frames for it: requests, and answers.
    pub frames: [Vec<Arrived>; 2],
    /// What it lets out.
    pub outputs: OfEnd,
    /// What it writes.
    pub written: Vec<Written>,
    /// Writes that touch each 64 bytes of memory.
    touching: HashMap<u64, Vec<u32>>,
    /// Bytes that it has written.
    pub bytes: usize,
    /// Memory.
    pub history: Arc<History>,
    /// The cycle of each moment.
    pub cycles: Arc<[u64]>,
    /// A reset ends it, wherever it was.
    pub cut: bool,
}

impl<'a> EndTrace<'a> {
    /// Takes what is an end's.
    pub fn new(
        places: Places<'a>,
        end: End,
        inputs: &Inputs,
        outputs: &mut Outputs,
        history: &Arc<History>,
        cycles: &Arc<[u64]>,
        cut: bool,
    ) -> Self {
        let (outputs, written) = outputs.of(&places, end);
        let host = inputs.host.iter().filter(|given| given.end.is_none_or(|owner| owner == end));
        let frames = [false, true].map(|answer| {
            let own = inputs.frames.iter().filter(|arrived| arrived.end == end && arrived.answer == answer);
            own.cloned().collect()
        });
        let mut touching: HashMap<u64, Vec<u32>> = HashMap::new();
        for (number, written) in (0..).zip(&written) {
            let last = written.address + (written.data.len() as u64).max(1) - 1;
            for block in written.address >> 6..=last >> 6 {
                touching.entry(block).or_default().push(number);
            }
        }
        Self {
            end,
            vi: places.vi(end),
            service: places.program.connections[end / 2].service,
            places,
            host: host.cloned().collect(),
            frames,
            outputs,
            touching,
            bytes: written.iter().map(|written| written.data.len()).sum(),
            written,
            history: history.clone(),
            cycles: cycles.clone(),
            cut,
        }
    }

    /// The cycle of a moment, in words.
    pub fn when(&self, at: usize) -> String {
        self.cycles.get(at).map_or("cut off by the reset".into(), |cycle| format!("cycle {cycle}"))
    }

    /// Something was ahead of what it follows, tells of or comes of: that, and the cycle of each.
    pub fn too_early(&self, at: usize, what: &str, cause: &str, behind: usize) -> String {
        format!("{}: {what} ahead of {cause}, {}", self.when(at), self.when(behind))
    }

    /// Writes that may touch a byte, in their order.
    pub fn touching(&self, address: u64) -> impl Iterator<Item = &Written> {
        let found = self.touching.get(&(address >> 6)).into_iter().flatten();
        found.map(|number| &self.written[*number as usize])
    }
}
