//! The vfio-user client against another implementation's server, and against peers that are no
//! servers at all.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{fs::FileExt, net::UnixListener},
    },
    path::PathBuf,
    sync::mpsc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rand::{Rng, RngCore, SeedableRng};
use rustix::event::{eventfd, EventfdFlags};
use vfio_bindings::bindings::vfio::{
    vfio_region_info, VFIO_IRQ_INFO_EVENTFD, VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_IRQ_SET_DATA_EVENTFD,
    VFIO_IRQ_SET_DATA_NONE, VFIO_PCI_MSIX_IRQ_INDEX,
};
use vfio_user::{DmaMapFlags, DmaUnmapFlags, IrqInfo, Server, ServerBackend, ServerRegion};
use viaduct_driver::{
    device::{Bar, DeviceError, DmaAccess, PciDevice},
    memory::Mapping,
    vfio_user::VfioUser,
};

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
const VECTORS: usize = 20;

struct Place {
    _folder: tempfile::TempDir,
    socket: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    Place { socket: folder.path().join("nic.sock"), _folder: folder }
}

/// The other implementation's server; it ends when its client does.
fn serve(place: &Place) -> JoinHandle<()> {
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

#[test]
fn another_implementations_server_understands_the_client() {
    let place = place();
    let server = serve(&place);
    let device = VfioUser::open(&place.socket).expect("a server");

    device.write64(Bar::Registers, 0x40, 0x1122_3344_5566_7788).expect("posted");
    assert_eq!(device.read64(Bar::Registers, 0x40).ok(), Some(0x1122_3344_5566_7788));
    assert_eq!(device.read32(Bar::Registers, 0x44).ok(), Some(0x1122_3344));
    device.write32(Bar::Doorbells, 0x3f008, 9).expect("posted");
    assert_eq!(device.read32(Bar::Doorbells, 0x3f008).ok(), Some(9));
    device.config_write32(4, 6).expect("taken");
    assert_eq!(device.config_read32(4).ok(), Some(6));
    device.reset().expect("taken");
    assert_eq!(device.read32(Bar::Registers, 0).ok(), Some(0x0101_0101));

    for (bar, offset) in [(Bar::Registers, 0x10000), (Bar::Registers, 0x42), (Bar::Doorbells, u64::MAX - 7)] {
        let error = device.read64(bar, offset).expect_err("outside, or not aligned");
        assert!(matches!(error, DeviceError::Refused { .. }), "{error}");
    }
    drop(device);
    server.join().expect("the server ends with its client");
}

#[test]
fn the_server_reaches_mapped_memory_and_no_other() {
    let place = place();
    let server = serve(&place);
    let device = VfioUser::open(&place.socket).expect("a server");
    let memory = Mapping::new(8192).expect("memory");
    let start = memory.start().as_ptr() as usize;
    let word = || unsafe {
        // SAFETY: inside the mapping, aligned.
        memory.start().as_ptr().add(4096).cast::<u64>().read_volatile()
    };
    let map = |access| unsafe {
        // SAFETY: the mapping lives to the end of the test, and no reference into it exists.
        device.map_dma(start as u64, start, 8192, access)
    };
    let dma_write = |value| {
        device.write64(Bar::Registers, 0xf000, start as u64 + 4096).expect("posted");
        device.write64(Bar::Registers, 0xf008, value).expect("posted");
        device.read32(Bar::Registers, 0xf010).expect("whether it was done") == 1
    };
    map(DmaAccess::ReadWrite).expect("mapped");
    assert!(dma_write(0x5eed));
    assert_eq!(word(), 0x5eed);
    assert_eq!(device.read64(Bar::Registers, 0xf000).ok(), Some(0x5eed));
    assert!(matches!(map(DmaAccess::Read), Err(DeviceError::Refused { .. })), "mapped twice");

    device.unmap_dma(start as u64, 8192).expect("it is mapped");
    assert!(matches!(device.unmap_dma(start as u64, 8192), Err(DeviceError::Refused { .. })));
    let odd = device.unmap_dma(start as u64 + 1, 8192).expect_err("not a page").to_string();
    assert!(odd.contains("whole pages"), "{odd}");

    map(DmaAccess::Read).expect("mapped");
    assert!(!dma_write(7), "the descriptor that came with the map is for reading only");
    assert_eq!(word(), 0x5eed);
    assert_eq!(device.read64(Bar::Registers, 0xf000).ok(), Some(0x5eed));
    drop(device);
    server.join().expect("the server ends with its client");
}

#[test]
fn each_vector_has_its_eventfd() {
    let place = place();
    let server = serve(&place);
    let device = VfioUser::open(&place.socket).expect("a server");
    assert_eq!(device.vectors(), VECTORS);
    assert!(device.may_sleep());
    let events: Vec<OwnedFd> =
        (0..VECTORS).map(|_| eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd")).collect();
    let count = |n: usize| {
        let mut value = [0; 8];
        rustix::io::read(&events[n], &mut value).map_or(0, |_| u64::from_ne_bytes(value))
    };
    let raise = |vector: usize| {
        device.write32(Bar::Registers, 0xf018, vector as u32).expect("posted");
        device.read32(Bar::Registers, 0).expect("behind the write");
    };
    let borrowed: Vec<BorrowedFd<'_>> = events.iter().map(AsFd::as_fd).collect();
    device.set_interrupts(&borrowed).expect("there are as many");
    for vector in 0..VECTORS {
        raise(vector);
        raise(vector);
        let counts: Vec<u64> = (0..VECTORS).map(count).collect();
        assert!((0..VECTORS).all(|n| counts[n] == if n == vector { 2 } else { 0 }), "{vector}: {counts:?}");
    }
    // Fewer than before: the others are silent.
    device.set_interrupts(&borrowed[..2]).expect("there are more");
    (0..VECTORS).for_each(raise);
    assert_eq!((0..VECTORS).map(count).collect::<Vec<u64>>()[..3], [1, 1, 0]);
    device.set_interrupts(&[]).expect("off");
    raise(0);
    assert_eq!(count(0), 0);
    let more: Vec<BorrowedFd<'_>> = [&borrowed[..], &borrowed[..1]].concat();
    assert!(matches!(device.set_interrupts(&more), Err(DeviceError::Refused { .. })));
    drop(device);
    server.join().expect("the server ends with its client");
}

#[test]
fn a_server_without_interrupts_has_no_vectors() {
    let refusal = words(&[7 << 16 | 5, 16, 0x21, 22]);
    let no_eventfds = reply(5, 7, &words(&[16, 0, 2, 3]));
    let absurd = reply(5, 7, &words(&[16, 1, 2, u32::MAX]));
    for (answer, vectors) in [(refusal, 0), (no_eventfds, 0), (absurd, 2048)] {
        let place = place();
        let mut answers = opening();
        answers[5] = answer;
        let (_stop, thread) = peer(&place, answers, true);
        assert_eq!(VfioUser::open(&place.socket).expect("so far it is sound").vectors(), vectors);
        thread.join().expect("the peer ends");
    }
}

/// A peer that answers each thing it receives with the next of `answers`, then holds the socket
/// open, silent, until told; or closes it at once.
fn peer(place: &Place, answers: Vec<Vec<u8>>, close: bool) -> (mpsc::Sender<()>, JoinHandle<()>) {
    let listener = UnixListener::bind(&place.socket).expect("a socket");
    let (stop, told) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the client");
        let mut buffer = [0; 4096];
        for answer in answers {
            if !matches!(stream.read(&mut buffer), Ok(n) if n > 0) || stream.write_all(&answer).is_err() {
                return;
            }
        }
        if !close {
            let _ = told.recv_timeout(Duration::from_secs(20));
        }
    });
    (stop, thread)
}

