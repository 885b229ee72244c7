//! What the NIC reports beside completions.

use viaduct_spec::{layout::Code, register::event_code};

/// Something that no descriptor can report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Event {
    /// One of `register::event_code`.
    pub code: u8,
    /// Index of the VI; of the completion queue, if the code is CQ_OVERRUN.
    pub vi: u16,
    /// Which one of those that have had this index: its name's life.
    pub life: u64,
    /// The receive queue; else the send queue.
    pub receive: bool,
    /// The VI went into Error because of it.
    pub broke: bool,
}

impl Event {
    /// Its entry in the specification: name and meaning.
    pub fn meaning(&self) -> Option<&'static Code> {
        static CODES: &[Code] = event_code::CODES.codes;
        CODES.iter().find(|code| code.value == u64::from(self.code))
    }
}
