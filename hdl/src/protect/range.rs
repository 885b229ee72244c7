//! Whether an access is allowed, and where it lies: the arithmetic of the checker, in four steps.
//!
//! ```text
//!    look ──►┌───────┐──► granted
//! measure ──►│       │──► length, offset (in its page)
//! compare ──►│       │──► head           (bytes to the next 4 KiB boundary)
//!   place ──►│ Range │──► crosses, rest  (goes on in the next page; its bytes there)
//!  access ──►│       │──► page           (row of the page table to read, in this cycle)
//!  region ──►│       │
//! next_page ►└───────┘
//! ```
//! Contract: `look`, `measure`, `compare` and `place` are high in four cycles, one after the other; `access`, `member`
//! (its region is a row of the table, not 0) and `region` are read with `look`. From the cycle after `place` on, the
//! results hold still until the next `place`; the next `look` may come in the first of those cycles. `page` is the
//! first row with `place`, the row after it with `next_page`, and what it was otherwise.
//!
//! How, with `S` = 1 << page_shift: `delta` = bytes from the region's first byte to the access's; `room` = bytes from there to
//! the region's end; `position` = bytes from the start of the region's first page. Each is one subtraction or sum
//! that is wide enough, or whose borrow is looked at.
//!
//! Latency: 4 cycles. Tests: with the checker, `tests/protect`.

use rust_hdl::prelude::*;
use viaduct_spec::profile::PAGE_LOG2;

use super::Region;
use crate::bus::Access;
use crate::prims::Number;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Range {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// First step.
    pub look: Signal<In, bool>,
    /// Second step.
    pub measure: Signal<In, bool>,
    /// Third step.
    pub compare: Signal<In, bool>,
    /// Fourth step.
    pub place: Signal<In, bool>,
    /// Read the row after `page`.
    pub next_page: Signal<In, bool>,
    /// The access.
    pub access: Signal<In, Access>,
    /// Its region number is a row of the table, and not 0.
    pub member: Signal<In, bool>,
    /// That row.
    pub region: Signal<In, Region>,
    /// The access is granted.
    pub granted: Signal<Out, bool>,
    /// Bytes to move.
    pub length: Signal<Out, Bits<13>>,
    /// Offset of the first byte in its page.
    pub offset: Signal<Out, Bits<43>>,
    /// Bytes to the next 4 KiB boundary: to the page's end, if it crosses.
    pub head: Signal<Out, Bits<13>>,
    /// The access goes on in the next page.
    pub crosses: Signal<Out, bool>,
    /// Bytes of it there.
    pub rest: Signal<Out, Bits<12>>,
    /// Row of the page table to read now.
    pub page: Signal<Out, Bits<PAGE_LOG2>>,

    // Step 1: rights, and the distance from the region's start.
    origin: Signal<Local, Bits<64>>,
    distance: Signal<Local, Bits<65>>,
    distance_high: Signal<Local, Bits<65>>,
    key_fits: Signal<Local, bool>,
    /// Page shift - 12; wraps to 32 or more if that is not 0 to 31.
    scale: Signal<Local, Bits<6>>,
    length_fits: Signal<Local, bool>,
    remote: Signal<Local, Bits<2>>,
    ones: Signal<Local, Bits<31>>,
    above: Signal<Local, Bits<31>>,
    below: Signal<Local, Bits<31>>,
    in_page: Signal<Local, Bits<43>>,
    /// Every rule but those about the range holds.
    allowed: DFF<bool>,
    /// Bytes from the region's first byte; only if `far` is 0.
    delta: DFF<Bits<48>>,
    /// 0: the first byte is not before the region, and less than 2^48 behind its start.
    far: DFF<Bits<17>>,
    /// Offset of the region's first byte in its page.
    skew: DFF<Bits<43>>,
    region_length: DFF<Bits<48>>,
    asked: DFF<Bits<13>>,
    span: DFF<Bits<32>>,
    clip: DFF<bool>,
    first_page: DFF<Bits<16>>,
    /// Page shift - 12.
    page_scale: DFF<Bits<5>>,
    /// Ones in the bits of a page's offset from bit 12 on.
    page_mask: DFF<Bits<31>>,

    // Step 2: what is left of the region, and the place counted from its first page.
    left: Signal<Local, Bits<49>>,
    /// Bytes from the first one to the region's end; only if `behind_start`.
    room: DFF<Bits<48>>,
    /// Allowed, and the first byte is not behind the region's end.
    behind_start: DFF<bool>,
    position: DFF<Bits<49>>,

    // Step 3: the range rule, and the place in the region's pages.
    short: Signal<Local, bool>,
    fits: Signal<Local, bool>,
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
    moved: DFF<Bits<13>>,
    at: DFF<Bits<43>>,
    /// The next 4 KiB boundary is the page's end.
    last_frame: DFF<bool>,

    // Step 4: the row, and whether the access leaves the page.
    row: Signal<Local, Bits<17>>,
    row_low: Signal<Local, Bits<PAGE_LOG2>>,
    row_beyond: Signal<Local, Bits<17>>,
    reach: Signal<Local, Bits<13>>,
    leaves: Signal<Local, bool>,
    row_exists: Signal<Local, bool>,
    row_now: Signal<Local, Bits<PAGE_LOG2>>,
    ok: DFF<bool>,
    on_border: DFF<bool>,
    head_bytes: DFF<Bits<13>>,
    over: DFF<Bits<12>>,
    placed: DFF<Bits<43>>,
    placed_length: DFF<Bits<13>>,
    page_row: DFF<Bits<PAGE_LOG2>>,

    page_rows_log2: Number<6, { PAGE_LOG2 as u64 }>,
}

