//! Decides whether an access is allowed, and where it lies: the arithmetic of the protection check, in three steps.
//!
//! ```text
//!    look ──►┌───────┐──► granted
//! compare ──►│       │──► length, offset (in its page)
//!   place ──►│       │──► head           (bytes to the next 4 KiB boundary)
//!  access ──►│ Range │──► crosses, rest  (goes on in the next page; its bytes there)
//!  region ──►│       │──► page           (row of the page table to read, in this cycle)
//!  extent ──►│       │
//! next_page ►└───────┘
//! ```
//! Contract: `look`, `compare` and `place` are high in three cycles, one after the other; `access`, `member`
//! (its region is a row of the table, not 0), `region` and `extent` are read with `look`, and `access` has been there for a
//! cycle by then. From the cycle after `place` on, the results
//! hold still until the next `place`; the next `look` may come in the first of those cycles. `page` is the
//! first row with `place`, the row after it with `next_page`, and in all other cycles what it was before.
//!
//! How, with `S` = 1 << page_shift: `delta` = bytes from the region's first byte to the access's; `finish` = bytes from there
//! to the end of what must lie in the region: `length` or, without `clip`, a remote peer's `span`; `position` = bytes from the
//! start of the region's first page. If the access begins in the region or less than 2^48 behind its start, all three
//! are below 2^49, so 49 bits of each sum are enough; otherwise `far` refuses the access.
//!
//! Latency: 3 cycles.
//!
//! Example: pages of 4 KiB. An access of 100 bytes begins 40 bytes before the end of the region's second page: `page` is the region's first
//! row plus 1, `head` is 40, `crosses` is high, and `rest` is 60.
//!
//! Tests: with `Protect`, `tests/protect/`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::PAGE_LOG2;

use super::{Region, RegionExtent};
use crate::bus::{Access, RemoteRights};
use crate::prims::{Cast, Number};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Range {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The first step of a check: `access` and its row are read. `Protect` drives this and the next three.
    pub look: Signal<In, bool>,
    /// The second step of a check.
    pub compare: Signal<In, bool>,
    /// The third step of a check: its results stand from the next cycle on.
    pub place: Signal<In, bool>,
    /// `page` is to be the row after the one before.
    pub next_page: Signal<In, bool>,
    /// The access that is checked; `AccessIntake` drives this and its row.
    pub access: Signal<In, Access>,
    /// The region number of the access is a row of the table, and not 0.
    pub member: Signal<In, bool>,
    /// First half of the row of the access's region.
    pub region: Signal<In, Region>,
    /// Second half of the row of the access's region.
    pub extent: Signal<In, RegionExtent>,
    /// The access is granted; `CommandCut` makes the command of this and the outputs up to `rest`.
    pub granted: Signal<Out, bool>,
    /// Number of bytes to move.
    pub length: Signal<Out, Bits<13>>,
    /// Offset of the access's first byte in its page.
    pub offset: Signal<Out, Bits<43>>,
    /// Number of bytes to the next 4 KiB boundary; to the page's end, if the access crosses it.
    pub head: Signal<Out, Bits<13>>,
    /// The access goes on in the next page.
    pub crosses: Signal<Out, bool>,
    /// Number of the access's bytes in the next page.
    pub rest: Signal<Out, Bits<12>>,
    /// Row of the page table to read in this cycle; `Protect` has the table.
    pub page: Signal<Out, Bits<PAGE_LOG2>>,

    // Before step 1: the address behind the last byte that must lie in the region.
    behind: DFF<Bits<49>>,
    needed: Signal<Local, Bits<32>>,

    // Step 1: rights, and the distances from the region's start.
    address: Signal<Local, Bits<64>>,
    address_low: Signal<Local, Bits<49>>,
    origin: Signal<Local, Bits<64>>,
    distance: Signal<Local, Bits<65>>,
    distance_high: Signal<Local, Bits<65>>,
    base_low: Signal<Local, Bits<49>>,
    not_base: Signal<Local, Bits<49>>,
    addend: Signal<Local, Bits<49>>,
    carry: Signal<Local, Bits<50>>,
    /// The position, and the bit that its carry comes from.
    twice: Signal<Local, Bits<50>>,
    length_fits: Signal<Local, bool>,
    in_page: Signal<Local, Bits<49>>,
    remote: Cast<Bits<2>, RemoteRights>,
    /// Every rule but those about key, tag and range holds.
    allowed: DFF<bool>,
    /// The access is by offset: its key is not compared.
    by_offset: DFF<bool>,
    /// Key that the access gives.
    key: DFF<Bits<16>>,
    /// Tag that the access gives.
    tag: DFF<Bits<16>>,
    /// `extent`, a cycle later.
    extent_row: DFF<RegionExtent>,
    /// Bytes from the region's first byte; only if `far` is 0.
    delta: DFF<Bits<48>>,
    /// 0: the first byte is not before the region, and less than 2^48 behind its start.
    far: DFF<Bits<17>>,
    /// Bytes from the region's first byte to the end of what must lie in the region.
    finish: DFF<Bits<49>>,
    /// Bytes from the start of the region's first page.
    position: DFF<Bits<49>>,
    /// Bytes that the access asks for.
    asked: DFF<Bits<13>>,
    /// Where the region ends early, the access is shortened.
    clip: DFF<bool>,
    /// Page shift - 12.
    page_scale: DFF<Bits<5>>,
    /// Ones in the bits of a page's offset from bit 12 on.
    page_mask: DFF<Bits<31>>,

    // Step 2: the range rule, and the place in the region's pages.
    key_fits: Signal<Local, bool>,
    fits: Signal<Local, bool>,
    short: Signal<Local, bool>,
    room_low: Signal<Local, Bits<13>>,
    /// 4 KiB frames from the start of the region's first page.
    frame: Signal<Local, Bits<37>>,
    low: Signal<Local, Bits<12>>,
    relative: Signal<Local, Bits<37>>,
    not_above: Signal<Local, Bits<37>>,
    /// Ones in the bits of `frame` that are the page's number.
    page_number: Signal<Local, Bits<37>>,
    beyond: Signal<Local, Bits<37>>,
    filled: Signal<Local, Bits<37>>,
    /// The range rule holds, and the page's number is not beyond the whole page table.
    in_range: DFF<bool>,
    /// Number of the page in the region.
    page_index: DFF<Bits<PAGE_LOG2>>,
    /// Bytes to move.
    moved: DFF<Bits<13>>,
    /// Offset of the first byte in its page.
    at: DFF<Bits<43>>,
    /// The region's first row in the page table.
    first_page: DFF<Bits<16>>,
    /// The next 4 KiB boundary is the page's end.
    last_frame: DFF<bool>,

    // Step 3: the row, and whether the access leaves the page.
    row: Signal<Local, Bits<17>>,
    row_low: Signal<Local, Bits<PAGE_LOG2>>,
    row_beyond: Signal<Local, Bits<17>>,
    reach: Signal<Local, Bits<13>>,
    leaves: Signal<Local, bool>,
    row_exists: Signal<Local, bool>,
    row_now: Signal<Local, Bits<PAGE_LOG2>>,
    /// `granted`.
    ok: DFF<bool>,
    /// `crosses`.
    on_border: DFF<bool>,
    /// `head`.
    head_bytes: DFF<Bits<13>>,
    /// `rest`.
    over: DFF<Bits<12>>,
    /// `offset`.
    placed: DFF<Bits<43>>,
    /// `length`.
    placed_length: DFF<Bits<13>>,
    /// The `page` of the cycle before.
    page_row: DFF<Bits<PAGE_LOG2>>,

    /// All but the low 6 bits: what an address by offset counts from.
    whole_words: Number<49, { (1 << 49) - 64 }>,
    page_rows_log2: Number<6, { PAGE_LOG2 as u64 }>,
}

