//! The sockets of a live network: the `vfio_user` crate's client, hostile clients, and control.
//!
//! The functions behind them are dead ones: they answer no load, so that what is tested here is
//! all the simulator's own. `waits.rs` has the NIC.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use serde_json::{json, Value};
use vfio_user::Client;
use viaduct_sim::directory::CONTROL;
use viaduct_sim::network::{Network, Options};
use viaduct_sim::nic::{Nic, NicIn, NicOut};
use viaduct_spec::profile::BAR2_BYTES;
use viaduct_spec::register::{BAR0_BYTES, PCI_DEVICE, PCI_VENDOR};

use crate::support::Simulator;

/// A function that is on the bus and does nothing.
struct Dead;

impl Nic for Dead {
    fn cycle(&mut self, input: &NicIn, output: &mut NicOut) {
        // That much it does.
        let function_reset_done = input.cfg_function_reset;
        *output = NicOut { tlp_rx_np_ready: true, idle: true, function_reset_done, ..NicOut::default() };
    }
}

/// NICs that answer no load.
fn dead(nics: usize) -> Simulator {
    let mut options = Options::default();
    options.bus.load_timeout = 2000;
    let nics: Vec<Box<dyn Nic>> = (0..nics).map(|_| Box::new(Dead) as _).collect();
    Simulator::start(Network::new(nics, &options, None))
}

