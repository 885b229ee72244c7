//! The responder of a VI: what it receives, at either service, and what it sends back. Requests to a reliable VI are in `reliable`, to an
//! unreliable one in `unreliable`, and what their payload does in `payload`.
//!
//! ```text
//!   packet --> request --> reliable, unreliable --> payload --> effects: writes, completions
//!                                  |
//!                                  +--> replies --> answers --> effects: packets
//! ```

mod answers;
mod inbound;
mod payload;
mod reliable;
mod replies;
mod request;
mod unreliable;

use std::collections::VecDeque;

use viaduct_spec::tables::receive;
use viaduct_spec::wire::syndrome;

use super::choices::Choices;
use super::context::Context;
use super::protection::Protection;
use super::tables::Rows;
use inbound::Inbound;
use replies::{Nak, Read};

pub use replies::{Replies, Reply};
pub use request::Request;

/// See the module's description.
#[derive(Debug, Clone, Default)]
pub struct Responder {
    /// The PSN expected next.
    expected: u32,
    /// Messages executed.
    msn: u32,
    /// The message under way.
    inbound: Option<Inbound>,
    /// The expected PSN has been asked for, or refused for now, and has not come yet.
    asked: bool,
    /// The NAK with which the VI broke.
    last_nak: Option<Nak>,
    /// The newest reads, oldest first.
    reads: VecDeque<Read>,
    replies: Replies,
}

impl Responder {
    /// RECEIVE has been committed: the expected PSN.
    pub fn renew(&mut self, context: &Context<'_>) {
        // LIFE-2: what came for the VI is forgotten.
        let expected = context.rows.receive().get(receive::PSN) as u32;
        *self = Self { expected, ..Self::default() };
    }

    /// Something is to be sent back.
    pub fn has_reply(&self) -> bool {
        !self.replies.is_empty()
    }

    /// What is sent back next is read from memory, and not refused.
    pub fn reads_next(&self, rows: &Rows<'_>, protection: &Protection<'_>) -> bool {
        let Some(Reply::Read { read, done, .. }) = self.replies.iter().next() else { return false };
        let (access, length) = read.access(*done, rows);
        length != 0 && protection.grant(access, length).is_ok()
    }

    /// Nothing is sent back any more.
    pub fn silence(&mut self) {
        self.replies.clear();
        self.last_nak = None;
    }

    /// A request to a VI that broke: its last NAK again, if there is one.
    pub fn repeat_nak(&mut self, choices: &Choices) {
        // RSP-8: one that broke without a NAK says nothing.
        if let Some(Nak { psn, msn, syndrome }) = self.last_nak {
            self.replies.acknowledge(psn, msn, syndrome, choices.answers_apart);
        }
    }

    /// The receive of a message, whose last packet had this PSN, is complete, and its status `written` or not: then the VI has broken.
    /// `asks`: for an acknowledgement.
    pub fn delivered(&mut self, number: u32, written: bool, asks: bool, choices: &Choices) {
        if !written {
            // RSP-7: a status that cannot be written is a NAK_OPERATIONAL.
            self.break_with(self.nak(number, syndrome::NAK_OPERATIONAL), choices);
        } else if asks {
            self.reply(number, syndrome::ACK, choices);
        }
    }

    /// The message under way has a receive.
    pub fn has_receive(&self) -> bool {
        matches!(self.inbound, Some(Inbound::Send { .. } | Inbound::Write { receive: Some(_), .. }))
    }

    /// A NAK behind all that has been executed.
    fn nak(&self, psn: u32, syndrome: u8) -> Nak {
        Nak { psn, msn: self.msn, syndrome }
    }

    /// The NAK with which the VI breaks.
    fn break_with(&mut self, nak: Nak, choices: &Choices) {
        self.last_nak = Some(nak);
        self.repeat_nak(choices);
    }

    /// An acknowledgement or a NAK is to be sent.
    fn reply(&mut self, number: u32, syndrome: u8, choices: &Choices) {
        self.replies.acknowledge(number, self.msn, syndrome, choices.answers_apart);
    }

    /// Whether this is the NAK with which the VI broke.
    pub fn has_broken_with(&self, psn: u32, syndrome: u8) -> bool {
        self.last_nak.is_some_and(|nak| (nak.psn, nak.syndrome) == (psn, syndrome))
    }

    /// What is to be sent back.
    pub fn replies(&self) -> &Replies {
        &self.replies
    }

    /// The same, for who leads the model.
    pub fn replies_mut(&mut self) -> &mut Replies {
        &mut self.replies
    }
}
