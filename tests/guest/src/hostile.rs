//! A user of a viad is against the others, with all that a user has there: its socket, pools, doorbell pages and VIs. The deeds are those of viad's own
//! tests (tests/viad/src/hostile); here a kernel's VFIO and IOMMU stand behind viad, and [`crate::ledger`] holds against the test what the NIC was led
//! to reach for.

use anyhow::{ensure, Context, Result};
use libtest_mimic::Completion;
use viaduct_driver::viad::place::Place;
use viaduct_viad_tests::hostile::{self, Told, DEEDS, FLIGHT, HOSTILE};
use vipl::{MemAttributes, Nic, Region, Vi, ViAttributes};

use crate::{
    bench::read,
    child::{Child, Deed},
    setting::Setting,
    shared::{game, lacking, strangers, viad_without_rights, OWN},
    viads::Viad,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] =
    &[Test { name: "a_hostile_user_beside_honest_ones", body: Body::Names(beside_honest_ones) }];

/// The user who is against all others.
const USER: u32 = 4004;
/// Bytes of the memory that nobody may touch.
const BAIT: usize = 8192;
/// What viad gives each user: so little that one who wants all of it has it soon.
const LIMITS: &str = "[client]\nvis = 16\n[user]\nsessions = 16\npools = 16\n";

/// An honest user, of whom the hostile one knows everything. It has memory for RDMA.
struct Victim {
    nic: Nic,
    bait: Region,
    vi: Vi,
}

impl Victim {
    fn open(viad: &Viad) -> Result<Self> {
        let nic = Nic::open(&viad.name(&format!(",user={OWN},way=pools")))?;
        let ptag = nic.create_ptag()?;
        let attributes =
            MemAttributes { enable_rdma_write: true, enable_rdma_read: true, ..MemAttributes::new(&ptag) };
        let bait = nic.allocate(BAIT, &attributes)?;
        bait.write(0, &pattern())?;
        let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
        Ok(Self { nic, bait, vi })
    }

    fn told(&self) -> Told {
        let (address, handle) = (self.bait.address() as u64, self.bait.handle());
        Told { address, handle, vi: self.vi.connection_info() }
    }

    /// Nothing has happened to it.
    fn is_well(&self) -> Result<()> {
        ensure!(read(&self.bait, 0, BAIT)? == pattern(), "its memory was changed");
        let events = self.nic.take_events()?;
        ensure!(events.is_empty(), "it was told of what is not its own: {events:?}");
        ensure!(self.vi.query()?.state == vipl::ViState::Idle, "its VI was touched");
        Ok(self.nic.check()?)
    }
}

fn pattern() -> Vec<u8> {
    (0..BAIT).map(|n| (n * 7 + n / 256) as u8).collect()
}

/// The child's side: hostile until it is killed.
pub fn be(deed: Deed, name: &str, told: &str) -> Result<()> {
    let place: Place = name.strip_prefix("viad:").context("a viad's name")?.parse()?;
    let deeds = if deed == Deed::Flight { &[FLIGHT][..] } else { &DEEDS };
    hostile::go_on(deeds, &place, Told::of_text(told))
}

fn beside_honest_ones(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let (_given, viad) = viad_without_rights(setting, LIMITS)?;
    let victim = Victim::open(&viad)?;
    let told = victim.told().to_text();
    for deed in [Deed::Hostile, Deed::Flight] {
        let name = viad.name(&format!(",user={OWN},way=pools"));
        let mut against = Child::new(deed, &[name]).user(USER).told(&told).start()?;
        against.wait_for(HOSTILE)?;
        let [returns, serves] = strangers(&viad);
        game(returns, serves)?;
        // It was at it all the time, and found nothing otherwise than it was to find.
        against.lives()?;
        // By SIGKILL: what it had posted is under way.
        against.kill()?;
        victim.is_well()?;
    }
    let [returns, serves] = strangers(&viad);
    game(returns, serves)?;
    drop(victim);
    viad.stop()?;
    Ok(Completion::Completed)
}
