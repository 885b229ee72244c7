//! Configuration space of the function: a type-0 header with power management, PCI Express and
//! MSI-X capabilities. What software writes here becomes the NIC's `cfg_*` side band.

use viaduct_spec::profile::{BAR2_BYTES, VECTORS};
use viaduct_spec::register::{BAR0_BYTES, MSIX_PENDING, MSIX_TABLE, PCI_DEVICE, PCI_VENDOR};

use super::options::Options;

/// Size of a PCI Express function's configuration space in bytes.
pub const CONFIG_BYTES: usize = 4096;

/// COMMAND register.
const COMMAND: usize = 0x04;
const COMMAND_MEMORY: u16 = 1 << 1;
const COMMAND_MASTER: u16 = 1 << 2;
/// Parity response, SERR and interrupt disable can be set too; they change nothing here.
const COMMAND_WRITABLE: u16 = COMMAND_MEMORY | COMMAND_MASTER | 1 << 6 | 1 << 8 | 1 << 10;

const BAR0: usize = 0x10;
const BAR2: usize = 0x18;
/// 64-bit memory, not prefetchable: stores to doorbells must not be merged.
const BAR_64: u32 = 0b100;

const POWER: usize = 0x40;
/// Its control and status register, of which the low two bits are the power state.
const POWER_CONTROL: usize = POWER + 4;
const POWER_STATE: u8 = 3;
/// What a function keeps in D3hot comes back with it: No_Soft_Reset.
const POWER_KEEPS: u16 = 1 << 3;
const EXPRESS: usize = 0x50;
const DEVICE_CAPABILITIES: usize = EXPRESS + 4;
const DEVICE_CONTROL: usize = EXPRESS + 8;
const LINK_CAPABILITIES: usize = EXPRESS + 12;
const LINK_CONTROL: usize = EXPRESS + 16;
const LINK_STATUS: usize = EXPRESS + 18;
const MSIX: usize = 0x90;
const MSIX_CONTROL: usize = MSIX + 2;

const CONTROL_EXTENDED_TAG: u16 = 1 << 8;
const CONTROL_FUNCTION_RESET: u16 = 1 << 15;
const LINK_CONTROL_RCB_128: u16 = 1 << 3;
const MSIX_ENABLE: u16 = 1 << 15;
const MSIX_MASK: u16 = 1 << 14;
/// Largest payload that the NIC takes and makes, encoded 128 << n.
const MAX_PAYLOAD_SUPPORTED: u16 = 1;

/// What a write asks for beyond changing a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub struct Effect {
    /// Software has written Initiate Function Level Reset.
    pub function_reset: bool,
}

/// The configuration space.
#[derive(Debug)]
pub struct ConfigSpace {
    value: Box<[u8; CONFIG_BYTES]>,
    /// Bits that software may change.
    mask: Box<[u8; CONFIG_BYTES]>,
    options: Options,
}

impl ConfigSpace {
    /// The registers after power-up and the platform's enumeration.
    pub fn new(options: &Options) -> Self {
        let mut space = Self {
            value: Box::new([0; CONFIG_BYTES]),
            mask: Box::new([0; CONFIG_BYTES]),
            options: options.clone(),
        };
        space.header();
        space.express();
        space.msix();
        space
    }

    fn header(&mut self) {
        self.put16(0x00, PCI_VENDOR);
        self.put16(0x02, PCI_DEVICE);
        // Whoever hands a function to user space has enabled its memory (Linux's vfio-pci does);
        // Bus Master stays off until the driver asks.
        self.put16(COMMAND, COMMAND_MEMORY);
        self.writable(COMMAND, &COMMAND_WRITABLE.to_le_bytes());
        // Status: there is a capability list.
        self.put16(0x06, 1 << 4);
        // Revision 0; class: network controller, other.
        self.put32(0x08, 0x0280_0000);
        self.writable(0x0C, &[0xFF]);
        self.writable(BAR0, &(!(BAR0_BYTES as u32 - 1)).to_le_bytes());
        self.put32(BAR2, BAR_64);
        self.writable(BAR2, &(!(BAR2_BYTES - 1)).to_le_bytes());
        self.put16(0x2C, PCI_VENDOR);
        self.put16(0x2E, PCI_DEVICE);
        self.value[0x34] = POWER as u8;
        // Interrupt line; there is no interrupt pin.
        self.writable(0x3C, &[0xFF]);
        // Power management, version 3; there are D0 and D3hot. Linux' vfio-pci sends a function that
        // nobody has open to D3hot, and who emulates one (QEMU) takes its word for the state.
        self.put16(POWER, 0x01 | (EXPRESS as u16) << 8);
        self.put16(POWER + 2, 3);
        self.put16(POWER_CONTROL, POWER_KEEPS);
        self.writable(POWER_CONTROL, &[POWER_STATE]);
    }

