//! A vfio-user client that keeps its memory to itself and answers DMA messages, as QEMU does: one
//! thread reads the socket; requests are answered by another, which needs the client's big lock;
//! and whoever waits for a load holds that lock, if the test wants it so.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::ops::RangeInclusive;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use viaduct_driver::device::{Bar, DeviceError, DmaAccess, PciDevice};
use viaduct_spec::profile::VECTORS;

pub const DMA_READ: u16 = 11;
pub const DMA_WRITE: u16 = 12;

/// A message: id, command, flags, error number, body.
pub struct Message {
    pub id: u16,
    pub command: u16,
    pub flags: u32,
    pub error: u32,
    pub body: Vec<u8>,
}

impl Message {
    pub fn receive(stream: &mut UnixStream) -> Option<Self> {
        let mut header = [0; 16];
        stream.read_exact(&mut header).ok()?;
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap());
        let mut body = vec![0; word(4) as usize - 16];
        stream.read_exact(&mut body).ok()?;
        let half = |at: usize| u16::from_le_bytes(header[at..at + 2].try_into().unwrap());
        Some(Self { id: half(0), command: half(2), flags: word(8), error: word(12), body })
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = [self.id.to_le_bytes(), self.command.to_le_bytes()].concat();
        for word in [16 + self.body.len() as u32, self.flags, self.error] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Address and count of a DMA message.
    pub fn access(&self) -> (u64, usize) {
        let word = |at: usize| u64::from_le_bytes(self.body[at..at + 8].try_into().unwrap());
        (word(0), word(8) as usize)
    }

    /// The reply to a DMA message; `None`: refused.
    pub fn answer(&self, data: Option<&[u8]>) -> Self {
        let (flags, error) = if data.is_some() { (1, 0) } else { (0x21, 19) };
        let body = match data {
            // QEMU answers a write with a header alone.
            Some(data) if self.command == DMA_READ => [&self.body[..16], data].concat(),
            _ => Vec::new(),
        };
        Self { id: self.id, command: self.command, flags, error, body }
    }
}

pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[derive(Default)]
struct Memory {
    /// DMA address, to address in this process, length and whether it may be written.
    maps: BTreeMap<u64, (u64, u64, bool)>,
    served: u64,
}

impl Memory {
    fn place(&self, address: u64, count: usize, write: bool) -> Option<u64> {
        let (&start, &(there, length, writable)) = self.maps.range(..=address).next_back()?;
        let inside = address - start + count as u64 <= length;
        (inside && (writable || !write)).then_some(there + (address - start))
    }
}

/// A client whose memory is reached by message.
pub struct Remote {
    stream: Arc<Mutex<UnixStream>>,
    replies: Mutex<(u16, Receiver<Message>)>,
    memory: Arc<Mutex<Memory>>,
    big_lock: Arc<Mutex<()>>,
    holds_lock: bool,
}

impl Remote {
    /// With `holds_lock`, a load keeps this client from answering, as under QEMU.
    pub fn connect(socket: &Path, holds_lock: bool) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        let mut reader = stream.try_clone().unwrap();
        let stream = Arc::new(Mutex::new(stream));
        let memory = Arc::new(Mutex::new(Memory::default()));
        let big_lock = Arc::new(Mutex::new(()));
        let (to_caller, replies) = mpsc::channel();
        let (to_main, requests) = mpsc::channel::<Message>();
        thread::spawn(move || {
            while let Some(message) = Message::receive(&mut reader) {
                let sent = match message.flags & 0xF {
                    0 => to_main.send(message).is_ok(),
                    _ => to_caller.send(message).is_ok(),
                };
                if !sent {
                    break;
                }
            }
        });
        let main = (stream.clone(), memory.clone(), big_lock.clone());
        thread::spawn(move || {
            let (stream, memory, big_lock) = main;
            let own = OpenOptions::new().read(true).write(true).open("/proc/self/mem").unwrap();
            for request in requests {
                let _lock = big_lock.lock().unwrap();
                let reply = serve(&request, &mut memory.lock().unwrap(), &own);
                // The simulator may be gone.
                if stream.lock().unwrap().write_all(&reply.bytes()).is_err() {
                    break;
                }
            }
        });
        let remote = Self { stream, replies: Mutex::new((0, replies)), memory, big_lock, holds_lock };
        remote.ask(1, b"\0\0\x01\0{\"capabilities\":{\"max_data_xfer_size\":200}}\0", &[]).unwrap();
        remote
    }

    /// DMA messages that have been answered.
    pub fn served(&self) -> u64 {
        self.memory.lock().unwrap().served
    }

    /// The error number, or the body of the reply.
    pub fn ask(&self, command: u16, body: &[u8], fds: &[BorrowedFd]) -> Result<Vec<u8>, u32> {
        let mut replies = self.replies.lock().unwrap();
        let _lock = self.holds_lock.then(|| self.big_lock.lock().unwrap());
        replies.0 = replies.0.wrapping_add(1);
        let message = Message { id: replies.0, command, flags: 0, error: 0, body: body.to_vec() };
        let bytes = message.bytes();
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        assert!(fds.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(fds)));
        {
            let stream = self.stream.lock().unwrap();
            let sent =
                sendmsg(&*stream, &[std::io::IoSlice::new(&bytes)], &mut ancillary, SendFlags::empty());
            assert_eq!(sent.unwrap(), bytes.len());
        }
        // What QEMU allows.
        let reply = replies.1.recv_timeout(Duration::from_secs(5)).expect("no reply within 5 s");
        assert_eq!((reply.id, reply.command), (message.id, command));
        if reply.flags & 0x20 != 0 {
            return Err(reply.error);
        }
        Ok(reply.body)
    }

    fn region_read(&self, region: u32, offset: u64, count: u32) -> u64 {
        let body = [&offset.to_le_bytes()[..], &words(&[region, count])].concat();
        let reply = self.ask(9, &body, &[]).unwrap();
        let mut value = [0; 8];
        value[..count as usize].copy_from_slice(&reply[16..]);
        u64::from_le_bytes(value)
    }

    fn region_write(&self, region: u32, offset: u64, data: &[u8]) {
        let header = [&offset.to_le_bytes()[..], &words(&[region, data.len() as u32])].concat();
        self.ask(10, &[&header, data].concat(), &[]).unwrap();
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.stream.lock().unwrap().shutdown(Shutdown::Both);
    }
}

