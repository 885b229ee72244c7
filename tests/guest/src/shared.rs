//! Several processes on one board, by way of viad: those that it trusts with the function, and those of users who do not trust each other.

use anyhow::{bail, ensure, Result};
use libtest_mimic::Completion;
use rustix::process::geteuid;
use vipl::{Descriptor, Error, MemAttributes, Nic, ViAttributes};

use crate::{
    bench::LIMIT,
    child::{Child, Deed, End, Running, REFUSED},
    memory::{Pages, PAGE},
    ranks::PLAYING,
    setting::Setting,
    user::Given,
    viads::{program, Viad},
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[
    Test { name: "trusted_ranks_ring_their_own_doorbells", body: Body::Names(trusted) },
    Test { name: "a_trusted_rank_is_killed_in_the_middle", body: Body::Names(trusted_killed) },
    Test { name: "distrusting_users_of_a_viad_without_rights", body: Body::Names(distrusting) },
    Test { name: "a_distrusting_user_is_killed_in_the_middle", body: Body::Names(distrusting_killed) },
    Test { name: "viad_is_killed_and_its_trusted_program_lets_go", body: Body::Names(orphaned) },
];

/// The user whom viad trusts, one whom it does not, a third, and viad's own.
pub const TRUSTED: u32 = 65534;
const STRANGER: u32 = 4001;
const OTHER: u32 = 4002;
pub const OWN: u32 = 4003;
/// Balls of a game.
const BALLS: u64 = 20;
/// Processes that are killed, one after the other.
const KILLED: usize = 2;

/// Why it cannot be tried here, if it cannot.
pub fn lacking(setting: &Setting) -> Option<&'static str> {
    if !setting.is_vfio() {
        Some("this device is not behind a kernel's VFIO")
    } else if !geteuid().is_root() {
        Some("only root can start processes of several users")
    } else if program().is_none() {
        Some("viad is not beside this program")
    } else {
        None
    }
}

pub fn rank(deed: Deed, name: String, user: u32) -> Child {
    Child::new(deed, &[name]).user(user)
}

/// A game to its end: one process returns what the other serves. What both said.
pub fn game(returns: Child, serves: Child) -> Result<[String; 2]> {
    let returns = returns.balls(BALLS).start()?;
    let served = serves.balls(BALLS).start()?.end()?;
    let returned = returns.end()?;
    ensure!(served.success && returned.success, "{} {}", served.said, returned.said);
    Ok([returned.said, served.said])
}

/// A game in whose middle the one who serves is killed; the other one must hear of it. Who was killed had DMA under way: it meets memory that is
/// mapped, or nothing is sent any more, and the IOMMU's ledger stays empty.
fn broken_game(returns: Child, serves: Child) -> Result<()> {
    let returns = returns.start()?;
    let mut serves: Running = serves.start()?;
    serves.wait_for(PLAYING)?;
    serves.kill()?;
    let returned = returns.end()?;
    hears_of_the_end(&returned)
}

/// One is killed whose messages follow each other without end: some are under way. As above, the NIC meets what is mapped, or sends no more.
fn kill_in_a_stream(streams: Child) -> Result<()> {
    let mut streams = streams.start()?;
    streams.wait_for(PLAYING)?;
    streams.kill()
}

/// A rank was told that its game is over: it has ended with an error at one of its balls, and not because it waited for that in vain.
pub fn hears_of_the_end(rank: &End) -> Result<()> {
    let is_told =
        !rank.success && rank.said.contains("ball") && !rank.said.contains(&Error::Timeout.to_string());
    ensure!(is_told, "a rank must hear of the end: {}", rank.said);
    Ok(())
}

/// Both NICs' viads, which trust one user beside root.
pub fn trusting(setting: &Setting) -> Result<[Viad; 2]> {
    Ok([Viad::start(setting, 0, None, &trust())?, Viad::start(setting, 1, None, &trust())?])
}

/// What trusts it, and root.
pub fn trust() -> String {
    format!("[trusted]\nusers = [0, {TRUSTED}]\naddresses = 1073741824\nmaps = 64\n")
}

pub fn trusted_pair([one, other]: &[Viad; 2]) -> [Child; 2] {
    let returns = rank(Deed::Return, one.name(",way=trusted"), TRUSTED);
    [returns, rank(Deed::Serve, other.name(",way=trusted"), TRUSTED).peer(one.mac())]
}

fn trusted(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let viads = trusting(setting)?;
    // Of two ranks on one NIC, too.
    for serving in [1, 0] {
        let [returns, _] = trusted_pair(&viads);
        let name = viads[serving].name(",way=trusted");
        let said = game(returns, rank(Deed::Serve, name, TRUSTED).peer(viads[0].mac()))?;
        ensure!(said.iter().all(|said| !said.contains(REFUSED)), "memory of their own: {said:?}");
    }
    let name = viads[0].name(",way=trusted");
    let stranger = rank(Deed::Return, name, STRANGER).run()?;
    let reason = format!("does not trust user {STRANGER}");
    ensure!(!stranger.success && stranger.said.contains(&reason), "another user: {}", stranger.said);
    private_memory(&viads[0])?;
    viads.into_iter().try_for_each(Viad::stop)?;
    Ok(Completion::Completed)
}

