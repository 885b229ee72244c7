//! The tables of the stand-in for a NIC: the rows that the driver has committed, and the memory that they lead to.

use std::{fs::File, io, os::unix::fs::FileExt};

use viaduct_spec::{
    profile::{CQS, PAGES, REGIONS, VIS},
    tables::{page, region, table},
};

/// Memory that the driver has mapped for the device.
pub struct Map {
    /// Its first DMA address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// The file: a process's memory.
    pub file: File,
}

/// A row of any table.
type Row = [u64; 3];

/// What is known.
pub struct Tables {
    /// Regions.
    region: Vec<Row>,
    page: Vec<Row>,
    /// Work queues, two a VI: sends, receives.
    pub queue: Vec<Row>,
    /// Receive rows of VIs.
    pub receive: Vec<Row>,
    /// Completion queues.
    pub cq: Vec<Row>,
    /// Maps.
    pub maps: Vec<Map>,
}

impl Default for Tables {
    fn default() -> Self {
        let rows = |count| vec![[0; 3]; count];
        Self {
            region: rows(REGIONS),
            page: rows(PAGES),
            queue: rows(2 * VIS),
            receive: rows(VIS),
            cq: rows(CQS),
            maps: Vec::new(),
        }
    }
}

impl Tables {
    /// Writes a row. Tables that change nothing here are passed over.
    pub fn commit(&mut self, which: u8, row: usize, words: Row) {
        let rows = match which {
            table::REGION => &mut self.region,
            table::PAGE => &mut self.page,
            table::WORK_QUEUE => &mut self.queue,
            table::RECEIVE => &mut self.receive,
            table::COMPLETION_QUEUE => &mut self.cq,
            _ => return,
        };
        if let Some(place) = rows.get_mut(row) {
            *place = words;
        }
    }

    /// The file and the offset in it of a word, `units` times 64 bytes and `bytes` behind the base of a region, that base rounded down to 64.
    fn place(&self, index: usize, units: u64, bytes: u64) -> io::Result<(&File, u64)> {
        let row = self.region.get(index).filter(|row| region::LIVE.get(&row[..]) == 1);
        let row = row.ok_or_else(|| io::Error::other(format!("region {index} is not live")))?;
        let shift = region::PAGE_SHIFT.get(row);
        let base = region::BASE.get(row);
        let address = (base & !63) + 64 * units + bytes;
        let number = region::FIRST_PAGE.get(row) + (address >> shift) - (base >> shift);
        let page = self.page.get(number as usize).map_or(0, |row| page::ADDRESS.get(row));
        let target = page + (address & ((1 << shift) - 1));
        let map = self.maps.iter().find(|map| (map.start..map.start + map.length).contains(&target));
        let map = map.ok_or_else(|| io::Error::other(format!("nothing is mapped at {target:#x}")))?;
        Ok((&map.file, map.offset + target - map.start))
    }

    /// Reads a word.
    pub fn load(&self, region: usize, units: u64, bytes: u64) -> io::Result<u64> {
        let (file, offset) = self.place(region, units, bytes)?;
        let mut word = [0; 8];
        file.read_exact_at(&mut word, offset)?;
        Ok(u64::from_le_bytes(word))
    }

    /// Writes a word.
    pub fn store(&self, region: usize, units: u64, bytes: u64, word: u64) -> io::Result<()> {
        let (file, offset) = self.place(region, units, bytes)?;
        file.write_all_at(&word.to_le_bytes(), offset)
    }
}
