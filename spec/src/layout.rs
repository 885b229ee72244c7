//! What a layout is: named bit fields in a row of 64-bit words, least significant bit first.

/// A run of bits in a row. Bit 0 is the least significant bit of word 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The field's name: the same in the RTL, the driver and the tables in docs/.
    pub name: &'static str,
    /// Lowest bit.
    pub lo: usize,
    /// Width in bits, at most 64. A field may cross a word.
    pub width: usize,
    /// One sentence: what it means, in which unit.
    pub doc: &'static str,
}

impl Field {
    /// All ones in the field's width.
    #[inline]
    pub const fn mask(&self) -> u64 {
        if self.width == 64 {
            u64::MAX
        } else {
            (1 << self.width) - 1
        }
    }

    /// The field's bits in a double word, all ones: for a field of a layout of 32 bits.
    #[inline]
    pub const fn ones(&self) -> u32 {
        debug_assert!(self.lo + self.width <= 32, "it lies beyond a double word");
        (self.mask() << self.lo) as u32
    }

    /// Reads the field. Words past the end of `row` read as 0.
    #[inline]
    pub const fn get(&self, row: &[u64]) -> u64 {
        let (word, bit) = (self.lo / 64, self.lo % 64);
        let low = if word < row.len() { row[word] >> bit } else { 0 };
        // A field that ends in its word has none of the next one.
        let crosses = bit + self.width > 64 && word + 1 < row.len();
        let high = if crosses { row[word + 1] << (64 - bit) } else { 0 };
        (low | high) & self.mask()
    }

    /// The field's word with this value in it and nothing else, for a field that lies in one word: to be combined with others of the word.
    /// Bits of `value` that the field has not are dropped.
    #[inline]
    pub const fn of(&self, value: u64) -> u64 {
        debug_assert!(self.lo % 64 + self.width <= 64, "it lies in two words");
        (value & self.mask()) << (self.lo % 64)
    }

    /// Writes the field and leaves its neighbours alone.
    ///
    /// # Panics
    /// When `value` needs more bits than the field has, or the field lies past the end of `row`:
    /// both are mistakes of the caller, never of a peer's data.
    #[inline]
    pub fn put(&self, row: &mut [u64], value: u64) {
        assert!(value <= self.mask(), "{}: {value:#x} needs more than {} bits", self.name, self.width);
        let (word, bit) = (self.lo / 64, self.lo % 64);
        row[word] = row[word] & !(self.mask() << bit) | value << bit;
        if bit + self.width > 64 {
            let moved = 64 - bit;
            row[word + 1] = row[word + 1] & !(self.mask() >> moved) | value >> moved;
        }
    }
}

/// A row of fields.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The layout's name.
    pub name: &'static str,
    /// Its width in bits, reserved bits included.
    pub bits: usize,
    /// What it is.
    pub doc: &'static str,
    /// Its fields, lowest first. Bits in no field are reserved and 0.
    pub fields: &'static [Field],
}

/// A named number: a code, a bit, an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// The name.
    pub name: &'static str,
    /// The number.
    pub value: u64,
    /// One sentence.
    pub doc: &'static str,
}

/// A list of [`Code`]s.
#[derive(Debug, Clone, Copy)]
pub struct Codes {
    /// The list's name.
    pub name: &'static str,
    /// What the codes say.
    pub doc: &'static str,
    /// The codes.
    pub codes: &'static [Code],
}

/// Defines a [`Layout`] as a module with one [`Field`] constant a field.
#[macro_export]
macro_rules! layout {
    ($(#[doc = $doc:literal])+ $name:ident: $bits:literal {
        $($(#[doc = $fdoc:literal])+ $field:ident: $lo:literal, $width:literal;)*
    }) => {
        $(#[doc = $doc])+
        pub mod $name {
            use $crate::layout::{Field, Layout};
            $($(#[doc = $fdoc])+
            pub const $field: Field = Field {
                name: stringify!($field), lo: $lo, width: $width, doc: concat!($($fdoc),+),
            };)*
            /// Width in bits, reserved bits included.
            pub const BITS: usize = $bits;
            /// The layout as data: for tables and tests.
            pub const LAYOUT: Layout = Layout {
                name: stringify!($name), bits: $bits, doc: concat!($($doc),+), fields: &[$($field),*],
            };
        }
    };
}

/// Defines a list of [`Codes`] as a module with one constant a code.
#[macro_export]
macro_rules! codes {
    ($(#[doc = $doc:literal])+ $name:ident: $ty:ty {
        $($(#[doc = $cdoc:literal])+ $code:ident = $value:expr;)*
    }) => {
        $(#[doc = $doc])+
        pub mod $name {
            use $crate::layout::{Code, Codes};
            $($(#[doc = $cdoc])+ pub const $code: $ty = $value;)*
            /// The codes as data: for tables and messages.
            pub const CODES: Codes = Codes {
                name: stringify!($name), doc: concat!($($doc),+),
                codes: &[$(Code { name: stringify!($code), value: $value as u64, doc: concat!($($cdoc),+) }),*],
            };
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Field;

    const CROSSING: Field = Field { name: "CROSSING", lo: 60, width: 10, doc: "" };

    #[test]
    fn a_field_may_cross_a_word() {
        let mut row = [u64::MAX, u64::MAX];
        CROSSING.put(&mut row, 0x155);
        assert_eq!(CROSSING.get(&row), 0x155);
        assert_eq!(row[0], 0x5fff_ffff_ffff_ffff);
        assert_eq!(row[1], !0x3f | 0x15);
    }

    #[test]
    #[should_panic(expected = "CROSSING")]
    fn a_value_too_wide_is_refused() {
        CROSSING.put(&mut [0, 0], 0x400);
    }
}
