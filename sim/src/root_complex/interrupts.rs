//! Interrupts: eventfds for the NIC's MSI-X vectors, in the place of the host's interrupt
//! controller, and the NIC's table as the host's kernel would write it.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd;

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use viaduct_driver::device::Bar;
use viaduct_spec::profile::VECTORS;
use viaduct_spec::register::MSIX_TABLE;

use super::host::Access;
use crate::memory::INTERRUPTS;
use crate::tlp::Request;

/// Bytes of a row of the table: address 8, data 4, control 4.
const ROW_BYTES: u64 = 16;
/// Bit of control: the vector is masked.
const MASKED: u32 = 1;

/// A 4-byte store to the table.
pub type TableStore = (Access, u64);

/// The eventfds.
#[derive(Debug, Default)]
pub struct Interrupts {
    vectors: [Option<File>; VECTORS],
}

impl Interrupts {
    /// Gives vectors from `start` on an eventfd each, or takes it away; gives back the stores that
    /// make the table say so. Vectors that do not exist are ignored.
    pub fn set(&mut self, start: usize, eventfds: Vec<Option<File>>) -> Vec<TableStore> {
        let mut stores = Vec::new();
        for (vector, eventfd) in (start..VECTORS).zip(eventfds) {
            stores.extend(row(vector, eventfd.is_some()));
            self.vectors[vector] = eventfd;
        }
        stores
    }

    /// The stores that bring the table back after a reset, as Linux restores it.
    pub fn restore(&self) -> Vec<TableStore> {
        let set = (0..VECTORS).filter(|&vector| self.vectors[vector].is_some());
        set.flat_map(|vector| row(vector, true)).collect()
    }

    /// Some vector has an eventfd.
    pub fn enabled(&self) -> bool {
        self.vectors.iter().any(Option::is_some)
    }

    /// Raises a vector, if it has an eventfd. One that is full would block us, and is raised already.
    pub fn raise(&self, vector: usize) {
        let Some(Some(eventfd)) = self.vectors.get(vector) else { return };
        let mut ready = [PollFd::from_borrowed_fd(eventfd.as_fd(), PollFlags::OUT)];
        if poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1) {
            let mut eventfd = eventfd;
            if let Err(error) = eventfd.write_all(&1u64.to_ne_bytes()) {
                tracing::warn!(vector, %error, "an interrupt was not delivered");
            }
        }
    }
}

/// Whether the MSI-X table is at this offset of BAR 0; the pending bits are not meant.
pub fn in_table(access: &Access) -> bool {
    let table = MSIX_TABLE..MSIX_TABLE + VECTORS as u64 * ROW_BYTES;
    access.bar() == Bar::Registers && table.contains(&access.offset())
}

/// Whether a write is to the addresses of interrupts.
pub fn is_interrupt(request: &Request) -> bool {
    let end = request.address + (request.length as u64 * 4 - 1);
    request.address <= *INTERRUPTS.end() && end >= *INTERRUPTS.start()
}

/// The vector of an interrupt message: one whole double word with a number that exists.
pub fn vector(request: &Request, data: &[u32]) -> Option<usize> {
    let whole = request.length == 1 && request.first_be == 0xF;
    data.first().map(|&number| number as usize).filter(|&number| whole && number < VECTORS)
}

/// The stores for a row: masked while it changes, as Linux writes it.
fn row(vector: usize, unmasked: bool) -> Vec<TableStore> {
    let at = MSIX_TABLE + vector as u64 * ROW_BYTES;
    let mut words = vec![(12, MASKED)];
    if unmasked {
        let address = *INTERRUPTS.start();
        words.extend([(0, address as u32), (4, (address >> 32) as u32), (8, vector as u32), (12, 0)]);
    }
    let store = |(offset, value): (u64, u32)| {
        Access::new(Bar::Registers, at + offset, 4).map(|access| (access, u64::from(value)))
    };
    words.into_iter().filter_map(store).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eventfd() -> File {
        File::from(rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).unwrap())
    }

    fn values(stores: &[TableStore]) -> Vec<(u64, u64)> {
        stores.iter().map(|(access, value)| (access.offset(), *value)).collect()
    }

    #[test]
    fn a_row_is_masked_while_it_changes() {
        let mut interrupts = Interrupts::default();
        let stores = interrupts.set(2, vec![Some(eventfd())]);
        let expected = [(0x802C, 1), (0x8020, 0xFEE0_0000), (0x8024, 0), (0x8028, 2), (0x802C, 0)];
        assert_eq!(values(&stores), expected);
        assert!(interrupts.enabled());
        assert_eq!(values(&interrupts.restore()), expected);
        assert_eq!(values(&interrupts.set(2, vec![None])), [(0x802C, 1)]);
        assert!(!interrupts.enabled() && interrupts.restore().is_empty());
        assert!(interrupts.set(VECTORS, vec![Some(eventfd())]).is_empty());
    }

    #[test]
    fn a_full_eventfd_blocks_nobody() {
        let (ours, mut theirs) = {
            let eventfd = eventfd();
            (eventfd.try_clone().unwrap(), eventfd)
        };
        theirs.write_all(&(u64::MAX - 1).to_ne_bytes()).unwrap();
        let mut interrupts = Interrupts::default();
        let _ = interrupts.set(0, vec![Some(ours)]);
        interrupts.raise(0);
        interrupts.raise(1);
        interrupts.raise(VECTORS);
    }

    #[test]
    fn only_one_whole_double_word_is_an_interrupt() {
        let message = |address, bytes, data: u32| {
            let request = Request::new(address, bytes, 0, 0);
            (is_interrupt(&request), vector(&request, &vec![data; request.length]))
        };
        assert_eq!(message(0xFEE0_0000, 4, 7), (true, Some(7)));
        assert_eq!(message(0xFEEF_FFFC, 4, 0), (true, Some(0)));
        assert_eq!(message(0xFEE0_0000, 4, 8), (true, None), "no such vector");
        assert_eq!(message(0xFEE0_0000, 8, 1), (true, None));
        assert_eq!(message(0xFEE0_0001, 2, 1), (true, None));
        assert_eq!(message(0xFEDF_FFFC, 8, 1), (true, None), "reaches in");
        assert!(!message(0xFEDF_FFFC, 4, 1).0 && !message(0xFEF0_0000, 4, 1).0);
    }
}
