//! The register file: BAR 0 as `viaduct_spec::register` draws it.
//!
//! ```text
//!      mmio_write ──►┌───────────┐──► receive_enable, send_enable, soft_reset
//!            load ──►│           │──► station, stage0..2, command
//!   state, result ──►│ Registers │──► answer
//!        time_now ──►│           │──► counter    ◄── counter_value
//! vectors_pending ──►└───────────┘──► vector_row ◄── vector_value
//! ```
//! Contract: a store writes the 4-byte halves whose bytes are all enabled and nothing else. A load is answered once,
//! with the 8 bytes that its address lies in; the next load comes after the answer. Loads from the MSI-X table are asked of
//! its owner, which takes the stores by itself. Addresses without a register read 0 and swallow stores.
//!
//! Latency: a load 3 cycles, a counter up to 41, the MSI-X table up to 7; a store 1.
//!
//! Example: the agent loads 8 bytes at the offset of a counter: `counter` names it, `counter_value` comes up to 41 cycles later, and `answer` has
//! its 36 bits, with zeros above.
//!
//! Tests: `tests/admin/registers.rs`.

use crate::bus::{MmioWrite, NicState, STORE_LOG2};
use crate::interrupt::VECTOR_ROW_LOG2;
use crate::prims::{Cast, Number};
use crate::receive::StationSource;
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_spec::profile::{CQS, DOORBELL_SHIFT, PAGES, READ_DEPTH, RECEIVE_AHEAD, REGIONS, VECTORS, VIS};
use viaduct_spec::register::{
    control, nic_kind, raw_channel, registers, MAGIC_VALUE, MSIX_PENDING, MSIX_TABLE, VERSION_VALUE,
};
use viaduct_spec::wire::DEFAULT_PKEY;

