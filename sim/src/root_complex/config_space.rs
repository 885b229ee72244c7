//! Configuration space of the function: [`viaduct_spec::config_space`] behind a platform that has
//! enumerated it. What software writes here becomes the NIC's `cfg_*` side band.

use viaduct_spec::config_space::{
    device_control, link_control, msix, pci_command, power_control, word, Word, COMMAND, DEVICE_CONTROL,
    LINK_CONTROL, MAX_PAYLOAD_SUPPORTED, MAX_READ_LARGEST, MSIX, POWER_CONTROL, TABLE,
};

use super::options::Options;
use super::rules::Sizes;

pub use viaduct_spec::config_space::CONFIG_BYTES;

/// The BARs, and what may come behind them.
const BARS: std::ops::Range<usize> = 0x10..0x28;
/// Size fields of Device Control.
const SIZES: u32 = 7 << device_control::MAX_PAYLOAD.lo | 7 << device_control::MAX_READ.lo;

/// What a write asks for beyond changing a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub struct Effect {
    /// Software has written Initiate Function Level Reset.
    pub function_reset: bool,
}

/// The configuration space: [`TABLE`] with what the platform has set.
#[derive(Debug)]
pub struct ConfigSpace {
    value: Box<[u8; CONFIG_BYTES]>,
    options: Options,
}

impl ConfigSpace {
    /// The registers after power-up and the platform's enumeration.
    pub fn new(options: &Options) -> Self {
        let mut space = Self { value: Box::new([0; CONFIG_BYTES]), options: options.clone() };
        for word in &TABLE {
            space.put(word.offset, word.reset);
        }
        // Whoever hands a function to user space has enabled its memory (Linux's vfio-pci does);
        // Bus Master stays off until the driver asks.
        space.put(COMMAND, space.get(COMMAND) | pci_command::MEMORY.ones());
        let conditions = &options.conditions;
        space.set_sizes(conditions.max_payload.min(MAX_PAYLOAD_SUPPORTED as u8), conditions.max_read);
        space.set_extended_tag(conditions.extended_tag);
        space.set(LINK_CONTROL, link_control::RCB_128.ones(), conditions.rcb == 128);
        space
    }

    /// Sets or clears MSI-X Enable, which is the platform's.
    pub fn enable_msix(&mut self, enable: bool) {
        self.set(MSIX, msix::ENABLE.ones(), enable);
    }

    /// Reads from `offset` on; what lies past the end reads as all ones.
    pub fn read(&self, offset: usize, data: &mut [u8]) {
        for (n, byte) in data.iter_mut().enumerate() {
            *byte = offset.checked_add(n).and_then(|at| self.value.get(at)).copied().unwrap_or(0xFF);
        }
    }

    /// Writes from `offset` on; bits that are read only, or the platform's, stay.
    pub fn write(&mut self, offset: usize, data: &[u8]) -> Effect {
        let mut effect = Effect::default();
        for (n, &byte) in data.iter().enumerate() {
            let Some(at) = offset.checked_add(n).filter(|&at| at < CONFIG_BYTES) else { break };
            let (start, shift) = ((at & !3) as u16, 8 * (at & 3));
            let Some(word) = word(start) else { continue };
            let (data, enabled) = (u32::from(byte) << shift, 0xFF << shift);
            let word = Word { writable: word.writable & !word.platform, ..*word };
            self.put(start, word.written(self.get(start), data, enabled));
            effect.function_reset |=
                start == DEVICE_CONTROL && data & device_control::FUNCTION_RESET.ones() != 0;
        }
        effect
    }

    /// Back to the values of power-up, but for the BARs and the platform's settings: what the
    /// operating system restores after a function reset.
    pub fn reset(&mut self) {
        let bars: Vec<u8> = self.value[BARS].to_vec();
        *self = Self::new(&self.options);
        self.value[BARS].copy_from_slice(&bars);
    }

    /// In D0; in D3hot only configuration space answers.
    fn awake(&self) -> bool {
        self.get(POWER_CONTROL) & power_control::STATE.ones() == 0
    }

    /// Memory Space Enable: the function answers at its BARs.
    pub fn memory(&self) -> bool {
        self.awake() && self.get(COMMAND) & pci_command::MEMORY.ones() != 0
    }

    /// Bus Master Enable: the function may send memory requests.
    pub fn bus_master(&self) -> bool {
        self.awake() && self.get(COMMAND) & pci_command::MASTER.ones() != 0
    }

    /// What the rules for requests depend on.
    pub fn sizes(&self) -> Sizes {
        let (max_payload, max_read) = (self.max_payload(), self.max_read());
        Sizes { max_payload, max_read, extended_tag: self.extended_tag() }
    }

    /// Max_Payload_Size, encoded 128 << n.
    pub fn max_payload(&self) -> u8 {
        (self.get(DEVICE_CONTROL) >> device_control::MAX_PAYLOAD.lo & 7).min(MAX_PAYLOAD_SUPPORTED) as u8
    }

