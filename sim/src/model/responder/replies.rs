//! What a reliable VI sends back: acknowledgements, NAKs and the answers to RDMA reads, in the order of their requests.

use std::collections::VecDeque;

use viaduct_spec::wire::syndrome;

use crate::model::place::{Access, Place, Right};
use crate::model::psn;
use crate::model::tables::Rows;

/// A NAK with which a VI breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nak {
    /// Its PSN.
    pub psn: u32,
    /// Messages executed.
    pub msn: u32,
    /// What it says.
    pub syndrome: u8,
}

/// What is to be sent back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// An acknowledgement, or a NAK, with this syndrome.
    Acknowledge {
        /// Its PSN.
        psn: u32,
        /// Messages executed.
        msn: u32,
        /// What it says.
        syndrome: u8,
    },
    /// What is left of the answer to a read.
    Read {
        /// The read.
        read: Read,
        /// Messages executed.
        msn: u32,
        /// Packets of it that have left.
        done: u32,
    },
}

/// An RDMA read of the peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// Its first PSN.
    pub first: u32,
    /// Its PSNs.
    pub packets: u32,
    /// Where it begins.
    pub place: Place,
    /// Bytes.
    pub length: u64,
}

impl Read {
    /// The PSN behind its last.
    fn end(&self) -> u32 {
        psn::add(self.first, self.packets)
    }

    /// The access of its answer's packet of this number, and the packet's bytes.
    pub fn access(&self, number: u32, rows: &Rows<'_>) -> (Access, usize) {
        let mtu = rows.receive_mtu() as u64;
        let from = u64::from(number) * mtu;
        let span = self.length.saturating_sub(from);
        let (place, tag) = (self.place.plus(from), rows.receive_tag());
        (Access { place, span, tag, right: Right::RemoteRead }, span.min(mtu) as usize)
    }

    /// The PSN of its answer's packet of this number.
    pub fn psn(&self, number: u32) -> u32 {
        psn::add(self.first, number)
    }

    /// A read of so many packets from this PSN on lies within it.
    pub fn holds(&self, number: u32, packets: u64) -> bool {
        let from = psn::ahead(number, self.first);
        from < self.packets && u64::from(from) + packets <= u64::from(self.packets)
    }
}

/// What is to be sent back, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Replies(VecDeque<Reply>);

impl Replies {
    /// Nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Nothing is sent any more.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The next to be sent.
    pub fn next(&mut self) -> Option<Reply> {
        self.0.pop_front()
    }

    /// What is left of the one that was the next.
    pub fn put_back(&mut self, rest: Reply) {
        self.0.push_front(rest);
    }

    /// Reads of which some answer is not out.
    pub fn open_reads(&self) -> usize {
        self.0.iter().filter(|reply| matches!(reply, Reply::Read { .. })).count()
    }

    /// All of it, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Reply> {
        self.0.iter()
    }

    /// Takes the oldest `count` away.
    pub fn set_aside(&mut self, count: usize) -> Vec<Reply> {
        self.0.drain(..count.min(self.0.len())).collect()
    }

    /// Takes the oldest answer to a read away.
    pub fn take_read(&mut self) -> Option<Reply> {
        let at = self.0.iter().position(|reply| matches!(reply, Reply::Read { .. }))?;
        self.0.remove(at)
    }

    /// An acknowledgement or a NAK; `apart`: it stands for no other.
    pub fn acknowledge(&mut self, number: u32, msn: u32, syndrome: u8, apart: bool) {
        let new = Reply::Acknowledge { psn: number, msn, syndrome };
        match self.0.back().filter(|_| !apart) {
            // RSP-7: but not an ACK for a NAK.
            // The newer one stands for the older.
            Some(Reply::Acknowledge { syndrome: syndrome::ACK, psn, .. })
                if syndrome == syndrome::ACK && psn::later(number, *psn) == number =>
            {
                self.0.pop_back();
            }
            // Or is the same.
            Some(last) if *last == new => return,
            _ => {}
        }
        self.0.push_back(new);
    }

    /// The answer to a read.
    pub fn answer(&mut self, read: Read, msn: u32) {
        self.0.push_back(Reply::Read { read, msn, done: 0 });
    }

    /// A read was refused: no read behind it is answered.
    pub fn forget_reads(&mut self) {
        self.0.retain(|reply| !matches!(reply, Reply::Read { .. }));
    }

    /// A read is asked for again: what is left of its answer, and the reads behind it, are asked for again too.
    pub fn forget_behind(&mut self, number: u32) {
        let ends_behind = |read: &Read| (1..psn::HALF).contains(&psn::ahead(read.end(), number));
        self.0.retain(|reply| !matches!(reply, Reply::Read { read, .. } if ends_behind(read)));
    }
}
