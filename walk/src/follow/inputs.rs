//! What a VI is given: what its host says, and the frames that come for it, each in their order.

use viaduct_driver::device::Bar;
use viaduct_sim::watch::Seen;
use viaduct_spec::doorbell::cq_page;
use viaduct_spec::profile::{DOORBELL_SHIFT, VIS};
use viaduct_spec::register::{command, command_op, registers, state, MSIX_TABLE};
use viaduct_spec::tables::table;

use super::places::{Header, Places};
use crate::memory::{PAGES, SLOTS};
use crate::operation::End;
use crate::program::SHARED;
use crate::trace::{Trace, What};

/// Cycles after which a doorbell has been heard: a frame that comes later meets what it tells of (docs/simulation.md).
const DOORBELL_CYCLES: u64 = 2048;

/// A store to the NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Store {
    /// To this BAR.
    pub bar: Bar,
    /// Byte offset.
    pub offset: u64,
    /// Bytes.
    pub length: usize,
    /// What is stored.
    pub value: u64,
}

/// What the host says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Stores that belong together.
    Stores(Vec<Store>),
    /// Bus Master.
    Master(bool),
    /// MSI-X.
    Msix(bool),
    /// The consumer of a completion queue that many VIs share has taken what there was.
    Taken(usize),
    /// It has asked for a VI's state, and was told this.
    Queried(usize, u64),
    /// It has seen that all accesses are done which were under way.
    Drained,
}

/// Something that the host says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The moment in which it has come.
    pub at: usize,
    /// Its cycle.
    pub cycle: u64,
    /// The moment by which it has taken effect.
    pub by: usize,
    /// Who hears it; everyone if nobody is named.
    pub end: Option<End>,
    /// What the host, the bus or the wire has said.
    pub said: Said,
    /// It begins a VI's life: nothing of the life before is seen after `by`.
    pub renews: bool,
}

/// A frame that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// The moment.
    pub at: usize,
    /// Its cycle.
    pub cycle: u64,
    /// For this end.
    pub end: End,
    /// An answer.
    pub answer: bool,
    /// The frame.
    pub frame: Vec<u8>,
    /// Its FCS was wrong.
    pub damaged: bool,
}

/// What has come to a NIC from one reset to the next.
#[derive(Debug, Default)]
pub struct Inputs {
    /// From the host.
    pub host: Vec<Given>,
    /// Frames.
    pub frames: Vec<Arrived>,
}

/// Reads the host's side of a trace.
pub struct Reader<'a> {
    places: Places<'a>,
    trace: &'a Trace,
    stage: [Option<Store>; 3],
    /// Stores to the MSI-X table: an agent's reset leaves it.
    table: Vec<Store>,
    /// Bus Master and MSI-X.
    bus: [bool; 2],
}

impl<'a> Reader<'a> {
    /// Of a NIC's trace.
    pub fn new(places: Places<'a>, trace: &'a Trace) -> Self {
        Self { places, trace, stage: [None; 3], table: Vec::new(), bus: [false; 2] }
    }

    /// What the host says in these moments, and the frames that come in those.
    pub fn read(&mut self, moments: std::ops::Range<usize>, comes: std::ops::Range<usize>) -> Inputs {
        let mut inputs = Inputs::default();
        let kept = std::mem::take(&mut self.table);
        for store in kept.into_iter().filter(|_| !moments.is_empty()) {
            self.store(moments.start, store, &mut inputs);
        }
        let cycle = self.trace.moments.get(moments.start).map_or(0, |moment| moment.cycle);
        for said in [Said::Master(self.bus[0]), Said::Msix(self.bus[1])] {
            let at = moments.start;
            inputs.host.push(Given { at, cycle, by: at, end: None, said, renews: false });
        }
        for at in moments.clone() {
            let cycle = self.trace.moments[at].cycle;
            let given = |said| Given { at, cycle, by: at, end: None, said, renews: false };
            match &self.trace.moments[at].what {
                What::Seen(Seen::Store { bar, offset, length, value }) => {
                    let store = Store { bar: *bar, offset: *offset, length: *length, value: *value };
                    self.store(at, store, &mut inputs);
                }
                What::Seen(Seen::Master(master)) => {
                    self.bus[0] = *master;
                    inputs.host.push(given(Said::Master(*master)));
                }
                What::Seen(Seen::Msix(enabled)) => {
                    self.bus[1] = *enabled;
                    inputs.host.push(given(Said::Msix(*enabled)));
                }
                _ => {}
            }
        }
        for at in comes {
            let cycle = self.trace.moments[at].cycle;
            let (data, damaged) = match &self.trace.moments[at].what {
                What::Seen(Seen::FrameIn { data, damaged }) => (data, *damaged),
                What::Seen(Seen::Loopback { data, .. }) => (data, false),
                _ => continue,
            };
            let Some(header) = Header::of(data) else { continue };
            let Some(end) = self.places.end_of(header.vi) else { continue };
            let (frame, answer) = (data.clone(), header.answer);
            inputs.frames.push(Arrived { at, cycle, end, answer, frame, damaged });
        }
        let mut by = usize::MAX;
        for given in inputs.host.iter_mut().rev() {
            by = by.min(given.by);
            given.by = by;
        }
        inputs
    }

