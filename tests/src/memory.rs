//! Host memory that a NIC changes and a test looks at byte for byte.

use std::ptr::NonNull;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::memory::Mapping;

/// Memory in whole pages, random bytes at first. NICs change it only while the network is stepped;
/// bytes are copied in and out, and no reference to them is ever given.
#[derive(Debug)]
pub struct Memory(Mapping);

impl Memory {
    /// `bytes` of memory, rounded up to whole pages, filled from the seed.
    pub fn new(bytes: usize, seed: u64) -> Self {
        let memory = Self(Mapping::new(bytes).expect("memory"));
        let mut random = vec![0; memory.length()];
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut random);
        memory.write(0, &random);
        memory
    }

    /// Bytes.
    pub fn length(&self) -> usize {
        self.0.length()
    }

    /// Virtual address of the byte at `offset`.
    pub fn address(&self, offset: usize) -> u64 {
        assert!(offset <= self.length());
        self.0.start().as_ptr() as u64 + offset as u64
    }

    /// The byte at `offset`, for a registration.
    pub fn pointer(&self, offset: usize) -> NonNull<u8> {
        assert!(offset <= self.length());
        // SAFETY: inside the mapping, or its end.
        unsafe { self.0.start().add(offset) }
    }

    /// Copies bytes in.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.length());
        // SAFETY: inside the mapping, of which nobody holds a reference; NICs stand still meanwhile.
        unsafe { self.0.start().add(offset).as_ptr().copy_from(bytes.as_ptr(), bytes.len()) }
    }

    /// Copies bytes out.
    pub fn read(&self, offset: usize, length: usize) -> Vec<u8> {
        assert!(offset + length <= self.length());
        let mut bytes = vec![0; length];
        // SAFETY: as in `write`.
        unsafe { self.0.start().add(offset).as_ptr().copy_to(bytes.as_mut_ptr(), length) };
        bytes
    }

    /// All of it.
    pub fn snapshot(&self) -> Vec<u8> {
        self.read(0, self.length())
    }

    /// The 64-bit word at `offset`.
    pub fn word(&self, offset: usize) -> u64 {
        self.read(offset, 8).iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }
}

/// The first byte in which two copies of a memory differ, and how many do: for messages.
pub fn difference(now: &[u8], expected: &[u8]) -> Option<String> {
    assert_eq!(now.len(), expected.len());
    if now == expected {
        return None;
    }
    let mut differ = now.iter().zip(expected).enumerate().filter(|(_, (a, b))| a != b);
    let (first, (a, b)) = differ.next()?;
    let (count, last) = differ.fold((1, first), |(count, _), (at, _)| (count + 1, at));
    Some(format!("{count} bytes differ, {first:#x} to {last:#x}; the first is {a:#04x}, expected {b:#04x}"))
}
