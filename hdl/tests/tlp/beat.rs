//! Packets as beats and as double words.

use viaduct_hdl::bus::TlpBeat;
use viaduct_spec::layout::Field;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// One beat of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    pub data: u64,
    pub keep: u64,
    pub last: bool,
}

impl Beat {
    pub fn set(&self, bench: &mut Bench, port: &str) {
        let fields = [("data", self.data), ("keep", self.keep), ("last", self.last.into())];
        Bundle::of::<TlpBeat>(port).set(bench, &fields);
    }

    /// Sets it where each of its parts is a port: at the NIC's edge.
    pub fn set_apart(&self, bench: &mut Bench, port: &str) {
        bench.set(&format!("{port}_data"), self.data);
        bench.set(&format!("{port}_keep"), self.keep);
        bench.set(&format!("{port}_last"), self.last.into());
    }

    /// The beat where each of its parts is a port: at the NIC's edge.
    pub fn get_apart(bench: &Bench, port: &str) -> Self {
        let get = |part| bench.get(&format!("{port}_{part}"));
        Self { data: get("data"), keep: get("keep"), last: get("last") == 1 }
    }

    pub fn get(bench: &Bench, port: &str) -> Self {
        let bundle = Bundle::of::<TlpBeat>(port);
        let get = |name| bundle.get(bench, name);
        Self { data: get("data"), keep: get("keep"), last: get("last") == 1 }
    }
}

/// The beats of a packet.
pub fn beats(packet: &[u32]) -> Vec<Beat> {
    let count = packet.len().div_ceil(2);
    packet
        .chunks(2)
        .enumerate()
        .map(|(n, pair)| Beat {
            data: u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32,
            keep: if pair.len() == 2 { 3 } else { 1 },
            last: n + 1 == count,
        })
        .collect()
}

/// Puts beats together to packets.
#[derive(Default)]
pub struct Collector {
    packet: Vec<u32>,
}

impl Collector {
    /// A beat more; the packet if it was the last.
    pub fn push(&mut self, beat: Beat) -> Option<Vec<u32>> {
        assert!(beat.keep == 3 || (beat.keep == 1 && beat.last), "{beat:?}");
        self.packet.push(beat.data as u32);
        if beat.keep == 3 {
            self.packet.push((beat.data >> 32) as u32);
        }
        beat.last.then(|| std::mem::take(&mut self.packet))
    }

    pub fn is_empty(&self) -> bool {
        self.packet.is_empty()
    }
}

/// A header double word from its fields.
pub fn header(fields: &[(Field, u64)]) -> u32 {
    let mut row = [0];
    for (field, value) in fields {
        field.put(&mut row, *value);
    }
    row[0] as u32
}

/// A field of a header double word.
pub fn field(field: Field, word: u32) -> u64 {
    field.get(&[word.into()])
}

/// The byte of host memory at an address, when it holds nothing in particular.
pub fn memory(address: u64) -> u8 {
    let mixed = address.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as u8 ^ address as u8
}