    /// The moment of the first answer of a register that holds what is wanted, and the answer.
    fn answered(&self, at: usize, register: u64, wanted: impl Fn(u64) -> bool) -> Option<(usize, u64)> {
        let behind = self.trace.moments.iter().enumerate().skip(at);
        behind
            .filter_map(|(at, moment)| match moment.what {
                What::Seen(Seen::Load { bar: Bar::Registers, offset, value, .. }) if offset == register => {
                    Some((at, value))
                }
                _ => None,
            })
            .find(|(_, value)| wanted(*value))
    }

    fn store(&mut self, at: usize, store: Store, inputs: &mut Inputs) {
        let cycle = self.trace.moments[at].cycle;
        let by = self.trace.after(at, DOORBELL_CYCLES);
        let mut give = |end, said| {
            inputs.host.push(Given { at, cycle, by, end, said, renews: false });
        };
        match (store.bar, store.offset) {
            (Bar::Doorbells, offset) => {
                let page = (offset >> DOORBELL_SHIFT) as usize;
                let within = offset & ((1 << DOORBELL_SHIFT) - 1);
                match page.checked_sub(VIS) {
                    None => {
                        if let Some(end) = self.places.end_of(page) {
                            give(Some(end), Said::Stores(vec![store]));
                        }
                    }
                    Some(queue) if queue <= SHARED && within == cq_page::INDEX => {
                        give(None, Said::Taken(queue));
                    }
                    Some(queue) => give(self.places.owner(queue), Said::Stores(vec![store])),
                }
            }
            (_, offset) if offset >= MSIX_TABLE => {
                self.table.push(store);
                give(None, Said::Stores(vec![store]));
            }
            (_, registers::STAGE0) => self.stage[0] = Some(store),
            (_, registers::STAGE1) => self.stage[1] = Some(store),
            (_, registers::STAGE2) => self.stage[2] = Some(store),
            (_, registers::COMMAND) => self.command(at, store, inputs),
            _ => give(None, Said::Stores(vec![store])),
        }
    }

    fn command(&mut self, at: usize, store: Store, inputs: &mut Inputs) {
        let word = [store.value];
        let op = command::OP.get(&word) as u8;
        let (number, row) = (command::TABLE.get(&word) as u8, command::ROW.get(&word) as usize);
        let region = |region: usize| region.checked_sub(2).map(|number| number / SLOTS);
        let end = match number {
            table::REGION => region(row),
            table::PAGE => region(row / PAGES as usize),
            table::WORK_QUEUE => self.places.end_of(row / 2),
            table::TEMPLATE => self.places.end_of(row / 8),
            table::COMPLETION_QUEUE => self.places.owner(row),
            table::GATHER | table::TRANSMIT | table::RECEIVE | table::VI_STATE => self.places.end_of(row),
            _ => None,
        };
        let idle = |word: u64| state::COMMAND_BUSY.get(&[word]) == 0;
        let ended = self.answered(at, registers::STATE, idle);
        let by = ended.map_or(usize::MAX, |(at, _)| at);
        let said = match op {
            command_op::COMMIT => {
                let stores = self.stage.iter().flatten().copied().chain([store]);
                Said::Stores(stores.collect())
            }
            command_op::QUERY => {
                let told = ended.and_then(|(at, _)| self.answered(at, registers::RESULT, |_| true));
                match told {
                    Some((_, state)) => Said::Queried(row, state),
                    None => return,
                }
            }
            _ => Said::Drained,
        };
        let renews = op == command_op::COMMIT && matches!(number, table::TRANSMIT | table::RECEIVE);
        let cycle = self.trace.moments[at].cycle;
        inputs.host.push(Given { at, cycle, by, end, said, renews });
    }
}
