//! Programs that sleep until their NIC interrupts them, over the sockets of a live network: whoever waits
//! takes no processor time, and wakes when there is something.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{clock_gettime, ClockId};
use viaduct_driver::agent::Options;
use viaduct_driver::device::{Bar, DeviceError, DmaAccess, PciDevice, Polling};
use viaduct_driver::vfio_user::VfioUser;
use viaduct_sim::setup::Setup;
use viaduct_spec::doorbell::page;
use viaduct_spec::register::event_code;
use vipl::{Cq, Descriptor, Mac, MemAttributes, Nic, Region, ReliabilityLevel, Vi, ViAttributes};

use crate::support::Simulator;

const LONG: Option<Duration> = Some(Duration::from_secs(60));

/// How often each is tried.
const ROUNDS: usize = 10;

/// A NIC behind a socket, whose driver is watched.
struct Watched {
    device: VfioUser,
    /// Arm words stored.
    arms: AtomicUsize,
    /// Reads of configuration space: one who slept a second asks whether the device lives.
    checks: AtomicUsize,
    pauses: AtomicUsize,
}

impl PciDevice for Watched {
    fn read32(&self, bar: Bar, offset: u64) -> Result<u32, DeviceError> {
        self.device.read32(bar, offset)
    }
    fn read64(&self, bar: Bar, offset: u64) -> Result<u64, DeviceError> {
        self.device.read64(bar, offset)
    }
    fn write32(&self, bar: Bar, offset: u64, value: u32) -> Result<(), DeviceError> {
        self.device.write32(bar, offset, value)
    }
    fn write64(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        self.device.write64(bar, offset, value)?;
        let armed = bar == Bar::Doorbells && offset % 4096 >= page::SEND_ARM;
        self.arms.fetch_add(usize::from(armed), Ordering::SeqCst);
        Ok(())
    }
    fn config_read32(&self, offset: u16) -> Result<u32, DeviceError> {
        self.checks.fetch_add(usize::from(offset == 0), Ordering::SeqCst);
        self.device.config_read32(offset)
    }
    fn config_write32(&self, offset: u16, value: u32) -> Result<(), DeviceError> {
        self.device.config_write32(offset, value)
    }
    unsafe fn map_dma(
        &self,
        iova: u64,
        address: usize,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        unsafe { self.device.map_dma(iova, address, length, access) }
    }
    fn unmap_dma(&self, iova: u64, length: usize) -> Result<(), DeviceError> {
        self.device.unmap_dma(iova, length)
    }
    fn dma_ranges(&self) -> Vec<RangeInclusive<u64>> {
        self.device.dma_ranges()
    }
    fn vectors(&self) -> usize {
        self.device.vectors()
    }
    fn set_interrupts(&self, events: &[BorrowedFd<'_>]) -> Result<(), DeviceError> {
        self.device.set_interrupts(events)
    }
    fn may_sleep(&self) -> bool {
        self.device.may_sleep()
    }
    fn polling(&self) -> Polling {
        self.device.polling()
    }
    fn reset(&self) -> Result<(), DeviceError> {
        self.device.reset()
    }
    fn pause(&self) {
        self.pauses.fetch_add(1, Ordering::SeqCst);
        self.device.pause();
    }
}

/// Two Verilated NICs.
fn start() -> Simulator {
    Simulator::start(Setup::default().build().unwrap())
}

impl Simulator {
    /// A VI on NIC `number`, with a completion queue or without.
    fn end(&self, number: usize, level: ReliabilityLevel, entries: Option<usize>) -> End {
        let device = VfioUser::open(self.socket(number)).unwrap();
        let [arms, checks, pauses] = [0; 3].map(AtomicUsize::new);
        let watched = Arc::new(Watched { device, arms, checks, pauses });
        let address = number as u8 + 1;
        let options = Options::new(Mac([2, 0, 0, 0, 0, address]), Ipv4Addr::new(10, 0, 0, address));
        let options = Options { seed: Some(number as u64), ..options };
        let nic = Nic::open_device("watched", Arc::clone(&watched) as _, options).unwrap();
        let ptag = nic.create_ptag().unwrap();
        let memory = nic.allocate(1 << 16, &MemAttributes::new(&ptag)).unwrap();
        let cq = entries.map(|entries| nic.create_cq(entries).unwrap());
        let attributes = ViAttributes {
            depth: 16,
            reliability_level: level,
            send_cq: cq.clone(),
            receive_cq: cq.clone(),
            ..ViAttributes::new(&ptag)
        };
        let vi = nic.create_vi(&attributes).unwrap();
        End { watched, memory, vi, cq, nic }
    }

    /// Two connected VIs.
    fn pair(&self, level: ReliabilityLevel) -> [End; 2] {
        self.pair_with(level, None)
    }

