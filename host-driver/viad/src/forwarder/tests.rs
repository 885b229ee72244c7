//! The forwarder takes what is stored into pages, over a device that writes down what it gets.

use std::{ops::RangeInclusive, os::fd::BorrowedFd};

use viaduct_driver::{device::DmaAccess, memory::Mapping, viad::notice};

use super::*;

/// A device that writes down what is stored into its doorbell pages.
#[derive(Default)]
struct Book(Mutex<Vec<(u64, u64)>>);

impl Book {
    fn take(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }
}

impl PciDevice for Book {
    fn read32(&self, _: Bar, _: u64) -> Result<u32, DeviceError> {
        Ok(0)
    }
    fn read64(&self, _: Bar, _: u64) -> Result<u64, DeviceError> {
        Ok(0)
    }
    fn write32(&self, _: Bar, _: u64, _: u32) -> Result<(), DeviceError> {
        Ok(())
    }
    fn write64(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        assert_eq!(bar, Bar::Doorbells);
        self.0.lock().expect("no panic").push((offset, value));
        Ok(())
    }
    fn config_read32(&self, _: u16) -> Result<u32, DeviceError> {
        Ok(0)
    }
    fn config_write32(&self, _: u16, _: u32) -> Result<(), DeviceError> {
        Ok(())
    }
    unsafe fn map_dma(&self, _: u64, _: usize, _: usize, _: DmaAccess) -> Result<(), DeviceError> {
        Ok(())
    }
    fn unmap_dma(&self, _: u64, _: usize) -> Result<(), DeviceError> {
        Ok(())
    }
    fn dma_ranges(&self) -> Vec<RangeInclusive<u64>> {
        Vec::new()
    }
    fn vectors(&self) -> usize {
        0
    }
    fn set_interrupts(&self, _: &[BorrowedFd<'_>]) -> Result<(), DeviceError> {
        Ok(())
    }
    fn may_sleep(&self) -> bool {
        true
    }
    fn reset(&self) -> Result<(), DeviceError> {
        Ok(())
    }
    fn pause(&self) {}
}

/// A forwarder, and a client's view of its notice page.
fn forwarder(poll: Duration) -> (Arc<Book>, Arc<Forwarder>, Notice) {
    let book = Arc::<Book>::default();
    let (notice, file) = Notice::create().expect("memory");
    let view = Mapping::of(file.as_fd(), notice::BYTES, DmaAccess::Read).expect("mapped");
    let device = Arc::clone(&book) as Arc<dyn PciDevice>;
    let forwarder = Forwarder::new(device, Arc::new(notice), poll).expect("descriptors");
    (book, Arc::new(forwarder), Notice::of(view).expect("a page"))
}

fn page(forwarder: &Forwarder, kind: Kind, at: u64) -> Arc<Page> {
    let (page, _file) = Page::create(kind, at).expect("memory");
    forwarder.add(&page);
    page
}

fn store(page: &Page, offset: u64, word: u64) {
    page.word(offset).store(word, Ordering::Release);
}

#[test]
fn receives_go_first_then_sends_then_indices_then_arm_words() {
    let (book, forwarder, _) = forwarder(Duration::ZERO);
    let vis = [0x1000, 0x2000].map(|at| page(&forwarder, Kind::Vi, at));
    let cq = page(&forwarder, Kind::Cq, 0x9000);
    for (n, vi) in vis.iter().enumerate() {
        store(vi, page::SEND_ARM, 10 + n as u64);
        store(vi, page::SEND, 20 + n as u64);
        store(vi, page::RECEIVE, 30 + n as u64);
    }
    store(&cq, cq_page::ARM, 40);
    store(&cq, cq_page::INDEX, 50);
    assert!(forwarder.pass().expect("it takes all"));
    let expected = [
        (0x1008, 30),
        (0x2008, 31),
        (0x1000, 20),
        (0x2000, 21),
        (0x9000, 50),
        (0x1010, 10),
        (0x2010, 11),
        (0x9008, 40),
    ];
    assert_eq!(book.take(), expected);
    // The device has the receives: their clients may go on. Of the others nothing is said.
    assert_eq!(vis[1].word(TAKEN + page::RECEIVE).load(Ordering::Relaxed), 31);
    assert_eq!(vis[1].word(TAKEN + page::SEND).load(Ordering::Relaxed), 0);
    // What has not changed is not passed on, nor what was overwritten in between.
    assert!(!forwarder.pass().expect("nothing"));
    store(&vis[0], page::SEND, 22);
    store(&vis[0], page::SEND, 23);
    assert!(forwarder.pass().expect("one"));
    assert_eq!(book.take(), [(0x1000, 23)]);
    // What is nobody's page or word is not looked at.
    forwarder.remove(&vis[1]);
    store(&vis[1], page::SEND, 99);
    store(&vis[0], 0x40, 99);
    store(&cq, page::SEND_ARM, 99);
    assert!(!forwarder.pass().expect("nothing"));
}

#[test]
fn a_queue_that_starts_anew_may_begin_with_the_word_that_it_ended_with() {
    let (book, forwarder, _) = forwarder(Duration::ZERO);
    let vi = page(&forwarder, Kind::Vi, 0);
    store(&vi, page::SEND, 7);
    store(&vi, page::RECEIVE, 8);
    forwarder.renew(&vi, true).expect("it takes all");
    assert_eq!(book.take(), [(8, 8), (0, 7)], "what was posted is posted");
    assert!(!forwarder.pass().expect("nothing"), "an empty page is no change");
    store(&vi, page::SEND, 7);
    store(&vi, page::RECEIVE, 8);
    forwarder.pass().expect("one");
    assert_eq!(book.take(), [(0, 7)], "the receive queue went on");
    let taken = || vi.word(TAKEN + page::RECEIVE).load(Ordering::Acquire);
    assert_eq!(taken(), 8, "the client knows that it is posted");
    forwarder.renew(&vi, false).expect("nothing new");
    assert_eq!(taken(), 0, "the same word again is not posted yet");
    store(&vi, page::RECEIVE, 8);
    forwarder.settle(&vi).expect("one");
    assert_eq!(book.take(), [(8, 8)]);
}

#[test]
fn no_doorbell_is_slept_through() {
    let (book, forwarder, client) = forwarder(Duration::from_micros(100));
    let vi = page(&forwarder, Kind::Vi, 0);
    let wake = forwarder.add_client().expect("a descriptor");
    let (running, mut wakes) = (Arc::clone(&forwarder), 0);
    let thread = std::thread::spawn(move || running.run());
    let (begin, mut last) = (Instant::now(), 0);
    // So many, or as many as a busy machine can.
    for word in 1..=20_000 {
        if begin.elapsed() > Duration::from_secs(5) {
            break;
        }
        last = word;
        store(&vi, page::RECEIVE, word);
        if client.state().word() != 0 {
            wakes += 1;
            rustix::io::write(&wake, &1u64.to_ne_bytes()).expect("never full");
        }
        let start = Instant::now();
        while vi.word(TAKEN + page::RECEIVE).load(Ordering::Acquire) != word {
            assert!(start.elapsed() < Duration::from_secs(60), "word {word}, {wakes} wakes");
            std::thread::yield_now();
        }
        if word % 7 == 0 {
            // Long enough that it goes to sleep, or nearly.
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(90 + word % 25) {
                std::hint::spin_loop();
            }
        }
    }
    forwarder.stop();
    thread.join().expect("no panic").expect("the device lives");
    assert_eq!(book.take().len() as u64, last);
    println!("{last} doorbells, {wakes} wakes");
}
