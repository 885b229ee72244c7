//! The raw channel: whole frames that are no connected VI's.

use viaduct_spec::descriptor::status;
use viaduct_spec::layout::Field;
use viaduct_spec::register::{counter, raw_channel};

use super::context::Context;
use super::descriptor::Descriptor;
use super::effect::{Effects, Ending};
use super::frame::Identity;
use super::receives::{Receives, Taken};
use super::scatter;

/// Bytes of a frame that may be sent, without FCS.
const FRAME_BYTES: std::ops::RangeInclusive<u32> = 14..=4200;

/// The rule of a raw send that is not every send's: the error is the status bit.
pub fn check_length(descriptor: &Descriptor) -> Result<(), u32> {
    // RAW-4: 14 to 4200 bytes.
    FRAME_BYTES.contains(&descriptor.length).then_some(()).ok_or(status::LENGTH_ERROR)
}

/// RAW_CHANNEL, of a NIC with these addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawChannel {
    word: u64,
    identity: Identity,
}

impl RawChannel {
    /// As the register says.
    pub fn new(word: u64, identity: Identity) -> Self {
        Self { word, identity }
    }

    fn is(&self, field: Field) -> bool {
        field.get(&[self.word]) != 0
    }

    /// Its VI; there may be none of this number.
    pub fn vi(&self) -> usize {
        raw_channel::VI.get(&[self.word]) as usize
    }

    /// Whether the channel is open and wants a frame that is addressed so.
    pub fn wants(&self, frame: &[u8]) -> bool {
        let Some(to) = frame.first_chunk::<6>() else { return false };
        // RAW-1: the channel's filter.
        let wanted = *to == self.identity.mac_bytes()
            || self.is(raw_channel::PROMISCUOUS)
            || match to {
                [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] => self.is(raw_channel::BROADCAST),
                [first, ..] => first & 1 != 0 && self.is(raw_channel::MULTICAST),
            };
        self.is(raw_channel::ENABLE) && wanted
    }
}

/// A frame for the channel takes a receive of its VI's.
pub fn take(frame: &[u8], receives: &mut Receives, context: &mut Context<'_>, effects: &mut Effects) {
    let Taken::Receive(receive) = receives.take(context, effects) else {
        // RAW-2: no receive is posted.
        return effects.count(counter::RAW_DROPPED);
    };
    let mut error = receive.descriptor.check_receive();
    if error == 0 {
        let tag = context.rows.receive_tag();
        let written = scatter::scatter(&receive.descriptor, tag, 0, frame, &mut context.memory, effects);
        error = written.err().unwrap_or(0);
    }
    let length = if error == 0 { frame.len() as u32 } else { 0 };
    if error == 0 {
        // RAW-5: raw frames have a counter of their own.
        effects.count(counter::RAW_RECEIVED);
        effects.add(counter::BYTES_RECEIVED, length.into());
    }
    let status = status::OP_RECEIVE | error;
    effects.complete(true, receive.posted, Ending { status, length, immediate: None });
}
