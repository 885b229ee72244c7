//! The raw channel: whole frames that are no connected VI's.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, raw_channel};
use viaduct_spec::tables::{receive, service};

use super::completion::Ending;
use super::descriptor::Descriptor;
use super::device::Device;
use super::tables::ViState;

/// Bytes of a frame that may be sent, without FCS.
const FRAME_BYTES: std::ops::RangeInclusive<u32> = 14..=4200;

/// The rule of a raw send that is not every send's: the error is the status bit.
pub fn check_length(descriptor: &Descriptor) -> Result<(), u32> {
    FRAME_BYTES.contains(&descriptor.length).then_some(()).ok_or(status::LENGTH_ERROR)
}

impl Device {
    fn raw_flag(&self, field: viaduct_spec::layout::Field) -> bool {
        field.get(&[self.registers.raw_channel]) != 0
    }

    /// Whether the channel is open and wants a frame that is addressed so.
    fn wants_raw(&self, frame: &[u8]) -> bool {
        let Some(to) = frame.first_chunk::<6>() else { return false };
        let wanted = *to == self.registers.identity.mac_bytes()
            || self.raw_flag(raw_channel::PROMISCUOUS)
            || match to {
                [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] => self.raw_flag(raw_channel::BROADCAST),
                [first, ..] => first & 1 != 0 && self.raw_flag(raw_channel::MULTICAST),
            };
        self.raw_flag(raw_channel::ENABLE) && wanted
    }

    /// Gives a frame to the channel, if it wants it; whether it does.
    pub fn take_raw(&mut self, frame: &[u8]) -> bool {
        if !self.wants_raw(frame) {
            return false;
        }
        let vi = raw_channel::VI.get(&[self.registers.raw_channel]) as usize;
        let is_raw = |row: &super::tables::Row| row.get(receive::SERVICE) == u64::from(service::RAW);
        let open = self.vis.get(vi).is_some_and(|vi| vi.state == ViState::Connected)
            && self.tables.receive.get(vi).is_some_and(is_raw);
        let receive = if open { self.take_receive(vi) } else { None };
        let Some(receive) = receive else {
            self.counters.count(counter::RAW_DROPPED);
            return true;
        };
        let mut error = receive.descriptor.check_receive();
        if error == 0 {
            let tag = self.tables.receive[vi].get(receive::TAG) as u16;
            error = self.scatter(&receive.descriptor, tag, 0, frame).err().unwrap_or(0);
        }
        let length = if error == 0 { frame.len() as u32 } else { 0 };
        if error == 0 {
            self.counters.count(counter::RAW_RECEIVED);
            self.counters.add(counter::BYTES_RECEIVED, length.into());
        }
        let status = status::OP_RECEIVE | error;
        self.complete(vi, true, &receive.posted, Ending { status, length, immediate: None });
        true
    }
}
