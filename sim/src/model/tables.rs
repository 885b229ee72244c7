//! The tables' rows as they were committed, read by field.

use viaduct_spec::layout::Field;
use viaduct_spec::profile::{CQS, PAGES, REGIONS, VECTORS, VIS};
use viaduct_spec::tables::{gather, receive, service, table, transmit, vi_states, work_queue};

/// A row of up to three words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Row(pub [u64; 3]);

impl Row {
    /// A field of it.
    pub fn get(&self, field: Field) -> u64 {
        field.get(&self.0)
    }

    /// A field of one bit.
    pub fn is(&self, field: Field) -> bool {
        self.get(field) != 0
    }
}

/// Templates have this many rows for each VI.
pub const TEMPLATE_ROWS: usize = 8;

/// All tables but the VI states, which are kept with the virtual interfaces.
#[derive(Debug, Clone)]
pub struct Tables {
    /// Regions.
    pub region: Vec<Row>,
    /// Pages.
    pub page: Vec<Row>,
    /// Work queues: 2 x VI + (1 for the receive queue).
    pub work_queue: Vec<Row>,
    /// Header templates: 8 x VI + word.
    pub template: Vec<Row>,
    /// By VI.
    pub gather: Vec<Row>,
    /// By VI.
    pub transmit: Vec<Row>,
    /// By VI.
    pub receive: Vec<Row>,
    /// Completion queues.
    pub completion_queue: Vec<Row>,
    /// By vector.
    pub moderation: Vec<Row>,
}

impl Tables {
    /// All rows 0.
    pub fn new() -> Self {
        let rows = |count| vec![Row::default(); count];
        Self {
            region: rows(REGIONS),
            page: rows(PAGES),
            work_queue: rows(2 * VIS),
            template: rows(TEMPLATE_ROWS * VIS),
            gather: rows(VIS),
            transmit: rows(VIS),
            receive: rows(VIS),
            completion_queue: rows(CQS),
            moderation: rows(VECTORS),
        }
    }

    /// The table of this number, but for VI_STATE.
    pub fn get_mut(&mut self, number: u8) -> Option<&mut Vec<Row>> {
        Some(match number {
            table::REGION => &mut self.region,
            table::PAGE => &mut self.page,
            table::WORK_QUEUE => &mut self.work_queue,
            table::TEMPLATE => &mut self.template,
            table::GATHER => &mut self.gather,
            table::TRANSMIT => &mut self.transmit,
            table::RECEIVE => &mut self.receive,
            table::COMPLETION_QUEUE => &mut self.completion_queue,
            table::MODERATION => &mut self.moderation,
            _ => return None,
        })
    }

    /// Path MTU in bytes, from a field's code; codes that do not exist count as the largest.
    fn mtu(code: u64) -> usize {
        256 << code.min(4)
    }
}

/// Whether a service is reliable.
pub fn is_reliable(code: u8) -> bool {
    code == service::RELIABLE_DELIVERY || code == service::RELIABLE_RECEPTION
}

/// The rows of one VI.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    tables: &'a Tables,
    vi: usize,
}

impl<'a> Rows<'a> {
    /// Of this VI; there must be one.
    pub fn new(tables: &'a Tables, vi: usize) -> Self {
        Self { tables, vi }
    }

    /// GATHER.
    pub fn gather(&self) -> &'a Row {
        &self.tables.gather[self.vi]
    }

    /// TRANSMIT.
    pub fn transmit(&self) -> &'a Row {
        &self.tables.transmit[self.vi]
    }

    /// RECEIVE.
    pub fn receive(&self) -> &'a Row {
        &self.tables.receive[self.vi]
    }

    /// WORK_QUEUE, of the send or the receive queue.
    pub fn work_queue(&self, receive: bool) -> &'a Row {
        &self.tables.work_queue[2 * self.vi + usize::from(receive)]
    }

    /// The 64 bytes of the header template.
    pub fn template(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        let rows = self.tables.template.iter().skip(TEMPLATE_ROWS * self.vi);
        for (word, row) in bytes.chunks_exact_mut(8).zip(rows) {
            word.copy_from_slice(&row.0[0].to_le_bytes());
        }
        bytes
    }

    /// Service of what it sends. GATHER says it too; the two rows agree.
    pub fn send_service(&self) -> u8 {
        self.transmit().get(transmit::SERVICE) as u8
    }

    /// Whether what it sends is acknowledged.
    pub fn sends_reliably(&self) -> bool {
        is_reliable(self.send_service())
    }

    /// Path MTU of what it sends, in bytes.
    pub fn send_mtu(&self) -> usize {
        Tables::mtu(self.gather().get(gather::MTU))
    }

    /// Path MTU of what it receives, in bytes.
    pub fn receive_mtu(&self) -> usize {
        Tables::mtu(self.receive().get(receive::MTU))
    }

    /// Tag of the memory that messages come into.
    pub fn receive_tag(&self) -> u16 {
        self.receive().get(receive::TAG) as u16
    }

    /// Tag of a queue's descriptors.
    pub fn descriptor_tag(&self, receive: bool) -> u16 {
        self.work_queue(receive).get(work_queue::TAG) as u16
    }
}

/// A state that a VI can be in, as its number in the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ViState {
    /// Receives stay, sends are flushed.
    #[default]
    Idle,
    /// Both queues are processed.
    Connected,
    /// Everything is flushed.
    Error,
}

impl ViState {
    /// From a row; a number that is none of the states is idle.
    pub fn from_code(code: u64) -> Self {
        match code as u8 {
            vi_states::CONNECTED => Self::Connected,
            vi_states::ERROR => Self::Error,
            _ => Self::Idle,
        }
    }

    /// The number.
    pub fn code(self) -> u64 {
        u64::from(match self {
            Self::Idle => vi_states::IDLE,
            Self::Connected => vi_states::CONNECTED,
            Self::Error => vi_states::ERROR,
        })
    }
}