    /// Max_Read_Request_Size, encoded 128 << n.
    pub fn max_read(&self) -> u8 {
        (self.get(DEVICE_CONTROL) >> device_control::MAX_READ.lo & 7).min(MAX_READ_LARGEST) as u8
    }

    /// Extended Tag Field Enable.
    pub fn extended_tag(&self) -> bool {
        self.get(DEVICE_CONTROL) & device_control::EXTENDED_TAG.ones() != 0
    }

    /// Sets Max_Payload_Size and Max_Read_Request_Size, encoded 128 << n, as system software does.
    pub fn set_sizes(&mut self, max_payload: u8, max_read: u8) {
        let sizes = u32::from(max_payload & 7) << device_control::MAX_PAYLOAD.lo
            | u32::from(max_read & 7) << device_control::MAX_READ.lo;
        self.put(DEVICE_CONTROL, self.get(DEVICE_CONTROL) & !SIZES | sizes);
    }

    /// Sets or clears Extended Tag Field Enable.
    pub fn set_extended_tag(&mut self, enable: bool) {
        self.set(DEVICE_CONTROL, device_control::EXTENDED_TAG.ones(), enable);
    }

    /// MSI-X Enable.
    pub fn msix_enable(&self) -> bool {
        self.get(MSIX) & msix::ENABLE.ones() != 0
    }

    /// MSI-X Function Mask.
    pub fn msix_mask(&self) -> bool {
        self.get(MSIX) & msix::MASK.ones() != 0
    }

    fn set(&mut self, at: u16, bits: u32, on: bool) {
        let others = self.get(at) & !bits;
        self.put(at, if on { others | bits } else { others });
    }

    fn get(&self, at: u16) -> u32 {
        let at = at as usize;
        u32::from_le_bytes([self.value[at], self.value[at + 1], self.value[at + 2], self.value[at + 3]])
    }

