//! Ends of a NIC that are followed together: one, or the two ends of a loopback connection. Others have nothing to do with them but the order
//! of entries in a completion queue, which [`rings`](super::rings) look at.

use std::collections::HashMap;
use std::sync::Arc;

use super::history::History;
use super::inputs::{Arrived, Given, Inputs};
use super::outputs::{Outputs, Written};
use super::places::Places;
use crate::operation::End;

/// See the module's description.
#[derive(Debug)]
pub struct Group<'a> {
    /// Whose everything is.
    pub places: Places<'a>,
    /// The ends.
    pub ends: Vec<End>,
    /// Frames turn round in the NIC and are not seen.
    pub loopback: bool,
    /// What the host says to them.
    pub host: Vec<Given>,
    /// Frames for each end: requests, and answers.
    pub frames: HashMap<End, [Vec<Arrived>; 2]>,
    /// What they let out.
    pub outputs: Outputs,
    /// Writes that touch each 64 bytes of memory.
    touching: HashMap<u64, Vec<u32>>,
    /// Bytes that they have written.
    pub bytes: usize,
    /// Memory.
    pub history: Arc<History>,
    /// The cycle of each moment.
    pub cycles: Arc<[u64]>,
    /// A reset ends it, wherever it was.
    pub cut: bool,
}

impl<'a> Group<'a> {
    /// Takes what is theirs.
    pub fn new(
        places: Places<'a>,
        ends: Vec<End>,
        inputs: &Inputs,
        outputs: &mut Outputs,
        history: &Arc<History>,
        cycles: &Arc<[u64]>,
        cut: bool,
    ) -> Self {
        let outputs = outputs.of(&places, &ends);
        let host = inputs.host.iter().filter(|given| given.end.is_none_or(|end| ends.contains(&end)));
        let mut frames: HashMap<End, [Vec<Arrived>; 2]> = HashMap::new();
        for arrived in &inputs.frames {
            if ends.contains(&arrived.end) {
                frames.entry(arrived.end).or_default()[usize::from(arrived.answer)].push(arrived.clone());
            }
        }
        for end in &ends {
            frames.entry(*end).or_default();
        }
        let mut touching: HashMap<u64, Vec<u32>> = HashMap::new();
        for (number, written) in (0..).zip(&outputs.written) {
            let last = written.address + (written.data.len() as u64).max(1) - 1;
            for block in written.address >> 6..=last >> 6 {
                touching.entry(block).or_default().push(number);
            }
        }
        let bytes = outputs.written.iter().map(|written| written.data.len()).sum();
        Self {
            loopback: places.is_loopback(ends[0]),
            host: host.cloned().collect(),
            places,
            ends,
            frames,
            outputs,
            touching,
            bytes,
            history: history.clone(),
            cycles: cycles.clone(),
            cut,
        }
    }

    /// The service of an end's connection.
    pub fn service(&self, end: End) -> u8 {
        self.places.program.connections[end / 2].service
    }

    /// Writes that may touch a byte, in their order.
    pub fn touching(&self, address: u64) -> impl Iterator<Item = &Written> {
        let found = self.touching.get(&(address >> 6)).into_iter().flatten();
        found.map(|number| &self.outputs.written[*number as usize])
    }
}