impl Simulator {
    fn raw(&self) -> UnixStream {
        let stream = UnixStream::connect(self.socket(0)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    /// The next client is served as if nothing had been.
    fn check(&self) {
        let mut client = Client::new(&self.socket(0)).unwrap();
        assert_eq!(config32(&mut client, 0), u32::from(PCI_DEVICE) << 16 | u32::from(PCI_VENDOR));
        client.shutdown().unwrap();
    }
}

fn config32(client: &mut Client, offset: u64) -> u32 {
    let mut data = [0; 4];
    client.region_read(7, offset, &mut data).unwrap();
    u32::from_le_bytes(data)
}

fn message(id: u16, command: u16, flags: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = [id.to_le_bytes(), command.to_le_bytes()].concat();
    bytes.extend_from_slice(&(16 + body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&flags.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(body);
    bytes
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The error number of a reply, 0 for success, and its body.
fn reply(stream: &mut UnixStream) -> Option<(u32, Vec<u8>)> {
    let mut header = [0; 16];
    stream.read_exact(&mut header).ok()?;
    let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap());
    let mut body = vec![0; word(4) as usize - 16];
    stream.read_exact(&mut body).ok()?;
    assert_eq!(word(8) & 0xF, 1, "a reply");
    assert_eq!(word(8) & 0x20 != 0, word(12) != 0);
    Some((word(12), body))
}

fn ask(stream: &mut UnixStream, command: u16, body: &[u8]) -> Option<(u32, Vec<u8>)> {
    stream.write_all(&message(9, command, 0, body)).ok()?;
    reply(stream)
}

fn ask_with_fds(stream: &mut UnixStream, command: u16, body: &[u8], fds: &[BorrowedFd]) -> (u32, Vec<u8>) {
    let bytes = message(9, command, 0, body);
    let mut space = vec![std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(32))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(fds.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(fds)));
    let sent =
        sendmsg(&*stream, &[std::io::IoSlice::new(&bytes)], &mut ancillary, SendFlags::empty()).unwrap();
    assert_eq!(sent, bytes.len());
    reply(stream).unwrap()
}

fn open(stream: &mut UnixStream) {
    let (error, body) = ask(stream, 1, b"\0\0\x01\0{\"capabilities\":{}}\0").unwrap();
    assert_eq!((error, &body[..4]), (0, &[0, 0, 1, 0][..]));
}

const EINVAL: u32 = 22;

#[test]
fn the_crate_s_client_finds_a_pci_function() {
    let simulator = dead(2);
    for nic in 0..2 {
        let mut client = Client::new(&simulator.socket(nic)).unwrap();
        let sizes: Vec<u64> = (0..9).map(|n| client.region(n).unwrap().size).collect();
        assert_eq!(sizes, [BAR0_BYTES, 0, BAR2_BYTES, 0, 0, 0, 0, 4096, 0]);
        assert_eq!(config32(&mut client, 0), u32::from(PCI_DEVICE) << 16 | u32::from(PCI_VENDOR));
        client.region_write(7, 4, &6u16.to_le_bytes()).unwrap();
        assert_eq!(config32(&mut client, 4) & 0xFFFF, 6);
        let irqs: Vec<u32> = (0..5).map(|n| client.get_irq_info(n).unwrap().count).collect();
        assert_eq!(irqs, [0, 0, 8, 0, 0]);
        client.reset().unwrap();
        assert_eq!(config32(&mut client, 4) & 0xFFFF, 2, "a reset takes Bus Master away");
    }
}

#[test]
fn memory_is_mapped_and_goes_with_its_client() {
    let simulator = dead(1);
    let mappings = || simulator.handle().status().unwrap().nics[0].mappings;
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    let mut client = Client::new(&simulator.socket(0)).unwrap();
    for n in 0..16 {
        client.dma_map(n * 4096, 0x10_0000 + n * 4096, 4096, file.as_raw_fd()).unwrap();
    }
    assert_eq!(mappings(), 16);
    client.dma_unmap(0x10_0000, 8 * 4096).unwrap();
    assert_eq!(mappings(), 8);
    client.shutdown().unwrap();
    drop(client);
    let start = Instant::now();
    while mappings() != 0 {
        assert!(start.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_load_that_the_nic_does_not_answer_reads_as_ones_and_harms_nobody() {
    let simulator = dead(2);
    let mut dead = Client::new(&simulator.socket(0)).unwrap();
    let mut data = [0; 8];
    dead.region_read(0, 0x28, &mut data).unwrap();
    assert_eq!(data, [0xFF; 8]);
    simulator.check_other();
}

impl Simulator {
    fn check_other(&self) {
        let mut client = Client::new(&self.socket(1)).unwrap();
        assert_eq!(config32(&mut client, 0) >> 16, u32::from(PCI_DEVICE));
    }
}

#[test]
fn eventfds_are_taken_and_triggered() {
    let simulator = dead(1);
    let mut client = Client::new(&simulator.socket(0)).unwrap();
    let eventfds: Vec<OwnedFd> =
        (0..2).map(|_| rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).unwrap()).collect();
    let raw: Vec<i32> = eventfds.iter().map(|fd| fd.as_raw_fd()).collect();
    const EVENTFD_TRIGGER: u32 = 1 << 2 | 1 << 5;
    const NONE_TRIGGER: u32 = 1 << 0 | 1 << 5;
    client.set_irqs(2, EVENTFD_TRIGGER, 3, 2, &raw).unwrap();
    client.set_irqs(2, NONE_TRIGGER, 4, 1, &[]).unwrap();
    let count = |fd: &OwnedFd| {
        let mut value = [0; 8];
        rustix::io::read(fd, &mut value).map_or(0, |_| u64::from_ne_bytes(value))
    };
    assert_eq!((count(&eventfds[0]), count(&eventfds[1])), (0, 1));
    client.set_irqs(2, NONE_TRIGGER, 0, 0, &[]).unwrap();
    client.set_irqs(2, NONE_TRIGGER, 3, 2, &[]).unwrap();
    assert_eq!((count(&eventfds[0]), count(&eventfds[1])), (0, 0), "switched off");
}

#[test]
fn a_second_client_is_refused_and_the_first_goes_on() {
    let simulator = dead(1);
    let mut first = Client::new(&simulator.socket(0)).unwrap();
    let mut second = simulator.raw();
    let (error, _) = ask(&mut second, 1, &[0, 0, 1, 0]).unwrap();
    assert_eq!(error, 16, "EBUSY");
    assert_eq!(reply(&mut second), None, "and closed");
    // One that says nothing is sent away too.
    let mut silent = simulator.raw();
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(config32(&mut first, 0) >> 16, u32::from(PCI_DEVICE));
    first.shutdown().unwrap();
    simulator.check();
}

#[test]
fn requests_that_make_no_sense_are_refused_one_by_one() {
    let simulator = dead(1);
    let file = tempfile::tempfile().unwrap();
    file.set_len(8192).unwrap();
    let mut stream = simulator.raw();
    open(&mut stream);
    let stream = &mut stream;
    let fd = file.as_fd();
    // Out of range, in region or offset or both.
    for (offset, region, count) in [
        (0u64, 9u32, 4u32),
        (4096, 7, 4),
        (4094, 7, 4),
        (u64::MAX, 7, 4),
        (BAR0_BYTES - 4, 0, 8),
        (0, 1, 4),
        (0, u32::MAX, 0),
    ] {
        let mut body = offset.to_le_bytes().to_vec();
        body.extend(words(&[region, count]));
        assert_eq!(ask(stream, 9, &body).unwrap().0, EINVAL, "read {offset:#x} {region} {count}");
        body.extend(vec![0; count as usize]);
        assert_eq!(ask(stream, 10, &body).unwrap().0, EINVAL, "write {offset:#x} {region} {count}");
    }
    assert_eq!(ask(stream, 10, &words(&[0, 0, 7, 64, 1])).unwrap().0, EINVAL, "says more than it has");
    assert_eq!(ask(stream, 9, &words(&[0, 0])).unwrap().0, EINVAL, "cut");
    assert_eq!(ask(stream, 77, &[]).unwrap().0, 38, "ENOSYS");
    assert_eq!(ask(stream, 1, &[0, 0, 1, 0]).unwrap().0, EINVAL, "a second VERSION");
    assert_eq!(ask(stream, 5, &words(&[32, 0, 9, 0, 0, 0, 0, 0])).unwrap().0, EINVAL);
    assert_eq!(ask(stream, 7, &words(&[16, 0, 5, 0])).unwrap().0, EINVAL);
    // Mappings: {argsz, flags, offset, address, size}.
    let map =
        |flags, offset: u32, address: u32, size: u32| words(&[32, flags, offset, 0, address, 0, size, 0]);
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 0, 4096), &[fd]).0, 0);
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 0, 8192), &[fd]).0, 17, "EEXIST");
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 8192, 4096), &[fd, fd]).0, EINVAL);
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 8192, 100), &[fd]).0, EINVAL);
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 8192, 4096), &[stream.try_clone().unwrap().as_fd()]).0, 13);
    let many = vec![fd; 20];
    assert_eq!(ask_with_fds(stream, 2, &map(3, 0, 8192, 4096), &many).0, 7, "E2BIG");
    assert_eq!(ask_with_fds(stream, 9, &words(&[0, 0, 7, 4]), &[fd]).0, EINVAL, "nobody asked for a file");
    // Interrupts: {argsz, flags, index, start, count}.
    let irqs = |flags, index, start, count| words(&[20, flags, index, start, count]);
    assert_eq!(ask_with_fds(stream, 8, &irqs(0x24, 2, 0, 1), &[fd]).0, EINVAL, "no eventfd");
    for (flags, index, start, count) in [
        (0x24, 2, 8, 1),
        (0x24, 2, u32::MAX, 2),
        (0x21, 5, 0, 0),
        (0x27, 2, 0, 1),
        (0x01, 2, 0, 1),
        (0x22, 2, 0, 4),
    ] {
        let refused = ask(stream, 8, &irqs(flags, index, start, count)).unwrap().0;
        assert_eq!(refused, EINVAL, "{flags:#x} {index} {start} {count}");
    }
    // And after all that the same client still works.
    let (error, body) = ask(stream, 9, &words(&[0, 0, 7, 4])).unwrap();
    assert_eq!((error, &body[16..18]), (0, &PCI_VENDOR.to_le_bytes()[..]));
}

