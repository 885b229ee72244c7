//! Memory by message and interrupts over a NIC's socket: a NIC that the test scripts against
//! clients that answer, refuse, lie, keep silent or die; and the Verilated NICs.

use std::fs::File;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::client::{words, Message, Remote, DMA_READ, DMA_WRITE};
use crate::support::scripted::{Script, Scripted, LOADED};
use crate::support::Simulator;
use rustix::event::{eventfd, EventfdFlags};
use viaduct_driver::agent::Options as AgentOptions;
use viaduct_driver::device::{Bar, DmaAccess, PciDevice};
use viaduct_sim::network::{Network, Options};
use viaduct_sim::root_complex::{Dma, NIC_ID};
use viaduct_sim::setup::Setup;
use viaduct_sim::tlp::{Request, Tlp};
use viaduct_spec::descriptor::{control_segment, status};
use viaduct_spec::doorbell::page;
use viaduct_spec::profile::VIS;
use viaduct_spec::register::registers;
use viaduct_spec::tlp::completion_status;
use vipl::{Descriptor, Error, Mac, MemAttributes, Nic, Region, Vi, ViAttributes};

const PAGE: usize = 4096;

struct Scene {
    simulator: Simulator,
    script: Arc<Mutex<Script>>,
}

impl Scene {
    fn start(dma: Dma) -> Self {
        let (nic, script) = Scripted::make();
        let mut options = Options::default();
        options.bus.dma = dma;
        Self { simulator: Simulator::start(Network::new(vec![nic], &options, None)), script }
    }

    fn remote(&self, holds_lock: bool) -> Remote {
        let remote = Remote::connect(&self.simulator.socket(0), holds_lock);
        remote.config_write32(4, 6).unwrap();
        remote
    }

    /// A client that says only what the test says.
    fn raw(&self) -> UnixStream {
        let mut stream = UnixStream::connect(self.simulator.socket(0)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        say(&mut stream, 1, &[0, 0, 1, 0]);
        assert_eq!(Message::receive(&mut stream).unwrap().command, 1);
        say(&mut stream, 10, &words(&[4, 0, 7, 4, 6]));
        assert_eq!(Message::receive(&mut stream).unwrap().command, 10);
        stream
    }

    fn script(&self, packets: &[Tlp]) {
        self.script.lock().unwrap().send.extend(packets.iter().cloned());
    }

    /// Waits for the completions of so many reads.
    fn completions(&self, number: usize) -> Vec<(u8, u8, Vec<u32>)> {
        let mut found = Vec::new();
        within(|| {
            found = self
                .script
                .lock()
                .unwrap()
                .got
                .iter()
                .filter_map(|packet| match packet {
                    Tlp::Completion(c) => Some((c.tag, c.status, c.data.clone())),
                    _ => None,
                })
                .collect();
            found.len() >= number
        });
        found
    }

    fn status(&self) -> viaduct_sim::live::NicStatus {
        self.simulator.handle().status().unwrap().nics.remove(0)
    }
}

fn within(mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "it never came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn say(stream: &mut UnixStream, command: u16, body: &[u8]) {
    let message = Message { id: 0x77, command, flags: 0, error: 0, body: body.to_vec() };
    stream.write_all(&message.bytes()).unwrap();
}

/// A store that wakes the NIC.
const RING: [u32; 6] = [0, 0, 2, 8, 1, 0];

fn ring(stream: &mut UnixStream) {
    let message = Message { id: 0x78, command: 10, flags: 0x10, error: 0, body: words(&RING) };
    stream.write_all(&message.bytes()).unwrap();
}

fn read(address: u64, bytes: usize, tag: u8) -> Tlp {
    Tlp::Read(Request::new(address, bytes, tag, NIC_ID))
}

fn write(address: u64, data: &[u32]) -> Tlp {
    Tlp::Write(Request::new(address, data.len() * 4, 0, NIC_ID), data.to_vec())
}

/// Memory of this process that nothing else refers to while a NIC may change it.
struct Buffer {
    pages: Box<[std::sync::atomic::AtomicU32]>,
}

impl Buffer {
    fn new() -> Self {
        let pages = (0..2 * PAGE / 4).map(|n| std::sync::atomic::AtomicU32::new(n as u32)).collect();
        Self { pages }
    }

    fn start(&self) -> usize {
        (self.pages.as_ptr() as usize).next_multiple_of(PAGE)
    }

