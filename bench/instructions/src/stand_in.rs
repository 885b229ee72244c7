//! A stand-in for a NIC whose doorbell pages are memory: a vfio-user server that lets its client map them. It takes part in no network. It
//! completes what is posted, well and in order, before it answers the next message: whoever has been answered finds it complete.

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use vfio_bindings::bindings::vfio::{
    vfio_region_info, vfio_region_sparse_mmap_area, VFIO_IRQ_INFO_EVENTFD, VFIO_PCI_MSIX_IRQ_INDEX,
    VFIO_REGION_INFO_FLAG_CAPS, VFIO_REGION_INFO_FLAG_MMAP, VFIO_REGION_INFO_FLAG_READ,
    VFIO_REGION_INFO_FLAG_WRITE,
};
use vfio_user::{DmaMapFlags, DmaUnmapFlags, IrqInfo, Server, ServerBackend, ServerRegion, SparseArea};
use viaduct_driver::memory::Mapping;
use viaduct_spec::{
    descriptor::{control_segment, status},
    doorbell::{page, token},
    profile::{BAR2_BYTES, CQS, DOORBELL_SHIFT, PAGES, READ_DEPTH, RECEIVE_AHEAD, REGIONS, VECTORS, VIS},
    register::{command, command_op, nic_kind, registers, BAR0_BYTES, MAGIC_VALUE, VERSION_VALUE},
    tables::{completion_queue, cq_entry, receive, service, table, work_queue},
};

use crate::tables::{Map, Tables};

/// Bytes of configuration space.
const CONFIG_BYTES: usize = 4096;
/// The word of a control segment with the immediate data.
const IMMEDIATE_WORD: u64 = 16;
/// The last word of a control segment: Length and Status.
const STATUS_WORD: u64 = 24;
/// Immediate data of a descriptor that stays as it is, as do those behind it: who looks for it finds nothing.
const KEEP: u64 = 0x6b65_6570;

/// The server at a socket; the doorbells that it and its client share.
pub struct StandIn {
    server: Server,
    nic: Nic,
    /// The client gets copies of it.
    _doorbells: OwnedFd,
}

struct Nic {
    doorbells: Mapping,
    registers: Vec<u8>,
    config: Vec<u8>,
    tables: Tables,
    /// The next position of each work queue.
    positions: Vec<u64>,
    /// Entries written of each completion queue.
    written: Vec<u64>,
}

impl StandIn {
    /// Binds a socket, which must not exist.
    ///
    /// # Errors
    /// The system's.
    pub fn bind(socket: &Path) -> io::Result<Self> {
        let (doorbells, file) = Mapping::shared("doorbells", BAR2_BYTES as usize)?;
        let both = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
        let sizes = [BAR0_BYTES, 0, BAR2_BYTES, 0, 0, 0, 0, CONFIG_BYTES as u64, 0];
        let regions = sizes.iter().zip(0..).map(|(&size, index)| {
            let mapped = index == 2;
            let more = VFIO_REGION_INFO_FLAG_MMAP | VFIO_REGION_INFO_FLAG_CAPS;
            let flags = if mapped { both | more } else { both };
            let area = SparseArea { area: vfio_region_sparse_mmap_area { offset: 0, size } };
            ServerRegion {
                region_info: vfio_region_info { argsz: 32, flags, index, cap_offset: 0, size, offset: 0 },
                sparse_areas: if mapped { vec![area] } else { Vec::new() },
                mmap_fd: mapped.then(|| file.as_raw_fd()),
            }
        });
        let irqs = (0..5).map(|index| match index {
            VFIO_PCI_MSIX_IRQ_INDEX => IrqInfo { index, flags: VFIO_IRQ_INFO_EVENTFD, count: VECTORS as u32 },
            _ => IrqInfo { index, flags: 0, count: 0 },
        });
        let server = Server::new(socket, true, irqs.collect(), regions.collect());
        let server = server.map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { server, nic: Nic::new(doorbells), _doorbells: file })
    }

    /// Serves one client, until that goes.
    pub fn serve(mut self) {
        // How a client goes is no error.
        let _ = self.server.run(&mut self.nic);
    }
}

impl Nic {
    fn new(doorbells: Mapping) -> Self {
        let mut registers = vec![0; BAR0_BYTES as usize];
        let sizes = [
            (registers::MAGIC, MAGIC_VALUE),
            (registers::VERSION, VERSION_VALUE),
            (registers::KIND, nic_kind::MODEL),
            (registers::VIS, VIS as u32),
            (registers::CQS, CQS as u32),
            (registers::REGIONS, REGIONS as u32),
            (registers::PAGES, PAGES as u32),
            (registers::DOORBELL_SHIFT, DOORBELL_SHIFT as u32),
            (registers::RECEIVE_AHEAD, RECEIVE_AHEAD as u32),
            (registers::READ_DEPTH, READ_DEPTH as u32),
        ];
        for (offset, value) in sizes {
            registers[offset as usize..][..4].copy_from_slice(&u32::to_le_bytes(value));
        }
        let (positions, written) = (vec![0; 2 * VIS], vec![0; CQS]);
        let config = vec![0; CONFIG_BYTES];
        Self { doorbells, registers, config, tables: Tables::default(), positions, written }
    }

    fn register(&self, offset: u64) -> u64 {
        let bytes = self.registers[offset as usize..][..8].try_into();
        u64::from_le_bytes(bytes.expect("eight bytes"))
    }

