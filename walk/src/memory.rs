//! A host's memory: a file that its NIC reaches, a slice of it for each end, an arena for the agent's rings.
//!
//! ```text
//!   slice, 128 KiB:  source 16 KiB | room for what comes, 48 KiB | descriptors 64 KiB
//! ```
//! The addresses are virtual ones of nobody's; pages lie one after the other in the file, or scattered.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{memfd_create, MemfdFlags};
use viaduct_sim::memory::{Memory as Dma, Range, PAGE};

use crate::operation::End;
use crate::program::CONNECTIONS;
use crate::trace::Recorder;

/// Bytes of an end's memory.
pub const SLICE: u32 = 0x2_0000;
/// Bytes of it for data.
pub const DATA_BYTES: u32 = 0x1_0000;
/// Bytes of those that are only read.
pub const SOURCE_BYTES: u32 = 0x4000;
/// Where its descriptors begin.
pub const DESCRIPTORS: u32 = DATA_BYTES;
/// Registrations of an end; number 0 is all of its memory.
pub const SLOTS: usize = 4;
/// Bytes of the arena.
const ARENA: u64 = 0x2_0000;
/// Pages of a slice.
pub const PAGES: u64 = SLICE as u64 / PAGE;
/// Where the file begins, of each host: below and above 4 GiB, so that both forms of TLP headers are met.
pub const FIRST: [u64; 2] = [0x10_0000, 0x2_0000_0000];
/// Slices.
pub const ENDS: u64 = 2 * CONNECTIONS as u64;
const BYTES: u64 = ENDS * SLICE as u64 + ARENA;

/// A host's memory.
#[derive(Debug)]
pub struct Memory {
    host: usize,
    file: File,
    /// What was written to the arena.
    arena: Vec<u8>,
    /// Ends whose pages are scattered.
    scattered: Vec<bool>,
    /// Who writes down what the host writes.
    recorder: Option<Recorder>,
}

/// The next of a sequence of numbers that look random (SplitMix64): a walk fills a megabyte again and again.
fn noise(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// Where a page of a scattered slice lies in it.
fn scatter(page: u64) -> u64 {
    (page * 5 + 3) % PAGES
}

/// What lies so many bytes behind the beginning of a slice: bytes from the beginning of the end's memory.
pub fn in_slice(scattered: bool, at: u32) -> u32 {
    let number = u64::from(at) / PAGE;
    let page = if scattered { (0..PAGES).find(|page| scatter(*page) == number).unwrap_or(0) } else { number };
    (page * PAGE) as u32 + at % PAGE as u32
}

impl Memory {
    /// Random bytes in the slices of these ends; the same for the same seed and host.
    pub fn new(host: usize, seed: u64, scattered: Vec<bool>, ends: &[End]) -> io::Result<Self> {
        let file = File::from(memfd_create("walk", MemfdFlags::CLOEXEC)?);
        file.set_len(BYTES)?;
        let memory = Self { host, file, arena: vec![0; ARENA as usize], scattered, recorder: None };
        for end in ends {
            let mut state = seed ^ (host as u64) << 56 ^ (*end as u64) << 48;
            let words = (0..SLICE / 8).flat_map(|_| noise(&mut state).to_le_bytes());
            memory.write(*end, 0, &words.collect::<Vec<u8>>())?;
        }
        Ok(memory)
    }

    /// Has it written down from now on what the host writes. All of it as it is now.
    pub fn record(&mut self, recorder: Recorder) -> io::Result<Vec<u8>> {
        self.recorder = Some(recorder);
        let mut whole = vec![0; BYTES as usize];
        self.file.read_exact_at(&mut whole, 0)?;
        Ok(whole)
    }

    fn put(&self, place: u64, data: &[u8]) -> io::Result<()> {
        if let Some(recorder) = &self.recorder {
            recorder.host(FIRST[self.host] + place, data);
        }
        self.file.write_all_at(data, place)
    }

    /// Lets a NIC reach it.
    pub fn map(&self, dma: &mut Dma) -> io::Result<()> {
        let length = BYTES.next_multiple_of(PAGE);
        let range = Range { iova: FIRST[self.host], length, offset: 0, readable: true, writable: true };
        dma.map(&range, Some(self.file.try_clone()?)).map_err(io::Error::other)
    }

    /// Where page `page` of an end's slice lies in the file. Each has its place, whichever pages there are.
    fn page(&self, end: End, page: u64) -> u64 {
        let page = if self.scattered[end] { scatter(page) } else { page };
        end as u64 * u64::from(SLICE) + page * PAGE
    }

    /// DMA address of a page of an end's slice.
    pub fn page_address(&self, end: End, page: u64) -> u64 {
        FIRST[self.host] + self.page(end, page)
    }

    /// DMA address of the arena.
    pub fn arena_address(&self) -> u64 {
        FIRST[self.host] + ENDS * u64::from(SLICE)
    }

    /// Bytes of the arena.
    pub fn arena_bytes(&self) -> u64 {
        ARENA
    }

    /// Calls `access` for each piece of a range of a slice: place in the file, and which bytes.
    fn pieces(
        &self,
        end: End,
        at: u32,
        length: usize,
        mut access: impl FnMut(u64, std::ops::Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < length {
            let here = u64::from(at) + done as u64;
            let within = here % PAGE;
            let count = ((PAGE - within) as usize).min(length - done);
            access(self.page(end, here / PAGE) + within, done..done + count)?;
            done += count;
        }
        Ok(())
    }

    /// Writes into a slice.
    pub fn write(&self, end: End, at: u32, data: &[u8]) -> io::Result<()> {
        self.pieces(end, at, data.len(), |place, range| self.put(place, &data[range]))
    }

    /// Reads from a slice.
    pub fn read(&self, end: End, at: u32, length: usize) -> io::Result<Vec<u8>> {
        let mut data = vec![0; length];
        self.pieces(end, at, length, |place, range| self.file.read_exact_at(&mut data[range], place))?;
        Ok(data)
    }

    /// Writes into the arena.
    pub fn write_arena(&mut self, at: u64, data: &[u8]) -> io::Result<()> {
        self.arena[at as usize..at as usize + data.len()].copy_from_slice(data);
        self.put(ENDS * u64::from(SLICE) + at, data)
    }

    /// Reads from the arena.
    pub fn read_arena(&self, at: u64, data: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(data, ENDS * u64::from(SLICE) + at)
    }

    /// What the NIC has written there is as it should be.
    pub fn expect_arena(&mut self, at: u64, data: &[u8]) {
        self.arena[at as usize..at as usize + data.len()].copy_from_slice(data);
    }

    /// Whether the arena is as the host wrote it, but for what was expected of the NIC.
    pub fn arena_is_whole(&self) -> io::Result<bool> {
        let mut data = vec![0; ARENA as usize];
        self.file.read_exact_at(&mut data, ENDS * u64::from(SLICE))?;
        Ok(data == self.arena)
    }
}
