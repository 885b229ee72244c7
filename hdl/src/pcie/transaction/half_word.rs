//! Where a field of a TLP's header lies in the 16 bits of it that the endpoint has in a cycle.

use viaduct_spec::layout::Field;

/// A value of a field of a double word, in the half that the field lies in; the byte that goes first on the lane is the low one.
pub const fn in_half(field: &Field, value: u64) -> u64 {
    assert!(field.lo / 16 == (field.lo + field.width - 1) / 16, "it lies in one half of a double word");
    ((field.of(value) >> (field.lo / 16 * 16)) as u16).swap_bytes() as u64
}

/// All bits of a field, as [`in_half`].
pub const fn whole_field(field: &Field) -> u64 {
    in_half(field, field.mask())
}

#[cfg(test)]
mod tests {
    use super::*;
    use viaduct_spec::tlp::{completion_dw1, dw0};

    #[test]
    fn the_first_byte_on_the_lane_is_the_low_one() {
        assert_eq!(in_half(&dw0::KIND, 0x4A), 0x004A);
        assert_eq!(in_half(&dw0::LENGTH, 1), 0x0100);
        assert_eq!(in_half(&completion_dw1::STATUS, 1), 0x0020);
        assert_eq!(whole_field(&dw0::TRAFFIC_CLASS), 0x7000);
    }
}