    /// The word that was stored last at an offset of a VI's doorbell page.
    fn doorbell(&self, vi: usize, offset: u64) -> u64 {
        let at = (vi << DOORBELL_SHIFT) + offset as usize;
        // SAFETY: an aligned word of the mapping, which all access as atomics.
        unsafe { self.doorbells.start().add(at).cast::<AtomicU64>().as_ref() }.load(Ordering::Acquire)
    }

    /// Completes what is posted.
    fn sweep(&mut self) -> io::Result<()> {
        for queue in 0..2 * VIS {
            let row = self.tables.queue[queue];
            let raw = receive::SERVICE.get(&self.tables.receive[queue / 2]) == u64::from(service::RAW);
            if work_queue::OPEN.get(&row) == 0 || raw {
                continue;
            }
            let is_receive = queue % 2 == 1;
            let word = self.doorbell(queue / 2, if is_receive { page::RECEIVE } else { page::SEND });
            let position = self.positions[queue];
            let end = (token::POSITION.get(&[word]) + 1) & token::POSITION.mask();
            let slots = 1 << work_queue::RING_LOG2.get(&row);
            let count = end.wrapping_sub(position) & token::POSITION.mask();
            // A word of another life is behind.
            if word == 0 || count > slots {
                continue;
            }
            for n in 0..count {
                if !self.complete(&row, (position + n) % slots, is_receive, (queue / 2) as u64)? {
                    break;
                }
                self.positions[queue] = (position + n + 1) & token::POSITION.mask();
            }
        }
        Ok(())
    }

    /// Completes the descriptor in a slot of a ring, unless it is to be kept. Whether it is complete.
    fn complete(&mut self, row: &[u64], slot: u64, is_receive: bool, vi: u64) -> io::Result<bool> {
        let (ring, offset) = (work_queue::RING_REGION.get(row) as usize, work_queue::RING_OFFSET.get(row));
        let found = self.tables.load(ring, offset, 8 * slot)?;
        let (region, units) = (token::REGION.get(&[found]) as usize, token::OFFSET.get(&[found]));
        let mut words = [0, 0, self.tables.load(region, units, IMMEDIATE_WORD)?, 0];
        if control_segment::IMMEDIATE.get(&words) == KEEP {
            return Ok(false);
        }
        let operation = if is_receive { status::OP_RECEIVE } else { status::OP_SEND };
        control_segment::STATUS.put(&mut words, (status::DONE | operation).into());
        self.tables.store(region, units, STATUS_WORD, words[3])?;
        if work_queue::TO_CQ.get(row) == 0 {
            return Ok(true);
        }
        let cq = work_queue::CQ.get(row) as usize;
        let row = self.tables.cq[cq];
        let log2 = completion_queue::RING_LOG2.get(&row);
        let (ring, offset) =
            (completion_queue::RING_REGION.get(&row) as usize, completion_queue::RING_OFFSET.get(&row));
        let mut entry = [found & !(1 << token::SHORT.lo), 0];
        cq_entry::VI.put(&mut entry, vi);
        cq_entry::RECEIVE.put(&mut entry, is_receive.into());
        cq_entry::PHASE.put(&mut entry, !self.written[cq] >> log2 & 1);
        let at = 16 * (self.written[cq] & ((1 << log2) - 1));
        // The phase comes last.
        self.tables.store(ring, offset, at, entry[0])?;
        self.tables.store(ring, offset, at + 8, entry[1])?;
        self.written[cq] += 1;
        Ok(true)
    }

    /// Runs a command.
    fn command(&mut self, word: u64) {
        let word = [word];
        let (op, which) = (command::OP.get(&word) as u8, command::TABLE.get(&word) as u8);
        let row = command::ROW.get(&word) as usize;
        if op != command_op::COMMIT {
            return;
        }
        let stages = [registers::STAGE0, registers::STAGE1, registers::STAGE2];
        self.tables.commit(which, row, stages.map(|stage| self.register(stage)));
        for stage in stages {
            self.registers[stage as usize..][..8].fill(0);
        }
        match which {
            table::WORK_QUEUE if row < self.positions.len() => self.positions[row] = 0,
            table::COMPLETION_QUEUE if row < self.written.len() => self.written[row] = 0,
            _ => {}
        }
    }
}

impl ServerBackend for Nic {
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.sweep()?;
        let bytes = if region == 0 { &self.registers } else { &self.config };
        let end = offset as usize + data.len();
        data.copy_from_slice(bytes.get(offset as usize..end).ok_or(io::ErrorKind::InvalidInput)?);
        Ok(())
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> io::Result<()> {
        let bytes = if region == 0 { &mut self.registers } else { &mut self.config };
        let end = offset as usize + data.len();
        let place = bytes.get_mut(offset as usize..end).ok_or(io::ErrorKind::InvalidInput)?;
        place.copy_from_slice(data);
        if (region, offset) == (0, registers::COMMAND) {
            self.command(self.register(registers::COMMAND));
        }
        Ok(())
    }

    fn dma_map(
        &mut self,
        _: DmaMapFlags,
        offset: u64,
        start: u64,
        length: u64,
        file: Option<File>,
    ) -> io::Result<()> {
        let file = file.ok_or(io::ErrorKind::InvalidInput)?;
        self.tables.maps.push(Map { start, length, offset, file });
        Ok(())
    }

    fn dma_unmap(&mut self, _: DmaUnmapFlags, start: u64, _: u64) -> io::Result<()> {
        self.tables.maps.retain(|map| map.start != start);
        Ok(())
    }

    fn reset(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn set_irqs(&mut self, _: u32, _: u32, _: u32, _: u32, _: Vec<File>) -> io::Result<()> {
        // It raises none.
        Ok(())
    }
}
