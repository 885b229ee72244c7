//! A host: its memory, and how it has to look.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use vipl::{Descriptor, MemAttributes, Nic, Region};

use super::message::Segments;
use crate::memory::Memory;
use crate::world::World;

/// Bytes to send from.
pub const SOURCE: usize = 128 << 10;
/// Bytes to receive into.
pub const SINK: usize = 2 << 20;
/// Bytes for descriptors.
const DESCRIPTORS: usize = 1 << 20;

/// Where the odd one of the two regions of a memory starts, and how many bytes it leaves at the end.
const ODD: (usize, usize) = (4099, 777);

/// A host. Registrations go before the memory does.
pub struct Host {
    pub source_regions: [Region; 2],
    pub sink_regions: [Region; 2],
    pub descriptor_region: Region,
    pub nic: Nic,
    pub source: Memory,
    pub sink: Memory,
    pub descriptors: Memory,
    /// How `source` and `sink` have to look.
    pub source_expected: Vec<u8>,
    pub sink_expected: Vec<u8>,
    /// The first bytes of `sink` and of `descriptors` that nothing uses yet.
    pub sink_free: usize,
    pub descriptors_free: usize,
}

impl Host {
    /// A host's memory, and the tag of its regions.
    pub fn new(world: &World, number: usize) -> (Self, vipl::Ptag) {
        let nic = world.nic(number);
        let ptag = nic.create_ptag().expect("a tag");
        let attributes = MemAttributes::new(&ptag);
        let memory = |bytes, kind| Memory::new(bytes, world.seed << 8 | (number as u64) << 4 | kind);
        let (source, sink, descriptors) = (memory(SOURCE, 1), memory(SINK, 2), memory(DESCRIPTORS, 3));
        let region = |memory: &Memory, from: usize, to: usize| {
            // SAFETY: nothing refers to the memory, and the regions are dropped before it.
            unsafe { nic.register(memory.pointer(from), to - from, &attributes) }.expect("room")
        };
        let both = |memory: &Memory| {
            [region(memory, 0, memory.length()), region(memory, ODD.0, memory.length() - ODD.1)]
        };
        let host = Self {
            source_regions: both(&source),
            sink_regions: both(&sink),
            descriptor_region: region(&descriptors, 0, DESCRIPTORS),
            nic,
            source_expected: source.snapshot(),
            sink_expected: sink.snapshot(),
            source,
            sink,
            descriptors,
            sink_free: 0,
            descriptors_free: 0,
        };
        (host, ptag)
    }

    /// Writes a descriptor of these segments to a new place.
    pub fn build(&mut self, random: &mut ChaCha8Rng, sink: bool, segments: &Segments) -> Descriptor {
        let (regions, size) = if sink { (&self.sink_regions, SINK) } else { (&self.source_regions, SOURCE) };
        let mut builder = Descriptor::new();
        for &(offset, length) in segments {
            let reaches = offset >= ODD.0 && offset + length <= size - ODD.1;
            builder = if reaches && random.random() {
                builder.segment(&regions[1], offset - ODD.0, length)
            } else {
                builder.segment(&regions[0], offset, length)
            }
            .expect("inside");
        }
        let place = self.descriptors_free + 64 * random.random_range(0..3);
        self.descriptors_free = (place + builder.bytes()).next_multiple_of(64);
        builder.build(&self.descriptor_region, place).expect("room for descriptors")
    }
}