#[test]
fn nothing_is_done_before_the_version_is_agreed() {
    let simulator = dead(1);
    let mut stream = simulator.raw();
    assert_eq!(ask(&mut stream, 13, &[]).unwrap().0, EINVAL);
    assert_eq!(reply(&mut stream), None, "closed");
    let mut stream = simulator.raw();
    assert_ne!(ask(&mut stream, 1, &[1, 0, 0, 0]).unwrap().0, 0, "major version 1");
    assert_eq!(reply(&mut stream), None, "closed");
    simulator.check();
}

#[test]
fn sizes_that_cannot_be_end_the_connection_at_once() {
    let simulator = dead(1);
    for size in [0u32, 15, (1 << 20) + 65, u32::MAX] {
        let mut stream = simulator.raw();
        open(&mut stream);
        let mut bytes = message(9, 10, 0, &[]);
        bytes[4..8].copy_from_slice(&size.to_le_bytes());
        stream.write_all(&bytes).unwrap();
        assert_eq!(reply(&mut stream).unwrap().0, 90, "EMSGSIZE");
        assert_eq!(reply(&mut stream), None, "closed");
    }
    simulator.check();
}

#[test]
fn a_client_may_die_at_any_byte() {
    let simulator = dead(1);
    let mut whole = message(1, 1, 0, b"\0\0\x01\0{\"capabilities\":{}}\0");
    whole.extend(message(2, 9, 0, &words(&[0, 0, 7, 4])));
    whole.extend(message(3, 10, 0x10, &words(&[4, 0, 7, 4, 6])));
    for length in 0..=whole.len() {
        let mut stream = simulator.raw();
        stream.write_all(&whole[..length]).unwrap();
        drop(stream);
    }
    simulator.check();
}

