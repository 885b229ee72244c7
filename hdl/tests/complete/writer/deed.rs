//! Deeds of the writer, and those that an item must lead to.

use viaduct_spec::register::event_code;
use viaduct_spec::wire::syndrome;

use super::item::Item;
use super::REFUSED_REGION;

/// Something that the writer does.
#[derive(Debug, PartialEq, Eq)]
pub enum Deed {
    Write {
        region: u64,
        address: u64,
        tag: u64,
        bytes: Vec<u8>,
    },
    Refused {
        region: u64,
        address: u64,
    },
    Fault {
        vi: u64,
        code: u64,
    },
    /// An entry's 16 bytes, of which so many are written.
    Entry {
        tag: u64,
        words: [u64; 2],
        written: usize,
    },
    Acknowledge {
        vi: u64,
        psn: u64,
        syndrome: u64,
        writes: u64,
    },
}

/// What one item must lead to, given how many writes were issued before it.
pub fn deeds(item: &Item, tag: u64, issued: &mut u64) -> Vec<Deed> {
    let mut deeds = vec![];
    let mut refused = false;
    let base = item.offset * 64;
    let mut writes = vec![];
    if let Some(immediate) = item.immediate {
        writes.push((base + 20, (immediate as u32).to_le_bytes().to_vec()));
    }
    writes.push((base + 24, (item.status << 32 | item.length).to_le_bytes().to_vec()));
    for (address, bytes) in writes {
        if !item.write || refused {
            break;
        }
        if item.region == REFUSED_REGION {
            refused = true;
            deeds.push(Deed::Refused { region: item.region, address });
            deeds.push(Deed::Fault { vi: item.vi, code: event_code::COMP_PROT.into() });
        } else {
            *issued += 1;
            deeds.push(Deed::Write { region: item.region, address, tag, bytes });
        }
    }
    if let Some(psn) = item.psn {
        let syndrome = if refused { syndrome::NAK_OPERATIONAL } else { syndrome::ACK }.into();
        deeds.push(Deed::Acknowledge { vi: item.vi, psn, syndrome, writes: *issued % 256 });
    }
    deeds
}