    fn express(&mut self) {
        self.put16(EXPRESS, 0x10 | (MSIX as u16) << 8);
        // Version 2, endpoint.
        self.put16(EXPRESS + 2, 2);
        // Extended tags, role-based error reporting, function level reset.
        let capabilities = u32::from(MAX_PAYLOAD_SUPPORTED) | 1 << 5 | 1 << 15 | 1 << 28;
        self.put32(DEVICE_CAPABILITIES, capabilities);
        let options = &self.options.conditions;
        let control = u16::from(options.max_payload.min(MAX_PAYLOAD_SUPPORTED as u8)) << 5
            | u16::from(options.max_read) << 12
            | if options.extended_tag { CONTROL_EXTENDED_TAG } else { 0 };
        let rcb = if options.rcb == 128 { LINK_CONTROL_RCB_128 } else { 0 };
        self.put16(DEVICE_CONTROL, control);
        self.writable(DEVICE_CONTROL, &0x7FFFu16.to_le_bytes());
        // 2.5 GT/s, four lanes: 64 bits at 125 MHz.
        self.put32(LINK_CAPABILITIES, 0x041);
        // The read completion boundary is the root complex's; software only reads it.
        self.put16(LINK_CONTROL, rcb);
        self.writable(LINK_CONTROL, &0x00C3u16.to_le_bytes());
        self.put16(LINK_STATUS, 0x041);
    }

    fn msix(&mut self) {
        self.put16(MSIX, 0x11);
        self.put16(MSIX_CONTROL, VECTORS as u16 - 1);
        // Table and pending bits are in BAR 0. Nothing here can be written by a driver in user
        // space, under Linux neither: the kernel enables what has an eventfd.
        self.put32(MSIX + 4, MSIX_TABLE as u32);
        self.put32(MSIX + 8, MSIX_PENDING as u32);
    }

    /// Sets or clears MSI-X Enable, which is the platform's.
    pub fn enable_msix(&mut self, enable: bool) {
        let control = self.get16(MSIX_CONTROL) & !MSIX_ENABLE;
        self.put16(MSIX_CONTROL, if enable { control | MSIX_ENABLE } else { control });
    }

    /// Reads from `offset` on; what lies past the end reads as all ones.
    pub fn read(&self, offset: usize, data: &mut [u8]) {
        for (n, byte) in data.iter_mut().enumerate() {
            *byte = offset.checked_add(n).and_then(|at| self.value.get(at)).copied().unwrap_or(0xFF);
        }
    }

    /// Writes from `offset` on; bits that are read only stay.
    pub fn write(&mut self, offset: usize, data: &[u8]) -> Effect {
        let mut effect = Effect::default();
        for (n, &byte) in data.iter().enumerate() {
            let Some(at) = offset.checked_add(n).filter(|&at| at < CONFIG_BYTES) else { break };
            if at == POWER_CONTROL && ![0, POWER_STATE].contains(&(byte & POWER_STATE)) {
                // A state that there is not is ignored, as the specification wants it.
                continue;
            }
            self.value[at] = self.value[at] & !self.mask[at] | byte & self.mask[at];
            if at == DEVICE_CONTROL + 1 {
                effect.function_reset = u16::from(byte) << 8 & CONTROL_FUNCTION_RESET != 0;
            }
        }
        effect
    }

    /// Back to the values of power-up, but for the BARs and the platform's settings: what the
    /// operating system restores after a function reset.
    pub fn reset(&mut self) {
        let bars: Vec<u8> = self.value[BAR0..0x28].to_vec();
        *self = Self::new(&self.options);
        self.value[BAR0..0x28].copy_from_slice(&bars);
    }

    /// In D0; in D3hot only configuration space answers.
    fn awake(&self) -> bool {
        self.value[POWER_CONTROL] & POWER_STATE == 0
    }

    /// Memory Space Enable: the function answers at its BARs.
    pub fn memory(&self) -> bool {
        self.awake() && self.get16(COMMAND) & COMMAND_MEMORY != 0
    }

    /// Bus Master Enable: the function may send memory requests.
    pub fn bus_master(&self) -> bool {
        self.awake() && self.get16(COMMAND) & COMMAND_MASTER != 0
    }

    /// Max_Payload_Size, encoded 128 << n.
    pub fn max_payload(&self) -> u8 {
        (self.get16(DEVICE_CONTROL) >> 5 & 7).min(MAX_PAYLOAD_SUPPORTED) as u8
    }