    /// Two connected VIs, the second with a completion queue if it says of what size.
    fn pair_with(&self, level: ReliabilityLevel, entries: Option<usize>) -> [End; 2] {
        let ends = [self.end(0, level, None), self.end(1, level, entries)];
        ends[0].vi.connect(&ends[1].vi.connection_info()).unwrap();
        ends[1].vi.connect(&ends[0].vi.connection_info()).unwrap();
        ends
    }
}

/// One end of a connection.
struct End {
    watched: Arc<Watched>,
    memory: Region,
    vi: Vi,
    cq: Option<Cq>,
    nic: Nic,
}

impl End {
    fn descriptor(&self, length: usize) -> Descriptor {
        Descriptor::new().segment(&self.memory, 4096, length).unwrap().build(&self.memory, 0).unwrap()
    }
}

/// Processor time of this thread.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}

#[test]
fn a_receiver_sleeps_until_its_message_comes() {
    let simulator = start();
    let [from, to] = simulator.pair(ReliabilityLevel::ReliableDelivery);
    let load = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    let (checks, pauses) = (load(&to.watched.checks), load(&to.watched.pauses));
    let mut busy = Duration::ZERO;
    for round in 0..ROUNDS {
        let arms = load(&to.watched.arms);
        to.vi.post_recv(to.descriptor(1000)).unwrap();
        from.memory.write(4096, &[round as u8; 1000]).unwrap();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let before = processor_time();
                let received = to.vi.recv_wait(LONG);
                (received, processor_time() - before)
            });
            while load(&to.watched.arms) == arms {
                std::thread::sleep(Duration::from_millis(1));
            }
            // It is asleep by now, or soon; and if the message is faster, nothing below is different.
            std::thread::sleep(Duration::from_millis(100));
            from.vi.post_send(from.descriptor(1000)).unwrap();
            from.vi.send_wait(LONG).expect("it arrives");
            let (received, time) = receiver.join().expect("no panic");
            assert_eq!(received.expect("it arrives").length(), 1000);
            busy += time;
        });
        let mut bytes = [0; 1000];
        to.memory.read(4096, &mut bytes).unwrap();
        assert_eq!(bytes, [round as u8; 1000]);
        // An interrupt of another use of the vector may wake it for nothing; nothing else does.
        assert!(load(&to.watched.arms) - arms <= 3, "round {round}");
    }
    assert_eq!(load(&to.watched.pauses), pauses, "nobody polls");
    // A wait without an interrupt would end too: when it looks again, a second later. On a machine that stands
    // still now and then that may happen; but not each time.
    let lost = load(&to.watched.checks) - checks;
    println!("{ROUNDS} receives: {busy:?} of processor time, {lost} seconds without an interrupt");
    assert!(lost < ROUNDS / 2, "{lost} sleeps ended without an interrupt");
    assert!(busy < Duration::from_millis(50), "{busy:?} in {ROUNDS} waits of 100 ms and more");
}

#[test]
fn an_event_wakes_who_waits_for_it() {
    let simulator = start();
    let [from, to] = simulator.pair(ReliabilityLevel::UnreliableDelivery);
    let checks = to.watched.checks.load(Ordering::SeqCst);
    assert_eq!(to.nic.wait_events(Duration::from_millis(1)).unwrap(), []);
    for _ in 0..ROUNDS {
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| to.nic.wait_events(Duration::from_secs(60)));
            std::thread::sleep(Duration::from_millis(50));
            // No receive is posted.
            from.vi.post_send(from.descriptor(100)).unwrap();
            from.vi.send_wait(LONG).expect("it is sent");
            let events = waiter.join().expect("no panic").unwrap();
            assert_eq!(events.first().map(|event| event.code), Some(event_code::RECVQ_EMPTY));
        });
    }
    let lost = to.watched.checks.load(Ordering::SeqCst) - checks;
    assert!(lost < ROUNDS / 2, "{lost} sleeps ended without an interrupt");
}

#[test]
fn whoever_sleeps_for_a_completion_queue_wakes_for_either_work_queue() {
    let simulator = start();
    let [from, to] = simulator.pair_with(ReliabilityLevel::ReliableDelivery, Some(8));
    let cq = to.cq.as_ref().expect("it has one");
    let load = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    let (checks, mut pauses) = (load(&to.watched.checks), load(&to.watched.pauses));
    // Half of the rounds with interrupts held off: for less than a round takes, so each wakes all the same.
    for round in 0..ROUNDS {
        if round == ROUNDS / 2 {
            let before = load(&to.watched.pauses);
            to.nic.hold_off(Duration::from_millis(1)).unwrap();
            // The agent waits for its commands.
            pauses += load(&to.watched.pauses) - before;
        }
        let receive = round % 2 == 0;
        let receiver = if receive { &to } else { &from };
        receiver.vi.post_recv(receiver.descriptor(1000)).unwrap();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                let before = processor_time();
                (cq.wait(LONG), processor_time() - before)
            });
            std::thread::sleep(Duration::from_millis(100));
            if receive {
                from.vi.post_send(from.descriptor(1000)).unwrap();
                from.vi.send_wait(LONG).expect("it arrives");
            } else {
                to.vi.post_send(to.descriptor(1000)).unwrap();
                from.vi.recv_wait(LONG).expect("it arrives");
            }
            let (entry, time) = sleeper.join().expect("no panic");
            let entry = entry.expect("an entry");
            assert_eq!((entry.vi, entry.receive), (to.vi.id(), receive), "round {round}");
            assert!(time < Duration::from_millis(50), "{time:?}");
        });
        let done = if receive { to.vi.recv_done() } else { to.vi.send_done() };
        assert_eq!(done.expect("the status is there").length(), 1000);
    }
    assert_eq!(load(&to.watched.pauses), pauses, "nobody polls");
    let lost = load(&to.watched.checks) - checks;
    assert!(lost < ROUNDS / 2, "{lost} sleeps ended without an interrupt");
}
