//! The other implementation's server runs over plain memory.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::FileExt,
    thread::{self, JoinHandle},
};

use vfio_bindings::bindings::vfio::{
    vfio_region_info, VFIO_IRQ_INFO_EVENTFD, VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_IRQ_SET_DATA_EVENTFD,
    VFIO_IRQ_SET_DATA_NONE, VFIO_PCI_MSIX_IRQ_INDEX,
};
use vfio_user::{DmaMapFlags, DmaUnmapFlags, IrqInfo, Server, ServerBackend, ServerRegion};

use super::Place;

/// Three regions of plain memory, and whatever memory the client maps.
struct Backend {
    regions: [Vec<u8>; 3],
    maps: Vec<(u64, u64, u64, DmaMapFlags, File)>,
    resets: usize,
    /// Eventfds of the MSI-X vectors.
    events: Vec<Option<File>>,
}

fn slot(region: u32) -> io::Result<usize> {
    match region {
        0 => Ok(0),
        2 => Ok(1),
        7 => Ok(2),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

impl ServerBackend for Backend {
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> io::Result<()> {
        // Offset 0xf000 of BAR 0: what the device reads at DMA address = the last 8 bytes written there.
        if region == 0 && offset == 0xf000 {
            let iova = u64::from_le_bytes(self.regions[0][0xf000..0xf008].try_into().expect("8 bytes"));
            let (start, _, at, _, file) = self
                .maps
                .iter()
                .find(|map| (map.0..map.0 + map.1).contains(&iova))
                .ok_or(io::ErrorKind::NotFound)?;
            return file.read_exact_at(data, at + (iova - start));
        }
        data.copy_from_slice(&self.regions[slot(region)?][offset as usize..][..data.len()]);
        Ok(())
    }
    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> io::Result<()> {
        // Offset 0xf008 of BAR 0: written to memory at the DMA address in 0xf000.
        if region == 0 && offset == 0xf008 {
            let iova = u64::from_le_bytes(self.regions[0][0xf000..0xf008].try_into().expect("8 bytes"));
            let (start, _, at, _, file) = self
                .maps
                .iter()
                .find(|map| (map.0..map.0 + map.1).contains(&iova))
                .ok_or(io::ErrorKind::NotFound)?;
            // A refusal of the system must not end the server.
            let done = file.write_all_at(data, at + (iova - start)).is_ok();
            self.regions[0][0xf010] = done.into();
            return Ok(());
        }
        // Offset 0xf018 of BAR 0: raises the vector.
        if region == 0 && offset == 0xf018 {
            if let Some(Some(event)) = self.events.get(usize::from(data[0])) {
                (&*event).write_all(&1u64.to_ne_bytes())?;
            }
            return Ok(());
        }
        self.regions[slot(region)?][offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }
    fn dma_map(
        &mut self,
        flags: DmaMapFlags,
        offset: u64,
        address: u64,
        size: u64,
        file: Option<File>,
    ) -> io::Result<()> {
        if self.maps.iter().any(|map| address < map.0 + map.1 && map.0 < address + size) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.maps.push((address, size, offset, flags, file.ok_or(io::ErrorKind::InvalidInput)?));
        Ok(())
    }
    fn dma_unmap(&mut self, _: DmaUnmapFlags, address: u64, size: u64) -> io::Result<()> {
        let before = self.maps.len();
        self.maps.retain(|map| (map.0, map.1) != (address, size));
        if self.maps.len() == before {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(())
    }
    fn reset(&mut self) -> io::Result<()> {
        self.resets += 1;
        self.regions[0][..8].fill(self.resets as u8);
        Ok(())
    }
    fn set_irqs(
        &mut self,
        index: u32,
        flags: u32,
        start: u32,
        count: u32,
        files: Vec<File>,
    ) -> io::Result<()> {
        const NONE: u32 = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
        const EVENTFD: u32 = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
        match (index, flags, start as usize, count as usize) {
            (VFIO_PCI_MSIX_IRQ_INDEX, NONE, 0, 0) if files.is_empty() => self.events.clear(),
            (VFIO_PCI_MSIX_IRQ_INDEX, EVENTFD, start, count)
                if files.len() == count && start + count <= VECTORS =>
            {
                self.events.resize_with(VECTORS, || None);
                for (event, file) in self.events[start..].iter_mut().zip(files) {
                    *event = Some(file);
                }
            }
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        }
        Ok(())
    }
}

/// MSI-X vectors of the other implementation's function: more than go with one message.
pub const VECTORS: usize = 20;

/// The other implementation's server; it ends when its client does.
pub fn serve(place: &Place) -> JoinHandle<()> {
    let sizes = [0x10000, 0, 0x40000, 0, 0, 0, 0, 0x1000, 0];
    let regions = sizes
        .iter()
        .zip(0..)
        .map(|(size, index)| ServerRegion {
            region_info: vfio_region_info {
                argsz: 32,
                flags: 3,
                index,
                cap_offset: 0,
                size: *size,
                offset: 0,
            },
            sparse_areas: Vec::new(),
            mmap_fd: None,
        })
        .collect();
    let irqs = (0..5)
        .map(|index| match index {
            VFIO_PCI_MSIX_IRQ_INDEX => IrqInfo { index, flags: VFIO_IRQ_INFO_EVENTFD, count: VECTORS as u32 },
            _ => IrqInfo { index, flags: 0, count: 0 },
        })
        .collect();
    let server = Server::new(&place.socket, true, irqs, regions).expect("a server");
    thread::spawn(move || {
        let regions = [vec![0; 0x10000], vec![0; 0x40000], vec![0; 0x1000]];
        let mut backend = Backend { regions, maps: Vec::new(), resets: 0, events: Vec::new() };
        // It ends with an error when the client goes: that is how it is told.
        let _ = server.run(&mut backend);
    })
}