    /// Max_Read_Request_Size, encoded 128 << n.
    pub fn max_read(&self) -> u8 {
        (self.get16(DEVICE_CONTROL) >> 12 & 7).min(5) as u8
    }

    /// Extended Tag Field Enable.
    pub fn extended_tag(&self) -> bool {
        self.get16(DEVICE_CONTROL) & CONTROL_EXTENDED_TAG != 0
    }

    /// Sets Max_Payload_Size and Max_Read_Request_Size, encoded 128 << n, as system software does.
    pub fn set_sizes(&mut self, max_payload: u8, max_read: u8) {
        let control = self.get16(DEVICE_CONTROL) & !(7 << 5 | 7 << 12);
        self.put16(DEVICE_CONTROL, control | u16::from(max_payload & 7) << 5 | u16::from(max_read & 7) << 12);
    }

    /// Sets or clears Extended Tag Field Enable.
    pub fn set_extended_tag(&mut self, enable: bool) {
        let control = self.get16(DEVICE_CONTROL) & !CONTROL_EXTENDED_TAG;
        self.put16(DEVICE_CONTROL, if enable { control | CONTROL_EXTENDED_TAG } else { control });
    }

    /// MSI-X Enable.
    pub fn msix_enable(&self) -> bool {
        self.get16(MSIX_CONTROL) & MSIX_ENABLE != 0
    }

    /// MSI-X Function Mask.
    pub fn msix_mask(&self) -> bool {
        self.get16(MSIX_CONTROL) & MSIX_MASK != 0
    }

    fn get16(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.value[at], self.value[at + 1]])
    }

    fn put16(&mut self, at: usize, value: u16) {
        self.value[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    fn put32(&mut self, at: usize, value: u32) {
        self.value[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn writable(&mut self, at: usize, mask: &[u8]) {
        self.mask[at..at + mask.len()].copy_from_slice(mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> ConfigSpace {
        ConfigSpace::new(&Options::default())
    }

    fn read32(space: &ConfigSpace, at: usize) -> u32 {
        let mut data = [0; 4];
        space.read(at, &mut data);
        u32::from_le_bytes(data)
    }

    fn write32(space: &mut ConfigSpace, at: usize, value: u32) -> Effect {
        space.write(at, &value.to_le_bytes())
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
        assert_eq!(bar2 & 0xF, u64::from(BAR_64));
        assert_eq!((read32(&space, 0x14), read32(&space, 0x20), read32(&space, 0x24)), (0, 0, 0));
        let _ = write32(&mut space, BAR0, 0xFEBF_1234);
        assert_eq!(read32(&space, BAR0), 0xFEBF_0000);
        space.reset();
        assert_eq!(read32(&space, BAR0), 0xFEBF_0000);
    }

    #[test]
    fn the_capability_list_ends_and_holds_what_a_driver_looks_for() {
        let space = space();
        let (mut found, mut at) = (Vec::new(), read32(&space, 0x34) as usize & 0xFF);
        while at != 0 {
            assert!(at >= 0x40 && at % 4 == 0 && found.len() < 48);
            let header = read32(&space, at);
            found.push(header & 0xFF);
            at = (header >> 8 & 0xFF) as usize;
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
        let _ = space.write(MSIX_CONTROL, &(MSIX_ENABLE | MSIX_MASK).to_le_bytes());
        assert!(space.bus_master() && !space.msix_enable() && !space.msix_mask());
        space.enable_msix(true);
        assert!(space.msix_enable());
        assert_eq!(read32(&space, MSIX) >> 16, u32::from(MSIX_ENABLE) | (VECTORS as u32 - 1));
        assert_eq!(space.max_payload(), MAX_PAYLOAD_SUPPORTED as u8, "never more than is supported");
        assert_eq!(space.max_read(), 5);
        assert!(!space.extended_tag());
        let asked = space.write(DEVICE_CONTROL + 1, &[0x80]);
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
            let _ = space.write(POWER_CONTROL, &[state]);
            assert_eq!(read32(&space, POWER_CONTROL), u32::from(POWER_KEEPS) | shown, "asked for D{state}");
            assert_eq!((space.memory(), space.bus_master()), (shown == 0, shown == 0));
        }
        let _ = space.write(POWER_CONTROL, &[0, 0]);
        assert!(space.memory() && space.bus_master());
        assert_eq!(read32(&space, BAR0), 0xFEBF_0000);
        let _ = space.write(POWER_CONTROL, &[3]);
        space.reset();
        assert!(space.memory(), "a reset wakes it");
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
