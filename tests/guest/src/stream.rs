//! Messages without end from a VI to another one of the same NIC, by way of a viad: whatever happens to the NIC, happens in the middle of one. What the NIC
//! has written when it is over, is what there will be.

use std::{
    sync::{
        atomic::{AtomicU32, Ordering},
        Arc,
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{ensure, Context, Result};
use vipl::{Descriptor, Error, MemAttributes, Nic, Region, ReliabilityLevel, Vi, ViAttributes};

use crate::{
    bench::{join, read, LIMIT},
    memory::PAGE,
    ranks::{say, PLAYING},
};

/// Messages of each queue under way.
const DEPTH: usize = 8;
/// Bytes of one.
const BYTES: usize = PAGE;
/// Descriptors lie so far from each other, in front of the messages.
const STRIDE: usize = 64;
/// Queues: sends, and receives.
const QUEUES: usize = 2;

/// The stream. Whoever drops it closes the NIC.
pub struct Stream {
    memory: Region,
    arrived: Arc<AtomicU32>,
    player: JoinHandle<Result<()>>,
}

impl Stream {
    /// Begins it, and waits until messages arrive.
    pub fn begin(name: &str) -> Result<Self> {
        let nic = Nic::open(name)?;
        let ptag = nic.create_ptag()?;
        let memory = nic.allocate(PAGE + QUEUES * DEPTH * BYTES, &MemAttributes::new(&ptag))?;
        // What is lost is lost: nobody counts the receives.
        let attributes = ViAttributes {
            reliability_level: ReliabilityLevel::UnreliableDelivery,
            depth: DEPTH,
            ..ViAttributes::new(&ptag)
        };
        let vis = join([nic.create_vi(&attributes)?, nic.create_vi(&attributes)?])?;
        let arrived = Arc::new(AtomicU32::new(0));
        let (told, region) = (Arc::clone(&arrived), memory.clone());
        let player = thread::spawn(move || play(&vis, &region, &told));
        let stream = Self { memory, arrived, player };
        let start = Instant::now();
        while stream.arrived.load(Ordering::Relaxed) < 2 * DEPTH as u32 {
            ensure!(start.elapsed() < LIMIT && !stream.player.is_finished(), "no message arrives by {name}");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(stream)
    }

    /// Waits until its program has heard that the NIC is gone, by an error of one of its calls. What stays is its memory.
    pub fn end(self) -> Result<Remains> {
        let start = Instant::now();
        while !self.player.is_finished() {
            ensure!(start.elapsed() < LIMIT, "a program must hear of it");
            thread::sleep(Duration::from_millis(1));
        }
        self.player.join().expect("no panic")?;
        Ok(Remains(self.memory))
    }
}

/// The child's side: a stream, until it is killed.
pub fn go_on(name: &str) -> Result<()> {
    let stream = Stream::begin(name)?;
    say(PLAYING)?;
    stream.player.join().expect("no panic")
}

/// What a stream's NIC could reach: descriptors and messages. It is registered, as far as its program knows.
pub struct Remains(Region);

impl Remains {
    /// All of it, as it is now.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        read(&self.0, 0, self.0.length())
    }
}

/// Posts each descriptor again as soon as it is complete, with other data, until a call says that the NIC is gone.
fn play([from, to]: &[Vi; 2], memory: &Region, arrived: &AtomicU32) -> Result<()> {
    let descriptor = |number: usize| -> Result<Descriptor> {
        let segment = Descriptor::new().segment(memory, PAGE + number * BYTES, BYTES)?;
        Ok(segment.build(memory, number * STRIDE)?)
    };
    (0..DEPTH).try_for_each(|number| anyhow::Ok(to.post_recv(descriptor(DEPTH + number)?)?))?;
    (0..DEPTH).try_for_each(|number| anyhow::Ok(from.post_send(descriptor(number)?)?))?;
    let mut sent = 0_usize;
    loop {
        let received = to.recv_done().and_then(|descriptor| {
            arrived.fetch_add(1, Ordering::Relaxed);
            to.post_recv(descriptor)
        });
        let done = from.send_done().and_then(|descriptor| {
            memory.write(PAGE + sent % DEPTH * BYTES, &[sent as u8; BYTES])?;
            sent += 1;
            from.post_send(descriptor)
        });
        match (received, done) {
            (Err(Error::NotDone), Err(Error::NotDone)) => thread::yield_now(),
            (Ok(()) | Err(Error::NotDone), Ok(()) | Err(Error::NotDone)) => {}
            // A call has said that the NIC is gone.
            _ if arrived.load(Ordering::Relaxed) > 0 => return Ok(()),
            (Err(error), _) | (_, Err(error)) => return Err(error).context("before a message arrived"),
        }
    }
}
