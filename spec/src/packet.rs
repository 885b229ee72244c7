//! What a packet's layout is: named members at byte and bit offsets, first on the wire first, as the specifications of
//! networks draw them. Everything is big-endian.

/// A member of a packet: a number, or a run of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The member's name.
    pub name: &'static str,
    /// Its first byte.
    pub byte: usize,
    /// Its first bit in that byte; 0 is the most significant one.
    pub bit: usize,
    /// Width in bits. A number has at most 64; what is wider is whole bytes.
    pub width: usize,
    /// One sentence: what it means, in which unit.
    pub doc: &'static str,
}

impl Member {
    /// All ones in a number's width.
    pub const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// First byte behind it.
    pub const fn end(&self) -> usize {
        self.byte + (self.bit + self.width).div_ceil(8)
    }

    /// Its bytes.
    pub const fn bytes(&self) -> core::ops::Range<usize> {
        self.byte..self.end()
    }

    /// Reads a number. Bytes past the end of `packet` read as 0.
    pub fn get(&self, packet: &[u8]) -> u64 {
        let byte = |at: usize| u128::from(packet.get(at).copied().unwrap_or(0));
        let all = self.bytes().fold(0, |number, at| number << 8 | byte(at));
        let behind = 8 * (self.end() - self.byte) - self.bit - self.width;
        (all >> behind) as u64 & self.mask()
    }

    /// Writes a number and leaves its neighbours alone.
    ///
    /// # Panics
    /// When `value` needs more bits than the member has, or the member lies past the end of `packet`: both are mistakes
    /// of the caller, never of a peer's data.
    pub fn put(&self, packet: &mut [u8], value: u64) {
        assert!(value <= self.mask(), "{}: {value:#x} needs more than {} bits", self.name, self.width);
        let behind = 8 * (self.end() - self.byte) - self.bit - self.width;
        let (mut mask, mut value) = (u128::from(self.mask()) << behind, u128::from(value) << behind);
        for at in self.bytes().rev() {
            packet[at] = packet[at] & !(mask as u8) | value as u8;
            mask >>= 8;
            value >>= 8;
        }
    }
}

/// The layout of a packet, or of a part of one.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Its name.
    pub name: &'static str,
    /// Its bytes.
    pub bytes: usize,
    /// What it is.
    pub doc: &'static str,
    /// Its members, first on the wire first. Bits in no member are reserved and 0.
    pub members: &'static [Member],
}

/// Defines a [`Packet`] as a module with one [`Member`] constant a member: byte, bit, width in bits.
#[macro_export]
macro_rules! packet {
    ($(#[doc = $doc:literal])+ $name:ident: $bytes:literal {
        $($(#[doc = $mdoc:literal])+ $member:ident: $byte:literal, $bit:literal, $width:literal;)*
    }) => {
        $(#[doc = $doc])+
        pub mod $name {
            use $crate::packet::{Member, Packet};
            $($(#[doc = $mdoc])+
            pub const $member: Member = Member {
                name: stringify!($member), byte: $byte, bit: $bit, width: $width, doc: concat!($($mdoc),+),
            };)*
            /// Bytes, reserved ones included.
            pub const BYTES: usize = $bytes;
            /// The layout as data: for tables and tests.
            pub const PACKET: Packet = Packet {
                name: stringify!($name), bytes: $bytes, doc: concat!($($doc),+), members: &[$($member),*],
            };
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Member;

    const fn member(byte: usize, bit: usize, width: usize) -> Member {
        Member { name: "M", byte, bit, width, doc: "" }
    }

    #[test]
    fn numbers_are_big_endian_and_leave_their_neighbours_alone() {
        let cases = [
            (member(1, 0, 24), 0x12_3456, [0xff, 0x12, 0x34, 0x56, 0xff]),
            (member(1, 4, 8), 0x0f, [0xff, 0xf0, 0xff, 0xff, 0xff]),
            (member(2, 3, 2), 0, [0xff, 0xff, 0xe7, 0xff, 0xff]),
            (member(0, 7, 18), 0x10001, [0xff, 0x00, 0x00, 0xff, 0xff]),
        ];
        for (member, value, expected) in cases {
            let mut packet = [0xff; 5];
            member.put(&mut packet, value);
            assert_eq!((packet, member.get(&packet)), (expected, value), "{member:?}");
        }
        let mut packet = [0; 9];
        member(1, 0, 64).put(&mut packet, u64::MAX - 1);
        assert_eq!(packet, [0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(member(8, 0, 16).get(&packet), 0xfe00, "bytes past the end are 0");
    }

    #[test]
    #[should_panic(expected = "needs more than")]
    fn a_value_too_wide_is_refused() {
        member(0, 0, 3).put(&mut [0], 8);
    }
}
