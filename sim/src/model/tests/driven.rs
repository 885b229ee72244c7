//! The model driven by hand: what goes in, what comes out, and in which order.

use viaduct_driver::device::Bar;
use viaduct_spec::descriptor::{status, COMPLETION_OFFSET};
use viaduct_spec::doorbell::{self, page};
use viaduct_spec::register::{command, command_op, control, registers};
use viaduct_spec::tables::{
    gather, page as page_row, region, service, table, transmit, vi_state, vi_states, work_queue,
};

use super::bench::row;
use crate::model::{Choices, Driven, Host, Packets, Sent};

/// Where the ring is, the descriptor and its data; all in one region.
const RING: usize = 0;
const DESCRIPTOR: usize = 0x100;
const DATA: usize = 0x200;
const REGION: u16 = 1;
const TAG: u64 = 7;

/// A host of one page that notes what is written.
struct Page {
    bytes: [u8; 4096],
    master: bool,
    written: Vec<(u64, Vec<u8>)>,
}

impl Host for Page {
    fn read(&mut self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.bytes.get(address as usize..address as usize + length).map(<[u8]>::to_vec)
    }

    fn write(&mut self, address: u64, data: &[u8]) {
        self.written.push((address, data.to_vec()));
    }

    fn message(&mut self, _address: u64, _data: u32) {
        panic!("no vector is armed");
    }

    fn bus_master(&self) -> bool {
        self.master
    }

    fn msix(&self) -> bool {
        false
    }
}

fn commit(nic: &mut Driven<Page>, number: u8, at: u64, words: [u64; 3]) {
    for (offset, word) in [registers::STAGE0, registers::STAGE1, registers::STAGE2].into_iter().zip(words) {
        nic.store(Bar::Registers, offset, 8, word);
    }
    let fields =
        [(command::OP, command_op::COMMIT.into()), (command::TABLE, number.into()), (command::ROW, at)];
    nic.store(Bar::Registers, registers::COMMAND, 8, row(&fields)[0]);
}

/// A NIC whose VI 0 is the raw channel's, connected.
fn raw_nic(host: Page) -> Driven<Page> {
    let mut nic = Driven::new(Choices::default(), host);
    let live = [(region::LENGTH, 4096), (region::TAG, TAG), (region::PAGE_SHIFT, 12), (region::LIVE, 1)];
    commit(&mut nic, table::REGION, REGION.into(), row(&live));
    commit(&mut nic, table::PAGE, 0, row(&[(page_row::ADDRESS, 0)]));
    let ring = [
        (work_queue::RING_REGION, REGION.into()),
        (work_queue::RING_OFFSET, RING as u64 / 64),
        (work_queue::RING_LOG2, 3),
        (work_queue::OPEN, 1),
        (work_queue::SYSTEM_TAG, TAG),
        (work_queue::TAG, TAG),
    ];
    commit(&mut nic, table::WORK_QUEUE, 0, row(&ring));
    commit(&mut nic, table::GATHER, 0, row(&[(gather::TAG, TAG), (gather::MAX_TRANSFER, 4096)]));
    commit(&mut nic, table::TRANSMIT, 0, row(&[(transmit::SERVICE, service::RAW.into())]));
    commit(&mut nic, table::VI_STATE, 0, row(&[(vi_state::STATE, vi_states::CONNECTED.into())]));
    nic.store(Bar::Registers, registers::CONTROL, 4, control::SEND_ENABLE.mask() << 1);
    nic
}

#[test]
fn a_driven_nic_sends_when_it_is_asked_and_writes_status_behind_it() {
    let mut host = Page { bytes: [0; 4096], master: false, written: Vec::new() };
    let frame: Vec<u8> = (0..64).collect();
    host.bytes[DATA..DATA + 64].copy_from_slice(&frame);
    // One segment of 64 bytes.
    host.bytes[DESCRIPTOR + 12] = 1;
    host.bytes[DESCRIPTOR + 24] = 64;
    host.bytes[DESCRIPTOR + 32..DESCRIPTOR + 34].copy_from_slice(&(DATA as u16).to_le_bytes());
    let handle = row(&[(viaduct_spec::handle::memory_handle::INDEX, REGION.into())])[0] as u32;
    host.bytes[DESCRIPTOR + 40..DESCRIPTOR + 44].copy_from_slice(&handle.to_le_bytes());
    host.bytes[DESCRIPTOR + 44] = 64;

    let mut nic = raw_nic(host);
    let token = doorbell::encode(REGION, DESCRIPTOR as u64 / 64, 0);
    nic.store(Bar::Doorbells, page::SEND, 8, token);
    assert_eq!(nic.packets(0), Packets::default(), "memory may not be reached yet");
    nic.host().master = true;
    nic.bus_changed();
    assert_eq!(nic.packets(0), Packets { answer: false, request: true });
    assert_eq!(nic.packet(0, true), None);
    assert!(nic.host().written.is_empty(), "nothing before the frame");
    assert_eq!(nic.packet(0, false), Some(Sent { frame, loopback: false }));
    let done = u64::from(status::DONE | status::OP_SEND) << 32 | 64;
    let completion = (DESCRIPTOR as u64 + COMPLETION_OFFSET, done.to_le_bytes().to_vec());
    assert_eq!(nic.host().written, [completion]);
    assert_eq!(nic.packets(0), Packets::default());
    assert_eq!((nic.packet_in_turn(), nic.packets(VIS_BEHIND)), (None, Packets::default()));
    assert_eq!(nic.load(Bar::Registers, registers::MAGIC, 4), u64::from(viaduct_spec::register::MAGIC_VALUE));
}

/// No VI has this number.
const VIS_BEHIND: usize = viaduct_spec::profile::VIS;