impl Logic for Range {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            allowed,
            delta,
            far,
            skew,
            region_length,
            asked,
            span,
            clip,
            first_page,
            page_scale,
            page_mask,
            room,
            behind_start,
            position,
            in_range,
            page_index,
            moved,
            at,
            last_frame,
            ok,
            on_border,
            head_bytes,
            over,
            placed,
            placed_length,
            page_row
        );

        // Step 1.
        self.origin.next = self.region.val().base;
        if self.access.val().by_offset {
            self.origin.next = self.region.val().base & bits::<64>(63);
        }
        self.distance.next =
            bit_cast::<65, 64>(self.access.val().address) - bit_cast::<65, 64>(self.origin.val());
        self.distance_high.next = self.distance.val() >> bits::<6>(48);
        self.key_fits.next = self.access.val().by_offset | (self.access.val().key == self.region.val().key);
        self.scale.next = self.region.val().page_shift - bits::<6>(12);
        self.length_fits.next =
            self.access.val().length.any() & (self.access.val().length <= bits::<13>(4096));
        self.ones.next = !bits::<31>(0);
        self.above.next = self.ones.val() << self.scale.val().get_bits::<5>(0);
        self.below.next = !self.above.val();
        self.in_page.next = (bit_cast::<43, 31>(self.below.val()) << bits::<4>(12)) | bits::<43>(0xFFF);
        self.remote.next = self.access.val().remote;
        if self.look.val() {
            self.allowed.d.next = self.member.val()
                & self.region.val().live
                & (self.region.val().system == self.access.val().system)
                & self.key_fits.val()
                & (self.region.val().tag == self.access.val().tag)
                & !(self.access.val().write & self.region.val().read_only)
                & (!self.remote.val().get_bit(0) | self.region.val().rdma_write)
                & (!self.remote.val().get_bit(1) | self.region.val().rdma_read)
                & !self.scale.val().get_bit(5)
                & self.length_fits.val();
            self.delta.d.next = bit_cast::<48, 65>(self.distance.val());
            self.far.d.next = bit_cast::<17, 65>(self.distance_high.val());
            self.skew.d.next = bit_cast::<43, 64>(self.region.val().base) & self.in_page.val();
            self.region_length.d.next = self.region.val().length;
            self.asked.d.next = self.access.val().length;
            self.span.d.next = self.access.val().span;
            self.clip.d.next = self.access.val().clip;
            self.first_page.d.next = self.region.val().first_page;
            self.page_scale.d.next = self.scale.val().get_bits::<5>(0);
            self.page_mask.d.next = self.below.val();
        }

        // Step 2.
        self.left.next =
            bit_cast::<49, 48>(self.region_length.q.val()) - bit_cast::<49, 48>(self.delta.q.val());
        if self.measure.val() {
            self.room.d.next = bit_cast::<48, 49>(self.left.val());
            self.behind_start.d.next =
                self.allowed.q.val() & !self.far.q.val().any() & !self.left.val().get_bit(48);
            self.position.d.next =
                bit_cast::<49, 48>(self.delta.q.val()) + bit_cast::<49, 43>(self.skew.q.val());
        }

        // Step 3.
        self.room_low.next = self.room.q.val().get_bits::<13>(0);
        self.short.next =
            !self.room.q.val().get_bits::<35>(13).any() & (self.room_low.val() < self.asked.q.val());
        self.fits.next = !self.short.val() & (bit_cast::<48, 32>(self.span.q.val()) <= self.room.q.val());
        if self.clip.q.val() {
            self.fits.next = self.room.q.val().any();
        }
        self.frame.next = self.position.q.val().get_bits::<37>(12);
        self.low.next = self.position.q.val().get_bits::<12>(0);
        self.relative.next = self.frame.val() >> self.page_scale.q.val();
        self.not_above.next = bit_cast::<37, 31>(self.page_mask.q.val());
        self.page_number.next = !self.not_above.val();
        self.beyond.next = self.page_number.val() << self.page_rows_log2.val();
        self.filled.next = self.frame.val() | self.page_number.val();
        if self.compare.val() {
            self.in_range.d.next =
                self.behind_start.q.val() & self.fits.val() & !(self.frame.val() & self.beyond.val()).any();
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

        // Step 4. Pages are whole multiples of 4 KiB and lengths at most 4 KiB: an access leaves its page if it
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

        self.granted.next = self.ok.q.val();
        self.length.next = self.placed_length.q.val();
        self.offset.next = self.placed.q.val();
        self.head.next = self.head_bytes.q.val();
        self.crosses.next = self.on_border.q.val();
        self.rest.next = self.over.q.val();
        self.page.next = self.row_now.val();
    }
}
