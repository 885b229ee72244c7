//! Memory of a trusted program's own: whatever kind it is of, the kernel charges the program for it, and nobody else.

use std::{ptr::NonNull, sync::Arc, thread, time::Duration};

use anyhow::{anyhow, ensure, Context, Result};
use libtest_mimic::Completion;
use vipl::{
    connections::{Connections, NetAddress},
    Descriptor, Error, MemAttributes, Nic, Ptag, Region, Vi, ViAttributes,
};

use crate::{
    bench::{read, LIMIT},
    child::Deed,
    memory::{Pages, HUGE_PAGE, PAGE},
    note::note,
    setting::Setting,
    shared::{game, lacking, rank, trust, trusted_pair, trusting, TRUSTED},
    viads::Viad,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[
    Test { name: "a_trusted_program_registers_heap_stack_and_huge_pages", body: Body::Names(kinds) },
    Test { name: "a_trusted_program_is_charged_for_its_own_memory", body: Body::Names(charged) },
    Test { name: "a_trusted_program_has_its_share_of_rows_and_no_more", body: Body::Names(limited) },
];

/// Bytes of a message: from the middle of a page into the second one behind it.
pub const BYTES: usize = 6000;
/// Where it lies in its memory.
const AT: usize = 100;
/// Limits of viad's that each region takes one of, and what viad calls that.
const LIMITS: [(&str, &str); 2] = [("regions", "regions"), ("rows", "rows of the region table")];
/// What a user may have of either. A session of a trusted program begins with fewer.
const SHARE: usize = 8;
/// What a rank registers: four pages.
const RANK: u64 = 4 * PAGE as u64;

/// A NIC of a viad that trusts this program.
pub struct End {
    /// The NIC.
    pub nic: Nic,
    /// The tag of everything.
    pub ptag: Ptag,
    /// For descriptors.
    page: Region,
    /// The VI by which messages go.
    pub vi: Vi,
    connections: Arc<dyn Connections>,
}

impl End {
    /// Opens the NIC, and makes a VI.
    pub fn open(viad: &Viad) -> Result<Self> {
        let nic = Nic::open(&viad.name(",way=trusted"))?;
        let ptag = nic.create_ptag()?;
        let page = nic.allocate(PAGE, &MemAttributes::new(&ptag))?;
        let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
        let connections = nic.connections()?;
        Ok(Self { nic, ptag, page, vi, connections })
    }

    fn address(&self, discriminator: &str) -> NetAddress {
        NetAddress {
            host: self.nic.attributes().local_nic_address.into(),
            discriminator: discriminator.into(),
        }
    }

    fn descriptor(&self, region: &Region) -> Result<Descriptor> {
        Ok(Descriptor::new().segment(region, AT, BYTES)?.build(&self.page, 0)?)
    }
}

/// Connects their VIs.
pub fn connect([from, to]: [&End; 2]) -> Result<()> {
    let place = to.address("memory");
    thread::scope(|scope| {
        let accepts =
            scope.spawn(|| to.connections.wait(&place, Some(LIMIT), &|| false)?.accept(&to.vi, &[]));
        loop {
            match from.connections.request(&from.vi, &from.address("asks"), &place, &[], Some(LIMIT)) {
                // It does not wait yet.
                Err(Error::NoMatch) => thread::sleep(Duration::from_millis(50)),
                asked => break drop(asked?),
            }
        }
        accepts.join().map_err(|_| anyhow!("who accepts panicked"))??;
        Ok(())
    })
}

/// A message of [`BYTES`] from the first end's region into the second one's.
pub fn message(ends: &[End; 2], [from, to]: [&Region; 2], bytes: &[u8]) -> Result<()> {
    from.write(AT, bytes)?;
    ends[1].vi.post_recv(ends[1].descriptor(to)?)?;
    // Answered when the NIC has seen the receive: a doorbell is a posted write, and the next one goes another way, to the other NIC.
    ends[1].nic.check()?;
    ends[0].vi.post_send(ends[0].descriptor(from)?)?;
    let received = ends[1].vi.recv_wait(Some(LIMIT)).context("the receive")?;
    ends[0].vi.send_wait(Some(LIMIT)).context("the send")?;
    ensure!(received.length() == BYTES, "{} bytes arrived", received.length());
    ensure!(read(to, AT, BYTES)? == bytes, "the bytes differ");
    Ok(())
}

fn kinds(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let viads = trusting(setting)?;
    let ends = [End::open(&viads[0])?, End::open(&viads[1])?];
    connect([&ends[0], &ends[1]])?;
    let mut heap = vec![0_u8; 3 * PAGE];
    let mut stack = [0_u8; 3 * PAGE];
    let huge = Pages::huge().context("the guest has huge pages")?;
    let kinds: [(&str, NonNull<u8>, usize); 3] = [
        ("heap", NonNull::from(&mut heap[..]).cast(), heap.len()),
        ("stack", NonNull::from(&mut stack).cast(), stack.len()),
        ("a huge page", huge.start(), HUGE_PAGE),
    ];
    // Each kind is read by the NIC, and written.
    for (number, sends) in kinds.iter().enumerate() {
        let receives = &kinds[(number + 1) % kinds.len()];
        note(format!("{} into {}", sends.0, receives.0));
        let region = |end: &End, (_, start, length): &(&str, NonNull<u8>, usize)| {
            // SAFETY: the memory outlives the region, which this turn of the loop drops; until then it is accessed by the region's copies
            // alone.
            unsafe { end.nic.register(*start, *length, &MemAttributes::new(&end.ptag)) }
        };
        let regions = [region(&ends[0], sends)?, region(&ends[1], receives)?];
        let bytes: Vec<u8> = (0..BYTES).map(|n| (n + number) as u8).collect();
        message(&ends, [&regions[0], &regions[1]], &bytes)?;
    }
    ends[0].vi.disconnect()?;
    drop(ends);
    viads.into_iter().try_for_each(Viad::stop)?;
    Ok(Completion::Completed)
}

fn charged(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let viads = trusting(setting)?;
    // One byte less than it registers is too little, and what it registers is enough: viad is charged for all else.
    let name = viads[0].name(",way=trusted");
    let refused = rank(Deed::Return, name, TRUSTED).memlock(RANK - 1).run()?;
    ensure!(!refused.success, "it has registered more than it may lock");
    ensure!(refused.said.contains("RLIMIT_MEMLOCK"), "the error must name the limit: {}", refused.said);
    let [returns, serves] = trusted_pair(&viads);
    game(returns.memlock(RANK), serves.memlock(RANK))?;
    viads.into_iter().try_for_each(Viad::stop)?;
    Ok(Completion::Completed)
}

/// Memory is the kernel's to charge; the rows of the NIC's tables are viad's.
fn limited(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    for (key, of) in LIMITS {
        let viad = Viad::start(setting, 0, None, &format!("[user]\n{key} = {SHARE}\n{}", trust()))?;
        let mut memory = vec![0_u8; (SHARE + 2) * PAGE];
        let end = End::open(&viad)?;
        let mut register = |number: usize| {
            let start = NonNull::from(&mut memory[number * PAGE..][..PAGE]).cast();
            // SAFETY: the memory outlives the regions, and nobody accesses it.
            unsafe { end.nic.register(start, PAGE, &MemAttributes::new(&end.ptag)) }
        };
        let mut regions = Vec::new();
        let refusal = loop {
            match register(regions.len()) {
                Ok(region) => regions.push(region),
                Err(error) => break error.to_string(),
            }
            ensure!(regions.len() <= SHARE, "{key}: there is no limit");
        };
        note(format!("{} regions, then: {refusal}", regions.len()));
        let reason = format!("has {SHARE} {of} and asks for 1 more: viad's limit is {SHARE}");
        ensure!(!regions.is_empty() && refusal.ends_with(&reason), "{key}: {refusal}");
        // One comes back, and is all that there is.
        let last = regions.len() - 1;
        drop(regions.pop());
        regions.push(register(last)?);
        ensure!(register(last + 1).is_err(), "{key}: more than there is");
        drop((regions, end));
        viad.stop()?;
    }
    Ok(Completion::Completed)
}