fn reply(id: u16, command: u16, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    message.extend_from_slice(&id.to_le_bytes());
    message.extend_from_slice(&command.to_le_bytes());
    message.extend_from_slice(&(16 + body.len() as u32).to_le_bytes());
    message.extend_from_slice(&1u32.to_le_bytes());
    message.extend_from_slice(&0u32.to_le_bytes());
    message.extend_from_slice(body);
    message
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// What a sound server says until the client is open.
fn opening() -> Vec<Vec<u8>> {
    let region = |id, index, size| reply(id, 5, &words(&[32, 3, index, 0, size, 0, 0, 0]));
    vec![
        reply(0, 1, b"\0\0\0\0{\"capabilities\":{}}\0"),
        reply(1, 4, &words(&[16, 2, 9, 5])),
        region(2, 0, 0x10000),
        region(3, 2, 0x40000),
        region(4, 7, 0x1000),
        reply(5, 7, &words(&[16, 1, 2, 3])),
    ]
}

const TIMEOUT: Duration = Duration::from_millis(300);

#[test]
fn a_server_that_closes_is_gone_at_once_and_for_good() {
    let place = place();
    let (_stop, thread) = peer(&place, opening(), true);
    let device = VfioUser::open(&place.socket).expect("so far it is sound");
    thread.join().expect("the peer closes");
    let start = Instant::now();
    let name = place.socket.display().to_string();
    for error in [
        device.read32(Bar::Registers, 0).err(),
        device.read64(Bar::Registers, 0).err(),
        device.write64(Bar::Doorbells, 0, 1).err(),
        device.config_read32(0).err(),
        device.config_write32(4, 6).err(),
        device.unmap_dma(0, 4096).err(),
        device.reset().err(),
    ] {
        let error = error.expect("nobody is there");
        assert!(matches!(error, DeviceError::Gone { .. }) && error.to_string().contains(&name), "{error}");
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn a_server_that_is_silent_is_given_up() {
    let place = place();
    let (stop, thread) = peer(&place, opening(), false);
    let device = VfioUser::open_with_timeout(&place.socket, TIMEOUT).expect("so far it is sound");
    let start = Instant::now();
    let error = device.read32(Bar::Registers, 0).expect_err("no answer comes").to_string();
    assert!(error.contains("does not answer"), "{error}");
    assert!(start.elapsed() >= TIMEOUT && start.elapsed() < 5 * TIMEOUT, "{:?}", start.elapsed());
    let start = Instant::now();
    assert!(device.write64(Bar::Doorbells, 0, 1).is_err(), "gone for good");
    assert!(start.elapsed() < TIMEOUT);
    drop(stop);
    thread.join().expect("the peer ends");
}

#[test]
fn a_server_that_takes_nothing_is_given_up() {
    let place = place();
    let (stop, thread) = peer(&place, opening(), false);
    let device = VfioUser::open_with_timeout(&place.socket, TIMEOUT).expect("so far it is sound");
    let start = Instant::now();
    // Posted writes need no answer: they fill the socket first.
    let error = loop {
        if let Err(error) = device.write64(Bar::Doorbells, 0, 1) {
            break error.to_string();
        }
        assert!(start.elapsed() < Duration::from_secs(10), "a socket holds no more than some 100 kB");
    };
    assert!(error.contains("takes nothing"), "{error}");
    drop(stop);
    thread.join().expect("the peer ends");
}

#[test]
fn wrong_answers_end_the_connection() {
    let access = words(&[0, 0, 0, 4]);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("another id", reply(9, 9, &[access.clone(), vec![0; 4]].concat())),
        ("another command", reply(6, 10, &[access.clone(), vec![0; 4]].concat())),
        ("no data", reply(6, 9, &access)),
        ("too much data", reply(6, 9, &[access.clone(), vec![0; 8]].concat())),
        ("another offset", reply(6, 9, &[words(&[8, 0, 0, 4]), vec![0; 4]].concat())),
        ("another region", reply(6, 9, &[words(&[0, 0, 2, 4]), vec![0; 4]].concat())),
        ("an absurd size", [&words(&[9 << 16 | 6, u32::MAX, 1, 0])[..], &[0; 64]].concat()),
        ("half a header", words(&[9 << 16 | 6, 36])),
    ];
    for (what, answer) in cases {
        let place = place();
        let (stop, thread) = peer(&place, [opening(), vec![answer]].concat(), false);
        let device = VfioUser::open_with_timeout(&place.socket, TIMEOUT).expect("so far it is sound");
        let error = device.read32(Bar::Registers, 0).expect_err(what);
        assert!(matches!(error, DeviceError::Gone { .. }), "{what}: {error}");
        assert!(matches!(device.reset(), Err(DeviceError::Gone { .. })), "{what}: gone for good");
        drop(stop);
        thread.join().expect("the peer ends");
    }
}

#[test]
fn a_refusal_is_an_error_and_not_the_end() {
    let place = place();
    let refusal = words(&[13 << 16 | 6, 16, 0x21, 95]);
    let (_stop, thread) = peer(&place, [opening(), vec![refusal, reply(7, 13, &[])]].concat(), true);
    let device = VfioUser::open(&place.socket).expect("so far it is sound");
    let error = device.reset().expect_err("refused");
    assert!(matches!(error, DeviceError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("not supported"), "{error}");
    device.reset().expect("it was only one no");
    thread.join().expect("the peer ends");
}

#[test]
fn what_is_no_nic_is_refused() {
    let open = |change: fn(&mut Vec<Vec<u8>>)| {
        let place = place();
        let mut answers = opening();
        change(&mut answers);
        let (_stop, thread) = peer(&place, answers, true);
        let error = VfioUser::open(&place.socket).err().expect("refused").to_string();
        thread.join().expect("the peer ends");
        error
    };
    assert!(open(|a| a[0] = reply(0, 1, b"\x01\0\0\0{}\0")).contains("version 1"));
    assert!(open(|a| a[1] = reply(1, 4, &words(&[16, 4, 9, 5]))).contains("PCI"));
    assert!(open(|a| a[1] = reply(1, 4, &words(&[16, 2, 1, 5]))).contains("PCI"));
    assert!(open(|a| a[2] = reply(2, 5, &words(&[32, 3, 0, 0, 64, 0, 0, 0]))).contains("region 0"));
    assert!(open(|a| a[3] = reply(3, 5, &words(&[32, 0, 2, 0, 0x40000, 0, 0, 0]))).contains("region 2"));
    assert!(open(|a| a[4] = reply(4, 5, &[1, 2, 3])).contains("ends before"));
    assert!(open(|a| a[5] = reply(5, 7, &words(&[16, 1, 2]))).contains("ends before"));
    let nobody = VfioUser::open("/no/such/socket").err().expect("nobody").to_string();
    assert!(nobody.contains("/no/such/socket"), "{nobody}");
}

#[test]
fn garbage_is_never_a_panic_and_never_a_hang() {
    let seed: u64 = rand::random();
    println!("seed {seed:#x}");
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    for round in 0..40 {
        let place = place();
        let mut answers = opening();
        answers.extend((0..3).map(|n| reply(6 + n, 9, &[words(&[0, 0, 0, 4]), vec![0; 4]].concat())));
        // Damage one answer, and leave the others.
        let victim = rng.random_range(0..answers.len());
        let answer = &mut answers[victim];
        match rng.random_range(0..3) {
            0 => rng.fill_bytes(answer),
            1 => answer.truncate(rng.random_range(0..answer.len())),
            _ => {
                let at = rng.random_range(0..answer.len());
                answer[at] ^= 1 << rng.random_range(0..8);
            }
        }
        let (_stop, thread) = peer(&place, answers, true);
        let start = Instant::now();
        if let Ok(device) = VfioUser::open_with_timeout(&place.socket, TIMEOUT) {
            for _ in 0..4 {
                let _ = device.read32(Bar::Registers, 0);
            }
        }
        assert!(start.elapsed() < 6 * TIMEOUT, "seed {seed:#x}, round {round}: {:?}", start.elapsed());
        thread.join().expect("the peer ends");
    }
}