#[test]
fn noise_does_no_harm() {
    let simulator = dead(1);
    let seed = 11;
    println!("seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..60 {
        let mut stream = simulator.raw();
        if round % 2 == 0 {
            open(&mut stream);
        }
        for _ in 0..20 {
            let mut body = vec![0u8; random.random_range(0..60)];
            random.fill(&mut body[..]);
            // Half of them with a header that makes sense, so that they get further.
            let bytes = match random.random() {
                true => message(random.random(), random.random_range(0..18), 0x10, &body),
                false => body,
            };
            if stream.write_all(&bytes).is_err() {
                break;
            }
        }
    }
    simulator.check();
}

#[test]
fn posted_writes_get_no_reply() {
    let simulator = dead(1);
    let mut stream = simulator.raw();
    open(&mut stream);
    stream.write_all(&message(1, 10, 0x10, &words(&[4, 0, 7, 4, 6]))).unwrap();
    // One that is refused is silent as well.
    stream.write_all(&message(2, 10, 0x10, &words(&[0, 0, 8, 4, 6]))).unwrap();
    let (_, body) = ask(&mut stream, 9, &words(&[4, 0, 7, 4])).unwrap();
    assert_eq!(body[16], 6);
    // Two stores in one message: {count, {offset, region, count, data} each}.
    let multi = words(&[2, 0, 4, 0, 7, 2, 2, 0, 0x10, 0, 7, 4, 0xFEB0_0000, 0]);
    assert_eq!(ask(&mut stream, 15, &multi).unwrap(), (0, 2u64.to_le_bytes().to_vec()));
    let (_, body) = ask(&mut stream, 9, &words(&[4, 0, 7, 16])).unwrap();
    assert_eq!((body[16], &body[28..32]), (2, &0xFEB0_0000u32.to_le_bytes()[..]));
}

#[test]
fn an_idle_simulator_sleeps_and_follows_the_wall() {
    let simulator = dead(2);
    let before = simulator.handle().status().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let after = simulator.handle().status().unwrap();
    let passed = after.simulated_ns - before.simulated_ns;
    let wall = after.wall_ns - before.wall_ns;
    assert!(passed >= 199_000_000 && passed <= wall + 50_000_000, "{passed} ns of {wall}");
    let busy = after.busy_ns - before.busy_ns;
    assert!(busy < wall / 4, "busy for {busy} ns of {wall}");
}

fn control(simulator: &Simulator) -> impl FnMut(&str) -> Value {
    let stream = UnixStream::connect(simulator.folder().join(CONTROL)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream: UnixStream = stream;
    move |line| {
        stream.write_all(line.as_bytes()).unwrap();
        stream.write_all(b"\n").unwrap();
        let mut answer = String::new();
        reader.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or(Value::Null)
    }
}

#[test]
fn control_answers_line_by_line() {
    let simulator = dead(2);
    let mut tell = control(&simulator);
    let status = tell(r#"{"command":"status"}"#);
    assert_eq!(status["ok"], json!(true));
    assert_eq!(status["status"]["nics"].as_array().map(Vec::len), Some(2));
    assert_eq!(status["status"]["fabric"]["frames"], json!(0));
    assert_eq!(status["status"]["verilog_sha256"], json!(viaduct_sim::rtl::VERILOG_SHA256));
    assert_eq!(tell(r#"{"command":"faults","drop":[4,5]}"#), json!({ "ok": true }));
    assert_eq!(tell(r#"{"command":"status"}"#)["status"]["faults"]["drop"], json!([4, 5]));
    for nonsense in ["", "{", "[]", r#"{"command":"faults","drop":"all"}"#, "\u{0}"] {
        assert_eq!(tell(nonsense)["ok"], json!(false), "{nonsense:?}");
    }
    let endless = "x".repeat(70_000);
    assert_eq!(tell(&endless)["ok"], json!(false));
    assert_eq!(tell(r#"{"command":"shutdown"}"#)["ok"], json!(true));
    assert_eq!(tell(r#"{"command":"status"}"#)["error"], json!("the simulation has ended"));
}

#[test]
fn descriptors_of_clients_do_not_pile_up() {
    let simulator = dead(1);
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut stream = simulator.raw();
    open(&mut stream);
    let file = tempfile::tempfile().unwrap();
    let before = count();
    for _ in 0..200 {
        let fds = [file.as_fd(); 3];
        assert_eq!(ask_with_fds(&mut stream, 2, &words(&[32, 3, 0, 0, 0, 0, 4096, 0]), &fds).0, EINVAL);
    }
    // Other tests of this program open some of their own meanwhile.
    assert!(count() < before + 300, "{before} before, {} now", count());
    let zero = File::open("/dev/null").unwrap();
    assert_eq!(ask_with_fds(&mut stream, 2, &words(&[32, 1, 0, 0, 0, 0, 4096, 0]), &[zero.as_fd()]).0, 13);
}
