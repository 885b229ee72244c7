//! How far the model has come with a trace, by counts and moments.

use std::collections::VecDeque;

use viaduct_sim::model::Pending;

/// What an answer acknowledges, by its last moments.
#[derive(Debug, Clone, Copy, Default, Hash)]
pub struct Owed {
    /// Of data.
    pub data: usize,
    /// Of a receive that is complete without an error.
    pub received: usize,
    /// When the frame came that is answered.
    pub came: usize,
}

/// See the module's description.
#[derive(Debug, Clone, Default, Hash)]
pub struct Reached {
    /// Frames taken: requests, and answers.
    pub taken: [usize; 2],
    /// Frames made: requests, and answers.
    pub made: [usize; 2],
    /// Entries of each queue.
    pub entries: [usize; 2],
    /// Events: the VI's, and its completion queues'.
    pub events: [usize; 2],
    /// The VI's event behind the next one is explained already: that of a packet refused before the VI broke.
    pub overtaken: bool,
    /// Interrupts.
    pub interrupts: usize,
    /// The moment of the last status of each queue.
    pub status: [usize; 2],
    /// The moment of the last receive that is complete without an error: an answer acknowledges it, and not those that a break flushes.
    pub received: usize,
    /// Those of all statuses of each queue since it was made.
    pub done: [Vec<usize>; 2],
    /// The last moment of data: of its requests, and of its peer's.
    pub data: [usize; 2],
    /// When the last answer came by which a time ended that was over.
    pub lapsed: Option<u64>,
    /// For each answer taken, the last moment of data that answers had brought by then.
    pub brought: Vec<usize>,
    /// The moment of the last immediate data in a descriptor.
    pub immediate: usize,
    /// That of a read's which goes on when its VI breaks: what ends before that read does not wait for it.
    pub late: usize,
    /// For each answer that waits.
    pub owes: VecDeque<Owed>,
    /// Which status of each queue an interrupt is to tell of, by its place among those in `done`.
    pub status_asked: [Option<usize>; 2],
    /// Which entry of each of the VI's own completion queues.
    pub entry_asked: [Option<usize>; 2],
    /// The last acknowledgement or NAK that left, and the moment.
    pub said: Option<(usize, Pending)>,
    /// How many older ones that stood for, each of which may still leave with the same words.
    pub stood_for: usize,
    /// How often it has left again since.
    pub repeated: usize,
    /// Requests that had been taken when the VI broke.
    pub broke: Option<usize>,
    /// Acknowledgements at the head of the answers that another stands for.
    pub passed: usize,
}