/// Memory of a program that hands it all to viad, which viad cannot map for a function behind VFIO: the ways that there are are named.
fn private_memory(viad: &Viad) -> Result<()> {
    let nic = Nic::open(&viad.name(""))?;
    let ptag = nic.create_ptag()?;
    let pages = Pages::filled(1, 0)?;
    // SAFETY: nothing is registered: that is the test.
    let registered = unsafe { nic.register(pages.start(), pages.length(), &MemAttributes::new(&ptag)) };
    let error = match registered {
        Ok(_) => bail!("viad has mapped memory of another process"),
        Err(error) => error.to_string(),
    };
    for way in ["Nic::allocate", "VipExtAllocateMem", "way=trusted", "vfio:ADDRESS"] {
        ensure!(error.contains(way), "the error must name {way}: {error}");
    }
    // What the library allocates is registered here, too.
    nic.allocate(1 << 16, &MemAttributes::new(&ptag))?;
    Ok(())
}

fn trusted_killed(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let viads = trusting(setting)?;
    for killed in 1..=KILLED {
        let [returns, serves] = trusted_pair(&viads);
        broken_game(returns, serves)?;
        // Its memory is unmapped, and its addresses are leased again.
        viads.iter().try_for_each(|viad| viad.wait_ended(killed))?;
    }
    kill_in_a_stream(rank(Deed::Stream, viads[0].name(",way=trusted"), TRUSTED))?;
    viads[0].wait_ended(KILLED + 1)?;
    let [returns, serves] = trusted_pair(&viads);
    game(returns, serves)?;
    viads.into_iter().try_for_each(Viad::stop)?;
    Ok(Completion::Completed)
}

/// A viad of a user of its own, who may do nothing but open the node; with more of a configuration.
pub fn viad_without_rights(setting: &Setting, config: &str) -> Result<(Given, Viad)> {
    let given = Given::nodes(setting, OWN)?;
    Ok((given, Viad::start(setting, 0, Some(OWN), config)?))
}

/// Two users who do not trust each other, on one NIC.
pub fn strangers(viad: &Viad) -> [Child; 2] {
    let name = || viad.name(&format!(",user={OWN},way=pools"));
    [rank(Deed::Return, name(), STRANGER), rank(Deed::Serve, name(), OTHER).peer(viad.mac())]
}

fn distrusting(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let (_given, viad) = viad_without_rights(setting, "")?;
    let [returns, serves] = strangers(&viad);
    for said in game(returns, serves)? {
        for way in [REFUSED, "Nic::allocate", "VipExtAllocateMem", "way=trusted"] {
            ensure!(said.contains(way), "private memory is refused with the ways: {said}");
        }
    }
    viad.stop()?;
    Ok(Completion::Completed)
}

fn distrusting_killed(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let (_given, viad) = viad_without_rights(setting, "")?;
    for killed in 1..=KILLED {
        let [returns, serves] = strangers(&viad);
        broken_game(returns, serves)?;
        viad.wait_ended(2 * killed)?;
    }
    kill_in_a_stream(rank(Deed::Stream, viad.name(&format!(",user={OWN},way=pools")), OTHER))?;
    viad.wait_ended(2 * KILLED + 1)?;
    let [returns, serves] = strangers(&viad);
    game(returns, serves)?;
    viad.stop()?;
    Ok(Completion::Completed)
}

/// This process has the function of a viad that is killed. It lives on, and does not close its NIC; the next viad can have it all the same.
fn orphaned(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let viad = Viad::start(setting, 0, None, &trust())?;
    let nic = Nic::open(&viad.name(",way=trusted"))?;
    let ptag = nic.create_ptag()?;
    let memory = nic.allocate(2 * PAGE, &MemAttributes::new(&ptag))?;
    let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
    // By SIGKILL.
    drop(viad);
    let next = Viad::start(setting, 0, None, &trust())?;
    // Whatever is done with what there was meets an error, and none ends the process.
    for place in 0..3 {
        let receive = Descriptor::new().segment(&memory, PAGE, 64)?.build(&memory, 64 * place)?;
        // A post is a store: it may go to nobody.
        let _ = vi.post_recv(receive);
        ensure!(vi.recv_wait(Some(LIMIT)).is_err(), "there is no NIC that would receive");
    }
    let error = nic.check().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(error.contains("gone"), "the NIC is gone: {error:?}");
    next.stop()?;
    Ok(Completion::Completed)
}
