//! Whose everything is: what a DMA address, a VI, a completion queue, a vector or a frame of a NIC belongs to.

use viaduct_sim::model::psn;
use viaduct_spec::handle::queue_pair;
use viaduct_spec::wire::{opcode, syndrome, BTH_BYTES, HEADER_BYTES};

use crate::memory::{self, DESCRIPTORS, SLICE};
use crate::operation::End;
use crate::program::{Program, SHARED};
use crate::rows::{self, CQS, ENTRY_BYTES};

/// Where BTH begins.
const BTH: usize = HEADER_BYTES - BTH_BYTES;

/// What lies at a DMA address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Room for data of an end's.
    Data(End),
    /// Descriptors of an end's.
    Descriptor(End),
    /// A completion queue's ring.
    Entry {
        /// The queue.
        queue: usize,
        /// The other of its two rings.
        other: bool,
        /// The slot.
        slot: u64,
        /// Bytes from the slot's beginning.
        within: u64,
    },
    /// Something else.
    Elsewhere,
}

/// What a frame is to the VI that sends or gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Destination.
    pub vi: usize,
    /// Its PSN.
    pub psn: u32,
    /// A response or an acknowledgement.
    pub answer: bool,
}

impl Header {
    /// Of a frame; `None` if it is too short to say.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let bth = frame.get(BTH..BTH + BTH_BYTES)?;
        let number = bth[5..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let answer = (opcode::RC_READ_RESPONSE_FIRST..=opcode::RC_ACKNOWLEDGE).contains(&bth[0]);
        let psn = bth[9..12].iter().fold(0, |psn, byte| psn << 8 | u32::from(*byte));
        Some(Self { psn, vi: queue_pair::VI.get(&[number]) as usize, answer })
    }
}

/// Whether a frame is of the answer to an RDMA read.
pub fn is_response(frame: &[u8]) -> bool {
    frame
        .get(BTH)
        .is_some_and(|code| (opcode::RC_READ_RESPONSE_FIRST..=opcode::RC_READ_RESPONSE_ONLY).contains(code))
}

/// Whether a frame is the last of an RDMA read's answer.
pub fn is_last_response(frame: &[u8]) -> bool {
    frame
        .get(BTH)
        .is_some_and(|code| (opcode::RC_READ_RESPONSE_LAST..=opcode::RC_READ_RESPONSE_ONLY).contains(code))
}

/// Whether a request lies at the PSN of an acknowledgement or behind it: what that says has been executed already.
pub fn is_duplicate(request: &[u8], acknowledgement: &[u8]) -> bool {
    let psns = Header::of(acknowledgement).zip(Header::of(request));
    psns.is_some_and(|(newest, asked)| psn::ahead(newest.psn, asked.psn) < psn::HALF)
}

/// Whether a frame asks for an RDMA read.
pub fn is_read(frame: &[u8]) -> bool {
    frame.get(BTH) == Some(&opcode::RC_READ_REQUEST)
}

/// Whether a frame is an acknowledgement that says no.
pub fn is_nak(frame: &[u8]) -> bool {
    let syndrome = frame.get(HEADER_BYTES).copied();
    frame.get(BTH) == Some(&opcode::RC_ACKNOWLEDGE) && syndrome.is_some_and(|code| code >= syndrome::RNR_NAK)
}

/// Whether a frame says that its VI breaks by what it answers.
pub fn is_refusal(frame: &[u8]) -> bool {
    is_nak(frame) && frame.get(HEADER_BYTES) != Some(&syndrome::NAK_SEQUENCE)
}

/// A frame in a few words.
pub fn describe(frame: &[u8]) -> String {
    match frame.get(BTH..BTH + BTH_BYTES) {
        None => format!("{} bytes", frame.len()),
        Some(bth) => {
            let psn = Header::of(frame).map_or(0, |header| header.psn);
            let rest = &frame[HEADER_BYTES..frame.len().min(HEADER_BYTES + 4)];
            format!("opcode {:#04x}, PSN {psn:#x}, {rest:02x?}, {} bytes", bth[0], frame.len())
        }
    }
}

/// The NIC whose trace is followed.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The program.
    pub program: &'a Program,
    /// Which NIC.
    pub nic: usize,
}

impl Places<'_> {
    /// Ends of the NIC's.
    pub fn ends(&self) -> Vec<End> {
        (0..2 * self.program.connections.len()).filter(|end| self.nic_of(*end) == self.nic).collect()
    }

    fn nic_of(&self, end: End) -> usize {
        self.program.connections[end / 2].nics[end % 2]
    }

    /// The VI of an end.
    pub fn vi(&self, end: End) -> usize {
        self.program.connections[end / 2].vis[end % 2]
    }

    /// Both ends are on this NIC.
    pub fn is_loopback(&self, end: End) -> bool {
        self.nic_of(end) == self.nic_of(end ^ 1)
    }

    /// The end that a VI is.
    pub fn end_of(&self, vi: usize) -> Option<End> {
        self.ends().into_iter().find(|end| self.vi(*end) == vi)
    }

    /// The end that sends to a VI: of this NIC, by loopback, or of the other one.
    pub fn sender_to(&self, vi: usize, loopback: bool) -> Option<End> {
        self.ends().into_iter().find(|end| self.is_loopback(*end) == loopback && self.vi(end ^ 1) == vi)
    }

    /// The end whose alone a completion queue is.
    pub fn owner(&self, queue: usize) -> Option<End> {
        queue.checked_sub(1 + SHARED).map(|number| number / 2)
    }

    /// What lies at an address.
    pub fn place(&self, address: u64) -> Place {
        let Some(offset) = address.checked_sub(memory::FIRST[self.nic]) else { return Place::Elsewhere };
        let Some(arena) = offset.checked_sub(memory::ENDS * u64::from(SLICE)) else {
            let (end, within) = ((offset / u64::from(SLICE)) as End, (offset % u64::from(SLICE)) as u32);
            let scattered = self.program.connections.get(end / 2).is_some_and(|made| made.scattered);
            return match memory::in_slice(scattered, within) >= DESCRIPTORS {
                true => Place::Descriptor(end),
                false => Place::Data(end),
            };
        };
        for queue in 0..CQS {
            for other in [false, true] {
                if other && queue > SHARED {
                    continue;
                }
                let first = rows::cq_ring(queue, other);
                let length = ENTRY_BYTES << rows::cq_log2(queue, other);
                if (first..first + length).contains(&arena) {
                    let within = arena - first;
                    let (slot, within) = (within / ENTRY_BYTES, within % ENTRY_BYTES);
                    return Place::Entry { queue, other, slot, within };
                }
            }
        }
        Place::Elsewhere
    }
}