    fn put(&mut self, at: u16, value: u32) {
        self.value[at as usize..at as usize + 4].copy_from_slice(&value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use viaduct_spec::config_space::{BAR0, BAR2};
    use viaduct_spec::profile::{BAR2_BYTES, VECTORS};
    use viaduct_spec::register::{BAR0_BYTES, PCI_DEVICE, PCI_VENDOR};

    fn space() -> ConfigSpace {
        ConfigSpace::new(&Options::default())
    }

    fn read32(space: &ConfigSpace, at: u16) -> u32 {
        let mut data = [0; 4];
        space.read(at.into(), &mut data);
        u32::from_le_bytes(data)
    }

    fn write32(space: &mut ConfigSpace, at: u16, value: u32) -> Effect {
        space.write(at.into(), &value.to_le_bytes())
    }

    #[test]
    fn identifiers_are_the_specification_s_and_read_only() {
        let mut space = space();
        let _ = write32(&mut space, 0, 0);
        assert_eq!(read32(&space, 0), u32::from(PCI_DEVICE) << 16 | u32::from(PCI_VENDOR));
        assert_eq!(read32(&space, 8) >> 16, 0x0280, "a network controller");
    }

    #[test]
    fn bars_answer_their_size_and_keep_an_address() {
        let mut space = space();
        for at in (BAR0..0x28).step_by(4) {
            let _ = write32(&mut space, at, !0);
        }
        let bar2 = u64::from(read32(&space, BAR2 + 4)) << 32 | u64::from(read32(&space, BAR2));
        assert_eq!(u64::from(!(read32(&space, BAR0) & !0xF)) + 1, BAR0_BYTES);
        assert_eq!(!(bar2 & !0xF) + 1, BAR2_BYTES);
        assert_eq!(bar2 & 0xF, 0b100);
        assert_eq!((read32(&space, 0x14), read32(&space, 0x20), read32(&space, 0x24)), (0, 0, 0));
        let _ = write32(&mut space, BAR0, 0xFEBF_1234);
        assert_eq!(read32(&space, BAR0), 0xFEBF_0000);
        space.reset();
        assert_eq!(read32(&space, BAR0), 0xFEBF_0000);
    }

    #[test]
    fn the_capability_list_ends_and_holds_what_a_driver_looks_for() {
        let space = space();
        let (mut found, mut at) = (Vec::new(), read32(&space, 0x34) as u16 & 0xFF);
        while at != 0 {
            assert!(at >= 0x40 && at % 4 == 0 && found.len() < 48);
            let header = read32(&space, at);
            found.push(header & 0xFF);
            at = (header >> 8 & 0xFF) as u16;
        }
        assert_eq!(found, [0x01, 0x10, 0x11]);
        assert_eq!(read32(&space, MSIX) >> 16 & 0x7FF, VECTORS as u32 - 1);
    }

    #[test]
    fn the_side_band_follows_what_is_written() {
        let mut space = space();
        assert!(space.memory() && !space.bus_master() && !space.msix_enable());
        let _ = write32(&mut space, COMMAND, 0x6);
        let _ = write32(&mut space, DEVICE_CONTROL, 0x5000 | 7 << 5);
        let _ = write32(&mut space, MSIX, msix::ENABLE.ones() | msix::MASK.ones());
        assert!(space.bus_master() && !space.msix_enable() && !space.msix_mask());
        space.enable_msix(true);
        assert!(space.msix_enable());
        assert_eq!(read32(&space, MSIX) >> 16, 0x8000 | (VECTORS as u32 - 1));
        assert_eq!(space.max_payload(), MAX_PAYLOAD_SUPPORTED as u8, "never more than is supported");
        assert_eq!(space.max_read(), 5);
        assert!(!space.extended_tag());
        let asked = space.write(DEVICE_CONTROL as usize + 1, &[0x80]);
        assert!(asked.function_reset, "a byte write counts too");
        assert_eq!(read32(&space, DEVICE_CONTROL) & 0x8000, 0, "the bit reads as 0");
        space.reset();
        assert!(space.memory() && !space.bus_master() && !space.msix_enable());
    }

    #[test]
    fn a_function_that_sleeps_says_so_and_keeps_what_it_has() {
        let mut space = space();
        let _ = write32(&mut space, COMMAND, 0x6);
        let _ = write32(&mut space, BAR0, 0xFEBF_0000);
        for (state, shown) in [(1, 0), (3, 3), (2, 3)] {
            let _ = space.write(POWER_CONTROL.into(), &[state]);
            assert_eq!(
                read32(&space, POWER_CONTROL),
                power_control::NO_SOFT_RESET.ones() | shown,
                "asked for D{state}"
            );
            assert_eq!((space.memory(), space.bus_master()), (shown == 0, shown == 0));
        }
        let _ = space.write(POWER_CONTROL.into(), &[0, 0]);
        assert!(space.memory() && space.bus_master());
        assert_eq!(read32(&space, BAR0), 0xFEBF_0000);
        let _ = space.write(POWER_CONTROL.into(), &[3]);
        space.reset();
        assert!(space.memory(), "a reset wakes it");
    }

    /// Every double word, and every byte enable, against the table.
    #[test]
    fn every_register_is_the_table_s() {
        for at in (0..CONFIG_BYTES as u16).step_by(4) {
            let row = word(at).copied().unwrap_or(Word { writable: 0, clearable: 0, reset: 0, ..TABLE[0] });
            for enables in 1..16u32 {
                for data in [0, !0, 0x5A5A_5A5A, 0xA5A5_A5A5] {
                    let mut space = space();
                    // As if the function had seen every error.
                    space.put(at, space.get(at) | row.clearable);
                    let mut model = space.get(at);
                    for byte in (0..4).filter(|byte| enables >> byte & 1 == 1) {
                        let bits = 0xFFu32 << (8 * byte);
                        let writable = row.writable & !row.platform & bits;
                        let odd_state = at == POWER_CONTROL && byte == 0 && [1, 2].contains(&(data & 3));
                        if !odd_state {
                            model = model & !writable | data & writable;
                        }
                        model &= !(data & bits & row.clearable);
                        let effect =
                            space.write(at as usize + byte, &[(data >> (8 * byte)) as u8]).function_reset;
                        assert_eq!(effect, at == DEVICE_CONTROL && byte == 1 && data & 0x8000 != 0);
                    }
                    assert_eq!(read32(&space, at), model, "{at:#x}, {data:#x}, enables {enables:04b}");
                }
            }
        }
    }

    #[test]
    fn the_link_is_what_the_card_has() {
        let space = space();
        assert_eq!(read32(&space, 0x5C) & 0x3FF, 0x011, "Link Capabilities: one lane, 2.5 GT/s");
        assert_eq!(read32(&space, 0x60) >> 16, 0x011, "Link Status");
    }

    #[test]
    fn device_status_is_cleared_by_ones() {
        let mut space = space();
        let control = read32(&space, DEVICE_CONTROL);
        space.set(DEVICE_CONTROL, 0xF << 16, true);
        let _ = space.write(DEVICE_CONTROL as usize + 2, &[0x5]);
        assert_eq!(read32(&space, DEVICE_CONTROL), control | 0xA << 16);
        let _ = space.write(DEVICE_CONTROL as usize, &[0xFF, 0]);
        assert_eq!(read32(&space, DEVICE_CONTROL) >> 16, 0xA, "a write beside it leaves it alone");
    }

    #[test]
    fn accesses_past_the_end_do_no_harm() {
        let mut space = space();
        let mut data = [0; 8];
        space.read(CONFIG_BYTES - 4, &mut data);
        assert_eq!(data, [0, 0, 0, 0, 255, 255, 255, 255]);
        let _ = space.write(usize::MAX, &[1, 2]);
        let _ = space.write(CONFIG_BYTES - 1, &[1, 2, 3]);
    }
}