    fn word(&self, byte: usize) -> u32 {
        let skipped = self.start() - self.pages.as_ptr() as usize;
        self.pages[(skipped + byte) / 4].load(std::sync::atomic::Ordering::SeqCst)
    }

    fn map(&self, device: &dyn PciDevice, iova: u64) {
        // SAFETY: the words are atomics, and the buffer outlives the device's accesses.
        unsafe { device.map_dma(iova, self.start(), PAGE, DmaAccess::ReadWrite).unwrap() };
    }
}

fn new_eventfd() -> File {
    File::from(eventfd(0, EventfdFlags::NONBLOCK).unwrap())
}

fn count(mut eventfd: &File) -> u64 {
    let mut value = [0; 8];
    eventfd.read(&mut value).map_or(0, |_| u64::from_ne_bytes(value))
}

#[test]
fn memory_is_read_and_written_by_message() {
    let scene = Scene::start(Dma::Messages);
    let remote = scene.remote(false);
    let buffer = Buffer::new();
    buffer.map(&remote, 0x5000);
    let first = buffer.word(0);
    // 256 bytes are more than this client takes at once.
    scene.script(&[
        write(0x5100, &[0xAA; 64]),
        read(0x5000, 512, 3),
        read(0x9000, 4, 4),
        write(0x9000, &[1]),
    ]);
    remote.write64(Bar::Doorbells, 0, 1).unwrap();
    let completions = scene.completions(3);
    let data: Vec<u32> = completions.iter().filter(|c| c.0 == 3).flat_map(|c| c.2.clone()).collect();
    let expected: Vec<u32> = (0..128).map(|n| if n < 64 { first + n } else { 0xAA }).collect();
    assert_eq!(data, expected, "the read sees the write before it");
    let refused = completions.iter().find(|c| c.0 == 4).unwrap();
    assert_eq!(refused.1, completion_status::UNSUPPORTED);
    within(|| remote.served() == 2 + 3 + 2);
    within(|| scene.status().bus.unsupported == 2);
    let bus = scene.status().bus;
    assert_eq!((bus.reads, bus.writes, bus.unanswered), (2, 2, 0));
    assert!(scene.status().violations.is_empty());
}

#[test]
fn a_load_sees_the_writes_before_it() {
    let scene = Scene::start(Dma::Messages);
    let remote = scene.remote(false);
    let buffer = Buffer::new();
    buffer.map(&remote, 0x5000);
    for n in 1..200 {
        scene.script(&[write(0x5000, &[n]), write(0x5FFC, &[n])]);
        assert_eq!(remote.read32(Bar::Registers, 0x20).unwrap(), LOADED);
        if scene.status().bus.overtaken == 0 {
            assert_eq!((buffer.word(0), buffer.word(PAGE - 4)), (n, n));
        }
    }
    // A machine that is very busy may keep the client longer than a load waits.
    assert!(scene.status().bus.overtaken < 20);
}

#[test]
fn a_client_that_cannot_answer_while_it_loads_is_not_stuck() {
    let scene = Scene::start(Dma::Messages);
    let remote = scene.remote(true);
    let buffer = Buffer::new();
    buffer.map(&remote, 0x5000);
    let start = Instant::now();
    for n in 1..20 {
        scene.script(&[write(0x5000, &[n]), read(0x5000, 4, n as u8)]);
        assert_eq!(remote.read32(Bar::Registers, 0x20).unwrap(), LOADED);
        within(|| buffer.word(0) == n);
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let completions = scene.completions(19);
    assert!(completions.iter().all(|c| c.1 == completion_status::SUCCESS && c.2 == [u32::from(c.0)]));
    let bus = scene.status().bus;
    assert!(bus.overtaken >= 1 && bus.unanswered == 0 && bus.unsupported == 0, "{bus:?}");
}

#[test]
fn an_interrupt_comes_behind_the_writes() {
    let scene = Scene::start(Dma::Messages);
    let remote = scene.remote(false);
    let buffer = Buffer::new();
    buffer.map(&remote, 0x5000);
    let events: Vec<File> = (0..3).map(|_| new_eventfd()).collect();
    let borrowed: Vec<_> = events.iter().map(AsFd::as_fd).collect();
    remote.set_interrupts(&borrowed).unwrap();
    for n in 1..100 {
        scene.script(&[write(0x5000, &[n]), write(0xFEE0_0000, &[2])]);
        remote.write64(Bar::Doorbells, 0, 1).unwrap();
        within(|| count(&events[2]) == 1);
        assert_eq!(buffer.word(0), n);
    }
    assert_eq!((count(&events[0]), count(&events[1]), scene.status().bus.interrupts), (0, 0, 99));
    remote.set_interrupts(&[]).unwrap();
    scene.script(&[write(0xFEE0_0000, &[2])]);
    remote.write64(Bar::Doorbells, 0, 1).unwrap();
    within(|| scene.status().bus.interrupts == 100);
    assert_eq!(count(&events[2]), 0, "switched off");
}

#[test]
fn the_status_waits_for_no_client() {
    let scene = Scene::start(Dma::Messages);
    let mut stream = scene.raw();
    scene.script(&[write(0x5000, &[1])]);
    ring(&mut stream);
    let request = Message::receive(&mut stream).unwrap();
    let counters = scene.status().counters;
    assert!(counters.values().all(|&value| value == u64::from(LOADED) << 32 | u64::from(LOADED)));
    assert!(!counters.is_empty());
    stream.write_all(&request.answer(Some(&[])).bytes()).unwrap();
}

#[test]
fn nothing_spins_while_a_message_is_on_its_way() {
    let scene = Scene::start(Dma::Messages);
    let mut stream = scene.raw();
    scene.script(&[read(0x5000, 8, 1)]);
    ring(&mut stream);
    let request = Message::receive(&mut stream).unwrap();
    assert_eq!((request.command, request.access()), (DMA_READ, (0x5000, 8)));
    let before = scene.simulator.handle().status().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let after = scene.simulator.handle().status().unwrap();
    let (busy, wall) = (after.busy_ns - before.busy_ns, after.wall_ns - before.wall_ns);
    assert!(busy < wall / 4, "busy for {busy} ns of {wall}");
    assert!(after.cycles - before.cycles > 10_000_000, "time goes on");
    stream.write_all(&request.answer(Some(&[1, 0, 0, 0, 2, 0, 0, 0])).bytes()).unwrap();
    assert_eq!(scene.completions(1), [(1, 0, vec![1, 2])]);
}

/// What a client may not answer to a DMA_READ of 8 bytes.
fn lies(request: &Message) -> Vec<(&'static str, Message)> {
    let good = || request.answer(Some(&[0; 8]));
    let (mut id, mut command, mut kind, mut short) = (good(), good(), good(), good());
    id.id ^= 1;
    command.command = DMA_WRITE;
    kind.flags = 2;
    short.body.pop();
    let (mut address, mut count, mut bare, mut long) = (good(), good(), good(), good());
    address.body[0] ^= 1;
    count.body[8] = 9;
    bare.body.clear();
    long.body.push(0);
    vec![
        ("id", id),
        ("command", command),
        ("type", kind),
        ("short", short),
        ("address", address),
        ("count", count),
        ("bare", bare),
        ("long", long),
    ]
}

#[test]
fn a_client_that_lies_is_cut_off() {
    let scene = Scene::start(Dma::Messages);
    for n in 0..9 {
        let mut stream = scene.raw();
        scene.script(&[read(0x5000, 8, 1)]);
        ring(&mut stream);
        let request = Message::receive(&mut stream).unwrap();
        let mut lies = lies(&request);
        let (what, lie) = if n < lies.len() {
            lies.swap_remove(n)
        } else {
            // True, and then once more.
            let answer = || request.answer(Some(&[0; 8]));
            stream.write_all(&answer().bytes()).unwrap();
            ("twice", answer())
        };
        stream.write_all(&lie.bytes()).unwrap();
        let end = stream.read(&mut [0; 1]);
        assert!(
            matches!(end, Ok(0)) || end.is_err_and(|e| e.kind() != std::io::ErrorKind::WouldBlock),
            "{what}"
        );
        drop(stream);
    }
    // And the next one is served.
    let remote = scene.remote(false);
    assert_eq!(remote.read32(Bar::Registers, 0).unwrap(), LOADED);
}

#[test]
fn a_client_may_die_or_reset_with_messages_unanswered() {
    let scene = Scene::start(Dma::Messages);
    for round in 0..6 {
        let mut stream = scene.raw();
        scene.script(&[write(0x5000, &[1]), read(0x5000, 8, 1), write(0xFEE0_0000, &[0])]);
        ring(&mut stream);
        let first = Message::receive(&mut stream).unwrap();
        let second = Message::receive(&mut stream).unwrap();
        assert_eq!((first.command, second.command), (DMA_WRITE, DMA_READ));
        if round % 2 == 0 {
            say(&mut stream, 13, &[]);
            assert_eq!(Message::receive(&mut stream).unwrap().command, 13, "a reset waits for nobody");
            // Answers that nobody waits for any more are no lies.
            stream.write_all(&second.answer(Some(&[0; 8])).bytes()).unwrap();
            stream.write_all(&first.answer(Some(&[])).bytes()).unwrap();
            say(&mut stream, 9, &words(&[0, 0, 7, 4]));
            assert_eq!(Message::receive(&mut stream).unwrap().command, 9);
        } else {
            // A load waits behind the write; its client is gone before the answer.
            say(&mut stream, 9, &words(&[0, 0, 0, 4]));
        }
    }
    let remote = scene.remote(false);
    assert_eq!(remote.read32(Bar::Registers, 0).unwrap(), LOADED);
    assert!(scene.status().violations.is_empty());
}

#[test]
fn a_client_that_never_answers_holds_nobody_up_for_ever() {
    let scene = Scene::start(Dma::Messages);
    let mut stream = scene.raw();
    scene.script(&[read(0x5000, 8, 1)]);
    ring(&mut stream);
    let request = Message::receive(&mut stream).unwrap();
    let start = Instant::now();
    assert_eq!(scene.completions(1)[0].1, completion_status::UNSUPPORTED);
    assert!((8..15).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    assert_eq!(scene.status().bus.unanswered, 1);
    // Late, but not a lie.
    stream.write_all(&request.answer(Some(&[0; 8])).bytes()).unwrap();
    say(&mut stream, 9, &words(&[0, 0, 7, 4]));
    assert_eq!(Message::receive(&mut stream).unwrap().command, 9);
}

#[test]
fn the_crate_s_client_gets_interrupts_in_files_mode() {
    let scene = Scene::start(Dma::Files);
    let mut client = vfio_user::Client::new(&scene.simulator.socket(0)).unwrap();
    client.region_write(7, 4, &6u16.to_le_bytes()).unwrap();
    let memory = tempfile::tempfile().unwrap();
    memory.set_len(1 << 16).unwrap();
    client.dma_map(0, 0x10_0000, 1 << 16, memory.as_raw_fd()).unwrap();
    // This client does not look at what it is answered.
    let _ = client.dma_map(0, 0xFEE0_0000, 4096, memory.as_raw_fd());
    assert_eq!(scene.status().mappings, 1, "no memory can be there");
    let event = new_eventfd();
    const EVENTFD_TRIGGER: u32 = 1 << 2 | 1 << 5;
    client.set_irqs(2, EVENTFD_TRIGGER, 5, 1, &[event.as_raw_fd()]).unwrap();
    let mut table = [0; 16];
    client.region_read(0, 0x8050, &mut table).unwrap();
    assert_eq!(table, [0xFF; 16], "the table is the server's");
    client.region_write(0, 0x8050, &[0; 16]).unwrap();
    let mut control = [0; 2];
    client.region_read(7, 0x92, &mut control).unwrap();
    assert_eq!(control, [7, 0x80], "MSI-X is enabled");
    client.region_write(7, 0x92, &[0, 0]).unwrap();
    client.region_read(7, 0x92, &mut control).unwrap();
    assert_eq!(control, [7, 0x80], "by the server alone");
    let mut load = [0; 4];
    client.region_read(0, 0x20, &mut load).unwrap();
    let stores: Vec<(u64, u32)> = std::mem::take(&mut scene.script.lock().unwrap().got)
        .iter()
        .map(|packet| match packet {
            Tlp::Write(request, data) => (request.address & 0xFFFF, data[0]),
            packet => panic!("{packet:?}"),
        })
        .collect();
    let row = [(0x805C, 1), (0x8050, 0xFEE0_0000), (0x8054, 0), (0x8058, 5), (0x805C, 0)];
    assert_eq!(stores, row, "what the NIC has seen");
    scene.script(&[write(0x10_0000, &[7, 8]), write(0xFEE0_0000, &[5])]);
    client.region_write(2, 0, &[0; 8]).unwrap();
    within(|| count(&event) == 1);
    let mut found = [0; 8];
    std::os::unix::fs::FileExt::read_exact_at(&memory, &mut found, 0).unwrap();
    assert_eq!(found, [7, 0, 0, 0, 8, 0, 0, 0]);
    client.shutdown().unwrap();
}

/// One end of a connection between two Verilated NICs.
struct End {
    remote: Arc<Remote>,
    memory: Region,
    vi: Vi,
    _nic: Nic,
}

const SLOT: usize = 1 << 15;
const SIZES: [usize; 5] = [0, 1, 64, 1500, 20_001];

impl End {
    fn new(simulator: &Simulator, number: usize) -> Self {
        let remote = Arc::new(Remote::connect(&simulator.socket(number), true));
        let address = number as u8 + 1;
        let options = AgentOptions::new(Mac([2, 0, 0, 0, 0, address]), Ipv4Addr::new(10, 0, 0, address));
        let nic = Nic::open_device("remote", remote.clone(), options).unwrap();
        let ptag = nic.create_ptag().unwrap();
        let memory = nic.allocate(PAGE + SIZES.len() * SLOT, &MemAttributes::new(&ptag)).unwrap();
        let vi = nic.create_vi(&ViAttributes { depth: 16, ..ViAttributes::new(&ptag) }).unwrap();
        Self { remote, memory, vi, _nic: nic }
    }

    fn descriptor(&self, n: usize, length: usize) -> Descriptor {
        let builder = Descriptor::new();
        let builder = match length {
            0 => builder,
            _ => builder.segment(&self.memory, PAGE + n * SLOT, length).unwrap(),
        };
        builder.build(&self.memory, n * 128).unwrap()
    }
}

#[test]
fn verilated_nics_work_with_memory_by_message() {
    let mut setup = Setup::default();
    setup.network.bus.dma = Dma::Messages;
    let simulator = Simulator::start(setup.build().unwrap());
    let (from, to) = (End::new(&simulator, 0), End::new(&simulator, 1));
    let sent: Vec<Vec<u8>> =
        SIZES.iter().map(|&size| (0..size).map(|n| (n * 7 + size) as u8).collect()).collect();
    for (n, data) in sent.iter().enumerate() {
        from.memory.write(PAGE + n * SLOT, data).unwrap();
        to.vi.post_recv(to.descriptor(n, SLOT)).unwrap();
    }
    from.vi.connect(&to.vi.connection_info()).unwrap();
    to.vi.connect(&from.vi.connection_info()).unwrap();
    let event = new_eventfd();
    // One descriptor for all vectors: the agent spreads virtual interfaces over them.
    to.remote.set_interrupts(&[event.as_fd(); 8]).unwrap();
    let shift = to.remote.read32(Bar::Registers, registers::DOORBELL_SHIFT).unwrap();
    // Position 0 of whichever VI has a queue.
    for vi in 0..VIS as u64 {
        to.remote.write64(Bar::Doorbells, (vi << shift) + page::RECEIVE_ARM, 0).unwrap();
    }
    for (n, data) in sent.iter().enumerate() {
        from.vi.post_send(from.descriptor(n, data.len())).unwrap();
    }
    within(|| count(&event) == 1);
    let mut words = [0; 32];
    to.memory.read(0, &mut words).unwrap();
    let row: Vec<u64> = words.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
    assert_ne!(control_segment::STATUS.get(&row) & u64::from(status::DONE), 0, "before the interrupt");
    for (n, data) in sent.iter().enumerate() {
        let start = Instant::now();
        let received = loop {
            assert!(start.elapsed() < Duration::from_secs(60), "{:?}", simulator.handle().status());
            match to.vi.recv_done() {
                Ok(descriptor) => break descriptor,
                Err(Error::NotDone) => to.remote.pause(),
                Err(error) => panic!("message {n}: {error}"),
            }
        };
        assert_eq!(received.length(), data.len());
        let mut found = vec![0; data.len()];
        to.memory.read(PAGE + n * SLOT, &mut found).unwrap();
        assert!(found == *data, "message {n} of {} bytes arrived damaged", data.len());
    }
    let status = simulator.handle().status().unwrap();
    for nic in &status.nics {
        assert!(nic.violations.is_empty(), "{:?}", nic.violations);
        assert_eq!((nic.bus.unsupported, nic.bus.unanswered, nic.mappings), (0, 0, 0));
        println!("{} loads of {} overtook", nic.bus.overtaken, nic.bus.loads);
    }
    assert_eq!(status.nics[1].bus.interrupts, 1);
    assert!(to.remote.served() > 100);
}