/// Two registers that share 8 bytes, as a constant row.
const fn pair(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Idle,
    Choose,
    Count,
    Vector,
    Answer,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Registers {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Sets every register to its default. A load under way is answered all the same.
    pub reset: Signal<In, bool>,
    /// The PCIe edge is reset: nobody waits for an answer any more.
    pub restart: Signal<In, bool>,
    /// A store to BAR 0 or BAR 2; those to BAR 2 are not looked at.
    pub mmio_write: FlowSink<MmioWrite>,
    /// The byte offset in BAR 0 of a load, from `edge/complete`.
    pub load: FlowSink<Bits<20>>,
    /// The 8 bytes that the load's address lies in.
    pub answer: FlowSource<Bits<64>>,
    /// The agent has enabled reception of frames.
    pub receive_enable: Signal<Out, bool>,
    /// The agent has enabled the serving of work queues.
    pub send_enable: Signal<Out, bool>,
    /// The agent asks for a reset, in this cycle only.
    pub soft_reset: Signal<Out, bool>,
    /// The NIC's own addresses, and the raw channel.
    pub station: StationSource,
    /// Bits 63:0 of the row that the agent has staged.
    pub stage0: Signal<Out, Bits<64>>,
    /// Bits 127:64 of the row that the agent has staged.
    pub stage1: Signal<Out, Bits<64>>,
    /// Bits 191:128 of the row that the agent has staged.
    pub stage2: Signal<Out, Bits<64>>,
    /// The low double word of COMMAND, in the cycle behind the agent's store.
    pub command: FlowSource<Bits<32>>,
    /// What STATE shows: command busy, command error, idle, read time-out.
    pub state: Signal<In, NicState>,
    /// What RESULT shows, from `admin/command`.
    pub result: Signal<In, Bits<64>>,
    /// Device time, ticks of 1.024 us.
    pub time_now: Signal<In, Bits<32>>,
    /// The number of the counter that a load asks for, until `counter_value`.
    pub counter: FlowSource<Bits<6>>,
    /// The value of that counter, from `admin/counters`.
    pub counter_value: FlowSink<Bits<36>>,
    /// The row of the MSI-X table that a load asks for, until `vector_value`.
    pub vector_row: FlowSource<Bits<VECTOR_ROW_LOG2>>,
    /// The 8 bytes of that row, from `interrupt/vectors`.
    pub vector_value: FlowSink<Bits<64>>,
    /// The MSI-X pending bits, one for each vector.
    pub vectors_pending: Signal<In, Bits<VECTORS>>,
    state_bits: Cast<NicState, Bits<4>>,
    step: DFF<Step>,
    /// Byte offset of the load at hand.
    address: DFF<Bits<20>>,
    /// The 8 bytes of the answer.
    value: DFF<Bits<64>>,
    /// `receive_enable`.
    receiving: DFF<bool>,
    /// `send_enable`.
    sending: DFF<bool>,
    /// `soft_reset`.
    resetting: DFF<bool>,
    own_mac: DFF<Bits<48>>,
    own_ip: DFF<Bits<32>>,
    own_pkey: DFF<Bits<16>>,
    channel_vi: DFF<Bits<10>>,
    channel_flags: DFF<Bits<4>>,
    staged0: DFF<Bits<64>>,
    staged1: DFF<Bits<64>>,
    staged2: DFF<Bits<64>>,
    /// `command_word` is given in this cycle.
    commanded: DFF<bool>,
    /// The low double word of COMMAND.
    command_word: DFF<Bits<32>>,
    store_address: Signal<Local, Bits<20>>,
    store_row: Signal<Local, Bits<17>>,
    load_row: Signal<Local, Bits<17>>,
    low: Signal<Local, bool>,
    high: Signal<Local, bool>,
    low_data: Signal<Local, Bits<32>>,
    high_data: Signal<Local, Bits<32>>,
    counter_number: Signal<Local, Bits<6>>,
    controls: Signal<Local, Bits<64>>,
    lower_half: Number<64, 0xFFFF_FFFF>,
    upper_half: Number<64, 0xFFFF_FFFF_0000_0000>,
    nibble: Number<4, 0xF>,
    default_pkey: Number<16, { DEFAULT_PKEY as u64 }>,
    row_magic: Number<17, { registers::MAGIC >> 3 }>,
    row_kind: Number<17, { registers::KIND >> 3 }>,
    row_regions: Number<17, { registers::REGIONS >> 3 }>,
    row_doorbell: Number<17, { registers::DOORBELL_SHIFT >> 3 }>,
    row_control: Number<17, { registers::CONTROL >> 3 }>,
    row_mac: Number<17, { registers::MAC >> 3 }>,
    row_ip: Number<17, { registers::IP >> 3 }>,
    row_stage0: Number<17, { registers::STAGE0 >> 3 }>,
    row_stage1: Number<17, { registers::STAGE1 >> 3 }>,
    row_stage2: Number<17, { registers::STAGE2 >> 3 }>,
    row_raw: Number<17, { registers::RAW_CHANNEL >> 3 }>,
    row_command: Number<17, { registers::COMMAND >> 3 }>,
    row_result: Number<17, { registers::RESULT >> 3 }>,
    row_time: Number<17, { registers::TIME >> 3 }>,
    vector_rows: Number<13, { MSIX_TABLE >> 7 }>,
    row_pending: Number<17, { MSIX_PENDING >> 3 }>,
    counter_rows: Number<11, { registers::COUNTERS >> 9 }>,
    counters: Number<6, 39>,
    magic: Number<64, { pair(MAGIC_VALUE, VERSION_VALUE) }>,
    kind: Number<64, { pair(nic_kind::RTL, VIS as u32) }>,
    sizes: Number<64, { pair(REGIONS as u32, PAGES as u32) }>,
    doorbell: Number<64, { pair(DOORBELL_SHIFT as u32, RECEIVE_AHEAD as u32) }>,
    cqs: Number<64, { pair(0, CQS as u32) }>,
    read_depth: Number<64, { READ_DEPTH as u64 }>,
    receive_bit: Number<64, { 1 << control::RECEIVE_ENABLE.lo }>,
    send_bit: Number<64, { 1 << control::SEND_ENABLE.lo }>,
}

// `update` has the positions of these fields as numbers.
const _: () = {
    assert!(registers::RAW_CHANNEL == registers::READ_DEPTH + 4 && registers::RAW_CHANNEL % 8 == 4);
    assert!(raw_channel::VI.lo == 0 && raw_channel::VI.width == 10);
    assert!(raw_channel::ENABLE.lo == 16 && raw_channel::BROADCAST.lo == 17);
    assert!(raw_channel::MULTICAST.lo == 18 && raw_channel::PROMISCUOUS.lo == 19);
};

impl Logic for Registers {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, address, value, receiving, sending, resetting);
        dff_setup!(
            self,
            clock,
            own_mac,
            own_ip,
            own_pkey,
            channel_vi,
            channel_flags,
            staged0,
            staged1,
            staged2,
            commanded,
            command_word
        );
        self.receive_enable.next = self.receiving.q.val();
        self.send_enable.next = self.sending.q.val();
        self.soft_reset.next = self.resetting.q.val();
        self.station.mac.next = self.own_mac.q.val();
        self.station.ip.next = self.own_ip.q.val();
        self.station.pkey.next = self.own_pkey.q.val();
        self.station.raw_open.next = self.channel_flags.q.val().get_bit(0);
        self.station.raw_broadcast.next = self.channel_flags.q.val().get_bit(1);
        self.station.raw_multicast.next = self.channel_flags.q.val().get_bit(2);
        self.station.raw_any.next = self.channel_flags.q.val().get_bit(3);
        self.station.raw_vi.next = self.channel_vi.q.val();
        self.stage0.next = self.staged0.q.val();
        self.stage1.next = self.staged1.q.val();
        self.stage2.next = self.staged2.q.val();
        self.command.valid.next = self.commanded.q.val();
        self.command.data.next = self.command_word.q.val();

        // Stores.
        self.store_address.next = bit_cast::<20, STORE_LOG2>(self.mmio_write.data.val().address);
        self.store_row.next = self.store_address.val().get_bits::<17>(3);
        self.low.next = self.mmio_write.valid.val()
            & !self.mmio_write.data.val().doorbell
            & (bit_cast::<4, 8>(self.mmio_write.data.val().enables) == self.nibble.val());
        self.high.next = self.mmio_write.valid.val()
            & !self.mmio_write.data.val().doorbell
            & (bit_cast::<4, 8>(self.mmio_write.data.val().enables >> 4) == self.nibble.val());
        self.low_data.next = bit_cast::<32, 64>(self.mmio_write.data.val().data);
        self.high_data.next = bit_cast::<32, 64>(self.mmio_write.data.val().data >> 32);
        self.resetting.d.next = false;
        self.commanded.d.next = false;
        if self.low.val() {
            if self.store_row.val() == self.row_control.val() {
                self.receiving.d.next = self.low_data.val().get_bit(0);
                self.sending.d.next = self.low_data.val().get_bit(1);
                self.resetting.d.next = self.low_data.val().get_bit(31);
            } else if self.store_row.val() == self.row_mac.val() {
                self.own_mac.d.next = (self.own_mac.q.val() & (bit_cast::<48, 64>(self.upper_half.val())))
                    | bit_cast::<48, 32>(self.low_data.val());
            } else if self.store_row.val() == self.row_ip.val() {
                self.own_ip.d.next = self.low_data.val();
            } else if self.store_row.val() == self.row_stage0.val() {
                self.staged0.d.next =
                    (self.staged0.q.val() & self.upper_half.val()) | bit_cast::<64, 32>(self.low_data.val());
            } else if self.store_row.val() == self.row_stage1.val() {
                self.staged1.d.next =
                    (self.staged1.q.val() & self.upper_half.val()) | bit_cast::<64, 32>(self.low_data.val());
            } else if self.store_row.val() == self.row_stage2.val() {
                self.staged2.d.next =
                    (self.staged2.q.val() & self.upper_half.val()) | bit_cast::<64, 32>(self.low_data.val());
            } else if self.store_row.val() == self.row_command.val() {
                self.commanded.d.next = true;
                self.command_word.d.next = self.low_data.val();
            }
        }
        if self.high.val() {
            if self.store_row.val() == self.row_mac.val() {
                self.own_mac.d.next = (self.own_mac.d.val() & (bit_cast::<48, 64>(self.lower_half.val())))
                    | (bit_cast::<48, 32>(self.high_data.val()) << 32);
            } else if self.store_row.val() == self.row_ip.val() {
                self.own_pkey.d.next = bit_cast::<16, 32>(self.high_data.val());
            } else if self.store_row.val() == self.row_raw.val() {
                self.channel_vi.d.next = bit_cast::<10, 32>(self.high_data.val());
                self.channel_flags.d.next = self.high_data.val().get_bits::<4>(16);
            } else if self.store_row.val() == self.row_stage0.val() {
                self.staged0.d.next = (self.staged0.d.val() & self.lower_half.val())
                    | (bit_cast::<64, 32>(self.high_data.val()) << 32);
            } else if self.store_row.val() == self.row_stage1.val() {
                self.staged1.d.next = (self.staged1.d.val() & self.lower_half.val())
                    | (bit_cast::<64, 32>(self.high_data.val()) << 32);
            } else if self.store_row.val() == self.row_stage2.val() {
                self.staged2.d.next = (self.staged2.d.val() & self.lower_half.val())
                    | (bit_cast::<64, 32>(self.high_data.val()) << 32);
            }
        }

        // Loads.
        self.state_bits.from.next = self.state.val();
        self.load_row.next = self.address.q.val().get_bits::<17>(3);
        self.controls.next = bit_cast::<64, 4>(self.state_bits.to.val()) << 32;
        self.answer.valid.next = false;
        self.answer.data.next = self.value.q.val();
        self.counter.valid.next = false;
        self.counter_number.next = self.address.q.val().get_bits::<6>(3);
        self.counter.data.next = self.counter_number.val();
        self.vector_row.valid.next = false;
        self.vector_row.data.next = self.address.q.val().get_bits::<VECTOR_ROW_LOG2>(3);
        match self.step.q.val() {
            Step::Idle => {
                if self.load.valid.val() {
                    self.address.d.next = self.load.data.val();
                    self.step.d.next = Step::Choose;
                }
            }
            Step::Choose => {
                self.step.d.next = Step::Answer;
                self.value.d.next = bits::<64>(0);
                if self.load_row.val() == self.row_magic.val() {
                    self.value.d.next = self.magic.val();
                } else if self.load_row.val() == self.row_kind.val() {
                    self.value.d.next = self.kind.val();
                } else if self.load_row.val() == self.row_regions.val() {
                    self.value.d.next = self.sizes.val();
                } else if self.load_row.val() == self.row_doorbell.val() {
                    self.value.d.next = self.doorbell.val();
                } else if self.load_row.val() == self.row_control.val() {
                    if self.receiving.q.val() & self.sending.q.val() {
                        self.value.d.next =
                            self.controls.val() | self.receive_bit.val() | self.send_bit.val();
                    } else if self.receiving.q.val() {
                        self.value.d.next = self.controls.val() | self.receive_bit.val();
                    } else if self.sending.q.val() {
                        self.value.d.next = self.controls.val() | self.send_bit.val();
                    } else {
                        self.value.d.next = self.controls.val();
                    }
                } else if self.load_row.val() == self.row_mac.val() {
                    self.value.d.next = bit_cast::<64, 48>(self.own_mac.q.val());
                } else if self.load_row.val() == self.row_ip.val() {
                    self.value.d.next = (bit_cast::<64, 16>(self.own_pkey.q.val()) << 32)
                        | bit_cast::<64, 32>(self.own_ip.q.val());
                } else if self.load_row.val() == self.row_stage0.val() {
                    self.value.d.next = self.staged0.q.val();
                } else if self.load_row.val() == self.row_stage1.val() {
                    self.value.d.next = self.staged1.q.val();
                } else if self.load_row.val() == self.row_stage2.val() {
                    self.value.d.next = self.staged2.q.val();
                } else if self.load_row.val() == self.row_result.val() {
                    self.value.d.next = self.result.val();
                } else if self.load_row.val() == self.row_time.val() {
                    self.value.d.next = self.cqs.val() | bit_cast::<64, 32>(self.time_now.val());
                } else if self.load_row.val() == self.row_raw.val() {
                    self.value.d.next = (bit_cast::<64, 10>(self.channel_vi.q.val()) << 32)
                        | (bit_cast::<64, 4>(self.channel_flags.q.val()) << 48)
                        | self.read_depth.val();
                } else if self.load_row.val() == self.row_pending.val() {
                    self.value.d.next = bit_cast::<64, VECTORS>(self.vectors_pending.val());
                } else if self.address.q.val().get_bits::<13>(7) == self.vector_rows.val() {
                    self.step.d.next = Step::Vector;
                } else if (self.address.q.val().get_bits::<11>(9) == self.counter_rows.val())
                    & (self.counter_number.val() < self.counters.val())
                {
                    self.step.d.next = Step::Count;
                }
            }
            Step::Count => {
                self.counter.valid.next = true;
                if self.counter_value.valid.val() {
                    self.value.d.next = bit_cast::<64, 36>(self.counter_value.data.val());
                    self.step.d.next = Step::Answer;
                }
            }
            Step::Vector => {
                self.vector_row.valid.next = true;
                if self.vector_value.valid.val() {
                    self.value.d.next = self.vector_value.data.val();
                    self.step.d.next = Step::Answer;
                }
            }
            Step::Answer => {
                self.answer.valid.next = true;
                self.step.d.next = Step::Idle;
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }

        if self.restart.val() {
            self.step.d.next = Step::Idle;
        }
        if self.reset.val() {
            self.receiving.d.next = false;
            self.sending.d.next = false;
            self.resetting.d.next = false;
            self.commanded.d.next = false;
            self.own_mac.d.next = bits::<48>(0);
            self.own_ip.d.next = bits::<32>(0);
            self.own_pkey.d.next = self.default_pkey.val();
            self.channel_flags.d.next = bits::<4>(0);
            self.channel_vi.d.next = bits::<10>(0);
        }
    }
}