impl Logic for Range {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, behind, allowed, by_offset, key, tag, extent_row);
        dff_setup!(self, clock, delta, far, finish, position, asked, clip, page_scale, page_mask);
        dff_setup!(self, clock, in_range, page_index, moved, at, first_page, last_frame);
        dff_setup!(self, clock, ok, on_border, head_bytes, over, placed, placed_length, page_row);

        // Before step 1, while the region's row is read.
        self.address.next = self.access.val().address;
        self.address_low.next = bit_cast::<49, 64>(self.address.val());
        self.needed.next = bit_cast::<32, 13>(self.access.val().length);
        if self.access.val().remote.any() & !self.access.val().clip {
            self.needed.next = self.access.val().span;
        }
        self.behind.d.next = self.address_low.val() + bit_cast::<49, 32>(self.needed.val());

        // Step 1. With `by_offset`, the address counts from the region's base, rounded down to 64.
        self.in_page.next =
            (bit_cast::<49, 31>(self.region.val().page_mask) << bits::<4>(12)) | bits::<49>(0xFFF);
        self.origin.next = self.region.val().base;
        // The start of the region's first page is subtracted: its complement and one, the lowest bit, are added.
        self.base_low.next = bit_cast::<49, 64>(self.region.val().base);
        self.not_base.next = !self.base_low.val();
        self.addend.next = self.not_base.val() | self.in_page.val();
        self.carry.next = bits::<50>(1);
        if self.access.val().by_offset {
            self.origin.next = self.region.val().base & bits::<64>(63);
            self.addend.next = self.base_low.val() & self.in_page.val() & self.whole_words.val();
            self.carry.next = bits::<50>(0);
        }
        self.twice.next = ((bit_cast::<50, 49>(self.address_low.val()) << 1) | bits::<50>(1))
            + ((bit_cast::<50, 49>(self.addend.val()) << 1) | self.carry.val());
        self.distance.next = bit_cast::<65, 64>(self.address.val()) - bit_cast::<65, 64>(self.origin.val());
        self.distance_high.next = self.distance.val() >> bits::<6>(48);
        self.length_fits.next =
            self.access.val().length.any() & (self.access.val().length <= bits::<13>(4096));
        self.remote.from.next = self.access.val().remote;
        if self.look.val() {
            self.allowed.d.next = self.member.val()
                & self.region.val().live
                & (self.region.val().system == self.access.val().system)
                & !(self.access.val().write & self.region.val().read_only)
                & (!self.remote.to.val().write | self.region.val().rdma_write)
                & (!self.remote.to.val().read | self.region.val().rdma_read)
                & self.length_fits.val();
            self.by_offset.d.next = self.access.val().by_offset;
            self.key.d.next = self.access.val().key;
            self.tag.d.next = self.access.val().tag;
            self.extent_row.d.next = self.extent.val();
            self.delta.d.next = bit_cast::<48, 65>(self.distance.val());
            self.far.d.next = bit_cast::<17, 65>(self.distance_high.val());
            self.finish.d.next = self.behind.q.val() - bit_cast::<49, 64>(self.origin.val());
            self.position.d.next = self.twice.val().get_bits::<49>(1);
            self.asked.d.next = self.access.val().length;
            self.clip.d.next = self.access.val().clip;
            self.page_scale.d.next = self.region.val().scale;
            self.page_mask.d.next = self.region.val().page_mask;
        }

        // Step 2.
        self.key_fits.next = (self.by_offset.q.val() | (self.key.q.val() == self.extent_row.q.val().key))
            & (self.tag.q.val() == self.extent_row.q.val().tag);
        self.short.next = bit_cast::<49, 48>(self.extent_row.q.val().length) < self.finish.q.val();
        self.fits.next = !self.short.val();
        if self.clip.q.val() {
            self.fits.next = self.delta.q.val() < self.extent_row.q.val().length;
        }
        self.room_low.next =
            bit_cast::<13, 48>(self.extent_row.q.val().length) - bit_cast::<13, 48>(self.delta.q.val());
        self.frame.next = self.position.q.val().get_bits::<37>(12);
        self.low.next = self.position.q.val().get_bits::<12>(0);
        self.relative.next = self.frame.val() >> self.page_scale.q.val();
        self.not_above.next = bit_cast::<37, 31>(self.page_mask.q.val());
        self.page_number.next = !self.not_above.val();
        self.beyond.next = self.page_number.val() << self.page_rows_log2.val();
        self.filled.next = self.frame.val() | self.page_number.val();
        if self.compare.val() {
            self.in_range.d.next = self.allowed.q.val()
                & self.key_fits.val()
                & !self.far.q.val().any()
                & self.fits.val()
                & !(self.frame.val() & self.beyond.val()).any();
            self.first_page.d.next = self.extent_row.q.val().first_page;
            self.page_index.d.next = bit_cast::<PAGE_LOG2, 37>(self.relative.val());
            self.moved.d.next = self.asked.q.val();
            if self.short.val() {
                self.moved.d.next = self.room_low.val();
            }
            self.at.d.next =
                (bit_cast::<43, 31>(bit_cast::<31, 37>(self.frame.val()) & self.page_mask.q.val())
                    << bits::<4>(12))
                    | bit_cast::<43, 12>(self.low.val());
            self.last_frame.d.next = self.filled.val().all();
        }

        // Step 3. Pages are whole multiples of 4 KiB and lengths at most 4 KiB: an access leaves its page if it
        // crosses a 4 KiB boundary and that boundary is the page's end.
        self.row.next =
            bit_cast::<17, 16>(self.first_page.q.val()) + bit_cast::<17, PAGE_LOG2>(self.page_index.q.val());
        self.row_low.next = bit_cast::<PAGE_LOG2, 17>(self.row.val());
        self.row_beyond.next = self.row.val() >> self.page_rows_log2.val();
        self.reach.next = bit_cast::<13, 12>(self.at.q.val().get_bits::<12>(0)) + self.moved.q.val();
        self.leaves.next = self.reach.val().get_bit(12)
            & bit_cast::<12, 13>(self.reach.val()).any()
            & self.last_frame.q.val();
        self.row_exists.next = !self.row_beyond.val().any() & !(self.leaves.val() & self.row_low.val().all());
        self.row_now.next = self.page_row.q.val();
        if self.next_page.val() {
            self.row_now.next = self.page_row.q.val() + 1;
        }
        if self.place.val() {
            self.row_now.next = self.row_low.val();
            self.ok.d.next = self.in_range.q.val() & self.row_exists.val();
            self.on_border.d.next = self.leaves.val();
            self.head_bytes.d.next = bits::<13>(4096) - bit_cast::<13, 12>(self.at.q.val().get_bits::<12>(0));
            self.over.d.next = bit_cast::<12, 13>(self.reach.val());
            self.placed.d.next = self.at.q.val();
            self.placed_length.d.next = self.moved.q.val();
        }
        self.page_row.d.next = self.row_now.val();

        drive!(self, ok.q => granted; placed_length.q => length; placed.q => offset; head_bytes.q => head;
            on_border.q => crosses; over.q => rest; row_now => page);
    }
}
