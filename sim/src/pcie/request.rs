//! What the platform asks of the function's configuration space, and what it must be answered.

use viaduct_link::tlp::Tlp;
use viaduct_spec::tlp::completion_status::SUCCESS;

/// The root port, which asks in the platform's name.
pub const ROOT_PORT: u16 = 0x0008;

const READ: u32 = 0x0400_0001;
const WRITE: u32 = 0x4400_0001;
const COMPLETION: u32 = 0x0A;
/// Set_Slot_Power_Limit, with 25 W: the first packet that a function hears.
pub const SLOT_POWER: [u32; 5] = [0x7400_0001, u32::from_be_bytes([0, ROOT_PORT as u8, 0, 0x50]), 0, 0, 0xFA];

/// A configuration request of a whole double word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Bus, device and function that it is to.
    pub id: u16,
    /// The double word.
    pub offset: u16,
    /// What is written; `None` reads.
    pub write: Option<u32>,
    /// What a read must give, and which of its bits count.
    pub expected: Option<(u32, u32)>,
}

impl Request {
    /// A write.
    pub fn write(id: u16, offset: u16, value: u32) -> Self {
        Self { id, offset, write: Some(value), expected: None }
    }

    /// A read, which must give this where `sure` is 1.
    pub fn read(id: u16, offset: u16, value: u32, sure: u32) -> Self {
        Self { id, offset, write: None, expected: Some((value, sure)) }
    }

    /// As the root port sends it.
    pub fn tlp(&self, tag: u8) -> Tlp {
        let header = [
            if self.write.is_some() { WRITE } else { READ },
            u32::from(ROOT_PORT) << 16 | u32::from(tag) << 8 | 0xF,
            u32::from(self.id) << 16 | u32::from(self.offset),
        ];
        header.into_iter().chain(self.write).collect()
    }

    /// Whether this is its answer, as it must be from a function that has heard its number in a write; if not, why not.
    pub fn answered(&self, answer: &Answer, function: u16) -> Result<(), String> {
        let Answer { status, completer, data, .. } = *answer;
        let shape = status == SUCCESS && data.is_some() == self.write.is_none();
        let value = match (self.expected, data) {
            (Some((value, sure)), Some(data)) => (data ^ value) & sure == 0,
            _ => true,
        };
        if shape && value && completer == function {
            return Ok(());
        }
        Err(format!("{self:x?} is answered by {answer:x?}, and the function is {function:x}"))
    }
}

/// A completion for the root port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Of the request.
    pub tag: u8,
    status: u8,
    completer: u16,
    data: Option<u32>,
}

impl Answer {
    /// What a packet is, if it is one.
    pub fn of(tlp: &[u32]) -> Option<Self> {
        let &[first, second, third, ..] = tlp else { return None };
        let ours = first >> 24 & 0x1F == COMPLETION && third >> 16 == u32::from(ROOT_PORT);
        ours.then(|| Self {
            tag: (third >> 8) as u8,
            status: (second >> 13 & 7) as u8,
            completer: (second >> 16) as u16,
            data: tlp.get(3).copied(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_of_the_function_and_says_what_is_expected() {
        let read = Request::read(0x100, 4, 0x0010_0000, 0xFFFF_0000);
        assert_eq!(read.tlp(3), [0x0400_0001, 0x0008_030F, 0x0100_0004]);
        assert_eq!(Request::write(0x100, 4, 6).tlp(0)[..], [0x4400_0001, 0x0008_000F, 0x0100_0004, 6]);
        let good = [0x4A00_0001, 0x0100_0004, 0x0008_0300, 0x0010_0006];
        assert_eq!(read.answered(&Answer::of(&good).unwrap(), 0x100), Ok(()));
        assert_eq!(Answer::of(&good).unwrap().tag, 3);
        for (word, flip) in [(1, 1 << 13), (1, 1 << 16), (3, 1 << 20)] {
            let mut bad = good;
            bad[word] ^= flip;
            assert!(read.answered(&Answer::of(&bad).unwrap(), 0x100).is_err(), "{bad:x?}");
        }
        assert!(read.answered(&Answer::of(&good[..3]).unwrap(), 0x100).is_err(), "without data");
        let host = [0x4A00_0001, 0x0100_0004, 0x0000_0300, 0];
        assert_eq!(Answer::of(&host), None, "the host bridge's");
        assert_eq!(Answer::of(&[0x4A00_0001]), None);
    }
}