fn serve(request: &Message, memory: &mut Memory, own: &File) -> Message {
    memory.served += 1;
    let (address, count) = request.access();
    assert!(count <= 200, "more than the client takes");
    let Some(place) = memory.place(address, count, request.command == DMA_WRITE) else {
        return request.answer(None);
    };
    let mut data = vec![0; count];
    match request.command {
        DMA_READ => own.read_exact_at(&mut data, place).unwrap(),
        // An aligned word is written in one access: DONE never comes before the rest.
        DMA_WRITE => own.write_all_at(&request.body[16..], place).unwrap(),
        command => panic!("command {command}"),
    }
    request.answer(Some(&data))
}

fn region(bar: Bar) -> u32 {
    match bar {
        Bar::Registers => 0,
        Bar::Doorbells => 2,
    }
}

impl PciDevice for Remote {
    fn read32(&self, bar: Bar, offset: u64) -> Result<u32, DeviceError> {
        Ok(self.region_read(region(bar), offset, 4) as u32)
    }

    fn read64(&self, bar: Bar, offset: u64) -> Result<u64, DeviceError> {
        Ok(self.region_read(region(bar), offset, 8))
    }

    fn write32(&self, bar: Bar, offset: u64, value: u32) -> Result<(), DeviceError> {
        self.region_write(region(bar), offset, &value.to_le_bytes());
        Ok(())
    }

    fn write64(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        self.region_write(region(bar), offset, &value.to_le_bytes());
        Ok(())
    }

    fn config_read32(&self, offset: u16) -> Result<u32, DeviceError> {
        Ok(self.region_read(7, offset.into(), 4) as u32)
    }

    fn config_write32(&self, offset: u16, value: u32) -> Result<(), DeviceError> {
        self.region_write(7, offset.into(), &value.to_le_bytes());
        Ok(())
    }

    unsafe fn map_dma(
        &self,
        iova: u64,
        address: usize,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        let map = (address as u64, length as u64, access == DmaAccess::ReadWrite);
        self.memory.lock().unwrap().maps.insert(iova, map);
        Ok(())
    }

    fn unmap_dma(&self, iova: u64, _length: usize) -> Result<(), DeviceError> {
        self.memory.lock().unwrap().maps.remove(&iova);
        Ok(())
    }

    fn dma_ranges(&self) -> Vec<RangeInclusive<u64>> {
        vec![1 << 32..=(1 << 39) - 1]
    }

    fn vectors(&self) -> usize {
        VECTORS
    }

    fn set_interrupts(&self, events: &[BorrowedFd<'_>]) -> Result<(), DeviceError> {
        let (flags, none) = (1 << 2 | 1 << 5, 1 << 0 | 1 << 5);
        self.ask(8, &words(&[20, none, 2, 0, 0]), &[]).unwrap();
        if !events.is_empty() {
            self.ask(8, &words(&[20, flags, 2, 0, events.len() as u32]), events).unwrap();
        }
        Ok(())
    }

    fn may_sleep(&self) -> bool {
        true
    }

    fn reset(&self) -> Result<(), DeviceError> {
        self.ask(13, &[], &[]).unwrap();
        Ok(())
    }

    fn pause(&self) {
        thread::sleep(Duration::from_micros(50));
    }
}
