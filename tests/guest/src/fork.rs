//! A trusted program forks. Its child has no doorbells, and the NIC reads and writes the program's memory, not the child's copy.

use std::{fs, io, os::unix::fs::FileExt, ptr::NonNull};

use anyhow::{ensure, Context, Result};
use libtest_mimic::Completion;
use vipl::MemAttributes;

use crate::{
    function::DEVICE,
    memory::{Pages, PAGE},
    own::{connect, message, End, BYTES},
    setting::Setting,
    shared::{lacking, trusting},
    viads::Viad,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] =
    &[Test { name: "a_child_of_a_trusted_program_has_no_doorbells", body: Body::Names(forked) }];

/// Pages of each end.
const PAGES: usize = 3;

/// A child that does nothing. It is killed when this is dropped.
struct Forked(libc::pid_t);

impl Forked {
    fn begin() -> Result<Self> {
        // SAFETY: the child makes system calls alone, until it is killed.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // It ends with the thread that has made it, even if that ends without a drop.
            // SAFETY: it asks for a signal to itself.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            loop {
                // SAFETY: it only waits.
                unsafe { libc::pause() };
            }
        }
        ensure!(child > 0, "fork: {}", io::Error::last_os_error());
        Ok(Self(child))
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        // SAFETY: our child, for which nobody else waits.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

fn forked(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let viads = trusting(setting)?;
    let pages = [Pages::filled(PAGES, 0)?, Pages::filled(PAGES, 0)?];
    let ends = [End::open(&viads[0])?, End::open(&viads[1])?];
    connect([&ends[0], &ends[1]])?;
    let region = |number: usize| {
        let (end, pages): (&End, &Pages) = (&ends[number], &pages[number]);
        let start: NonNull<u8> = pages.start();
        // SAFETY: the pages are dropped behind the NICs; until then they are accessed by the regions' copies and through their pointer.
        unsafe { end.nic.register(start, pages.length(), &MemAttributes::new(&end.ptag)) }
    };
    let regions = [region(0)?, region(1)?];
    let child = Forked::begin()?;
    let of_child = child.0.to_string();
    ensure!(bars("self")? > 0, "the program rings doorbells of its own");
    ensure!(bars(&of_child)? == 0, "the child could ring them, too");
    // Both have the pages now, until one of them writes.
    let bytes: Vec<u8> = (0..BYTES).map(|n| (n * 3) as u8).collect();
    message(&ends, [&regions[0], &regions[1]], &bytes)?;
    let memory = fs::File::open(format!("/proc/{of_child}/mem"))?;
    for pages in &pages {
        let mut copy = [1; PAGES * PAGE];
        memory.read_exact_at(&mut copy, pages.address() as u64).context("the child's copy")?;
        ensure!(copy.iter().all(|byte| *byte == 0), "the child's copy has changed");
    }
    drop(child);
    ends[0].vi.disconnect()?;
    drop((regions, ends));
    viads.into_iter().try_for_each(Viad::stop)?;
    Ok(Completion::Completed)
}

/// How many mappings of BARs a process has.
fn bars(process: &str) -> Result<usize> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    Ok(maps.lines().filter(|line| line.ends_with(DEVICE)).count())
}
