//! The cases: programs that nobody here wrote, from libfabric's own up to whole suites, and what each must have said.

use super::{counters::Counters, faults, job, pair, suite, Bench, Found};
use crate::command::Cmd;
use crate::guest::simulator::Kind;
use crate::install;
use crate::project::{read, write};
use anyhow::{ensure, Context, Result};
use std::time::Duration;

/// How long a pair of processes may take.
const LIMIT: Duration = Duration::from_secs(300);
/// Of this percentage of the frames the case with losses loses.
const LOSS: f64 = 1.0;

/// How long a peer is silent until it is asked whether it is there: viad's default, and where a peer dies.
pub const SILENCE: Duration = Duration::from_secs(10);
const SHORT_SILENCE: Duration = Duration::from_millis(600);

/// A case.
#[derive(Debug)]
pub struct Case {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// NICs that it needs.
    pub nics: usize,
    /// It is in the quick run, too.
    pub quick: bool,
    /// It is short enough for RTL.
    pub rtl: bool,
    /// So many of a hundred frames are lost.
    pub loss: f64,
    /// How long a peer is silent until it is asked whether it is there.
    pub silence: Duration,
    /// What it does.
    pub run: fn(&mut Bench) -> Result<Found>,
}

const fn case(
    name: &'static str,
    nics: usize,
    run: fn(&mut Bench) -> Result<Found>,
    about: &'static str,
) -> Case {
    Case { name, about, nics, quick: false, rtl: false, loss: 0.0, silence: SILENCE, run }
}

const fn quick(case: Case) -> Case {
    Case { quick: true, ..case }
}

const fn rtl(case: Case) -> Case {
    Case { rtl: true, ..case }
}

/// All cases, in their order.
#[rustfmt::skip]
pub const CASES: &[Case] = &[
    rtl(quick(case("info", 1, info, "fi_info finds the provider, and ofi_rxm on it"))),
    quick(case("installed", 1, installed, "the same, of the provider that `install --libfabric` puts under a prefix")),
    rtl(quick(case("pingpong-msg", 2, |bench| pingpong(bench, pair::MSG), "fi_pingpong over FI_EP_MSG, each byte compared"))),
    rtl(quick(case("pingpong-rdm", 2, |bench| fetched(bench, pair::RDM), "fi_pingpong over FI_EP_RDM, each byte compared: large messages go by RDMA read"))),
    rtl(quick(case("pingpong-rdm-write", 2, |bench| fetched(bench, pair::RDM_WRITE), "the same, but large messages go by RDMA write"))),
    rtl(quick(case("ring", 2, |bench| ring(bench, &[0, 1]), "Open MPI: a token goes round two ranks, and an Allreduce"))),
    quick(case("ring-4", 4, |bench| ring(bench, &[0, 1, 2, 3]), "the same, four ranks over four NICs")),
    quick(case("ring-shared", 1, |bench| ring(bench, &[0, 0]), "the same, two ranks on one NIC, which viad shares")),
    quick(case("put-get", 2, put_get, "Open MPI: MPI_Put and MPI_Get, as vipl/examples/c/put_get.c does it on VIs")),
    quick(case("dsm", 3, dsm, "Open MPI: pages that three ranks fetch and put back under a lock, as vipl/examples/c/dsm.c does it on VIs")),
    case("netpipe", 2, netpipe, "Open MPI: NetPIPE up to 64 KiB"),
    quick(case("hpcc", 2, |bench| hpcc(bench, &[0, 1], (1, 2)), "Open MPI: HPC Challenge on two ranks, every residual")),
    case("hpcc-4", 4, |bench| hpcc(bench, &[0, 1, 2, 3], (2, 2)), "the same on four ranks over four NICs"),
    quick(case("mpi4py-p2p", 2, |bench| mpi4py(bench, &["test_p2p_obj", "test_p2p_buf"], suite::POINT_TO_POINT), "MPICH: mpi4py's own tests of messages")),
    case("mpi4py", 2, |bench| mpi4py(bench, &["test_cco_buf", "test_rma"], suite::COLLECTIVE_AND_ONE_SIDED), "MPICH: mpi4py's own tests of collectives and of one-sided calls"),
    Case { loss: LOSS, ..case("hpcc-loss", 2, |bench| hpcc(bench, &[0, 1], (1, 2)), "HPC Challenge while the wire loses 1 % of the frames") },
    quick(case("flood", 2, flood, "a sender that is faster than its receiver: receiver-not-ready, and no connection breaks")),
    quick(case("rank-killed", 2, faults::rank, "one of two processes is killed: the other one gets an error, and viad gives all back")),
    Case { silence: SHORT_SILENCE, quick: true, ..case("viad-killed", 2, faults::viad, "a viad is killed: both processes get errors, and nobody hangs") },
];

fn info(bench: &mut Bench) -> Result<Found> {
    is_found(bench)?;
    Ok(Found { note: "both are there".into(), bytes: 0 })
}

/// Fails unless fi_info finds the provider in the bench's folder of it, with the bench's first NIC.
fn is_found(bench: &Bench) -> Result<()> {
    for (provider, wanted) in [("via", "FI_EP_MSG"), ("via;ofi_rxm", "FI_EP_RDM")] {
        let told = job::bare(bench, 0, "fi_info").args(["-p", provider]).limit(60).read()?;
        let names = format!("provider: {provider}");
        let domain = format!("domain: {}", bench.stage.name(0));
        ensure!(
            [names.as_str(), wanted, &domain].iter().all(|said| told.contains(said)),
            "fi_info -p {provider} says:\n{told}"
        );
    }
    Ok(())
}

/// `install --libfabric` into a prefix of the case's own. What was built for the other cases is not looked at.
fn installed(bench: &mut Bench) -> Result<Found> {
    let prefix = bench.folder.join("prefix");
    let options = install::Options { libfabric: true, ..install::Options::test(&prefix) };
    install::run(bench.project, &options)?;
    bench.provider = prefix.join(install::LIBRARIES).join("libfabric");
    is_found(bench)?;
    Ok(Found { note: "both are there".into(), bytes: 0 })
}

fn pingpong(bench: &mut Bench, way: pair::Way) -> Result<Found> {
    // Sizes that ofi_rxm sends at once, that it cuts, and that it says where to find; of RTL a wall second moves little.
    let sizes: &[(u64, u64)] = match bench.kind {
        Kind::Model => &[(64, 300), (20 << 10, 50), (1 << 20, 5)],
        Kind::Rtl => &[(64, 20), (20 << 10, 2), (160 << 10, 1)],
    };
    let mut found = Found { note: String::new(), bytes: 0 };
    let mut rows = Vec::new();
    for (size, count) in sizes {
        let exchange = pair::Exchange { way, size: *size, count: *count };
        rows.push(pair::run(bench, exchange, LIMIT)?);
        found.bytes += exchange.bytes();
    }
    found.note = rows.join(" | ");
    Ok(found)
}

/// The same over ofi_rxm. The NICs say whether they have served reads: the long messages, or none of them, have gone so.
fn fetched(bench: &mut Bench, way: pair::Way) -> Result<Found> {
    let before = Counters::of_all(bench)?;
    let found = pingpong(bench, way)?;
    let reads = Counters::of_all(bench)?.since(&before).get("READS_SERVED")?;
    ensure!((reads == 0) == way.by_writes, "the NICs have served {reads} RDMA reads");
    Ok(Found { note: format!("{}; {reads} RDMA reads", found.note), ..found })
}

/// The path of a program that was compiled for this.
fn own(bench: &Bench, name: &str) -> String {
    bench.programs.join(name).display().to_string()
}

/// Runs a job: what it has written.
fn run(cmd: &Cmd) -> Result<String> {
    println!("$ {cmd}");
    cmd.read()
}

fn ring(bench: &mut Bench, nics: &[usize]) -> Result<Found> {
    let (size, turns) = match bench.kind {
        Kind::Model => (100_000u64, 10u64),
        Kind::Rtl => (20_000, 1),
    };
    let program = own(bench, "ring");
    let (bytes, times) = (size.to_string(), turns.to_string());
    let told = run(&job::open_mpi(bench, nics, &[program.as_str(), &bytes, &times]))?;
    let ranks = nics.len() as u64;
    let wanted = format!("ring: {ranks} ranks, {turns} turns of {size} bytes: right");
    ensure!(told.contains(&wanted), "the ring says:\n{told}");
    Ok(Found { note: wanted, bytes: ranks * turns * size })
}

fn put_get(bench: &mut Bench) -> Result<Found> {
    let program = own(bench, "put_get");
    let told = run(&job::open_mpi(bench, &[0, 1], &[program.as_str()]))?;
    let wanted = "put_get: 262144 bytes each way: right";
    ensure!(told.contains(wanted), "put_get says:\n{told}");
    Ok(Found { note: wanted.into(), bytes: 2 * 262_144 })
}

fn dsm(bench: &mut Bench) -> Result<Found> {
    let program = own(bench, "dsm");
    let told = run(&job::open_mpi(bench, &[0, 1, 2], &[program.as_str(), "20"]))?;
    let wanted = "dsm: 3 ranks, 20 rounds: right";
    ensure!(told.contains(wanted), "dsm says:\n{told}");
    // Two of the ranks fetch all eight pages, and put them back.
    Ok(Found { note: wanted.into(), bytes: 2 * 20 * 2 * 8 * 4096 })
}

fn netpipe(bench: &mut Bench) -> Result<Found> {
    const MOST: u64 = 64 << 10;
    let most = MOST.to_string();
    let cmd = job::open_mpi(bench, &[0, 1], &["NPopenmpi", "-u", &most, "-o", "np.out"]);
    println!("$ {cmd}");
    let (good, told) = cmd.run_watching_errors()?;
    ensure!(good, "NetPIPE has failed");
    let rows = read(&bench.folder.join("np.out"))?;
    let last = rows.lines().last().context("NetPIPE has measured nothing")?;
    let size: u64 = last.split_whitespace().next().and_then(|word| word.parse().ok()).context("no size")?;
    ensure!(
        rows.lines().count() > 20 && size >= MOST,
        "NetPIPE has measured up to {size} bytes only:\n{rows}"
    );
    Ok(Found {
        note: format!("{} sizes up to {size} bytes", rows.lines().count()),
        bytes: netpipe_bytes(&told)?,
    })
}

/// Bytes of the messages that NetPIPE says that it exchanges. It says how often each size goes there and back, and does all of that three times.
fn netpipe_bytes(told: &str) -> Result<u64> {
    const TRIALS: u64 = 3;
    // `  5:       6 bytes   1000 times -->      x Mbps in     y usec`
    let one = |line: &str| -> Option<u64> {
        let (size, times) = line.split_once(" -->")?.0.split_once(':')?.1.split_once(" bytes ")?;
        let size: u64 = size.trim().parse().ok()?;
        let times: u64 = times.trim().strip_suffix(" times")?.trim().parse().ok()?;
        Some(size * times)
    };
    let sizes: Vec<u64> = told.lines().filter_map(one).collect();
    ensure!(!sizes.is_empty(), "NetPIPE does not say how often it sends what:\n{told}");
    Ok(TRIALS * 2 * sizes.iter().sum::<u64>())
}

/// Input of HPC Challenge, with this grid of processes: as its own example has it, but small.
fn hpcc_input((rows, columns): (usize, usize)) -> String {
    let lines = [
        "HPLinpack benchmark input file".to_string(),
        "cargo xtask mpi".into(),
        "HPL.out      output file name (if any)".into(),
        "8            device out (6=stdout,7=stderr,file)".into(),
        "1            # of problems sizes (N)".into(),
        "200          Ns".into(),
        "1            # of NBs".into(),
        "20           NBs".into(),
        "0            PMAP process mapping (0=Row-,1=Column-major)".into(),
        "1            # of process grids (P x Q)".into(),
        format!("{rows}            Ps"),
        format!("{columns}            Qs"),
        "16.0         threshold".into(),
        "1            # of panel fact".into(),
        "2            PFACTs (0=left, 1=Crout, 2=Right)".into(),
        "1            # of recursive stopping criterium".into(),
        "4            NBMINs (>= 1)".into(),
        "1            # of panels in recursion".into(),
        "2            NDIVs".into(),
        "1            # of recursive panel fact.".into(),
        "1            RFACTs (0=left, 1=Crout, 2=Right)".into(),
        "1            # of broadcast".into(),
        "1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)".into(),
        "1            # of lookahead depth".into(),
        "1            DEPTHs (>=0)".into(),
        "2            SWAP (0=bin-exch,1=long,2=mix)".into(),
        "64           swapping threshold".into(),
        "0            L1 in (0=transposed,1=no-transposed) form".into(),
        "0            U  in (0=transposed,1=no-transposed) form".into(),
        "1            Equilibration (0=no,1=yes)".into(),
        "8            memory alignment in double (> 0)".into(),
        "##### This line (no. 32) is ignored (it serves as a separator). ######".into(),
        "0            Number of additional problem sizes for PTRANS".into(),
        "200          values of N".into(),
        "0            number of additional blocking sizes for PTRANS".into(),
        "20           values of NB".into(),
    ];
    lines.join("\n") + "\n"
}

fn hpcc(bench: &mut Bench, nics: &[usize], grid: (usize, usize)) -> Result<Found> {
    write(&bench.folder.join("hpccinf.txt"), hpcc_input(grid))?;
    run(&job::open_mpi(bench, nics, &["hpcc"]))?;
    let told = read(&bench.folder.join("hpccoutf.txt"))?;
    Ok(Found { note: hpcc_verdict(&told)?, bytes: hpcc_bytes(nics.len() as u64) })
}

/// Bytes of the messages with which HPC Challenge measures bandwidth between so many ranks (b_eff: `bench_lat_bw` of its sources, which sends more only if
/// the clock is too coarse for these). All else that it sends comes on top, a few per cent.
fn hpcc_bytes(ranks: u64) -> u64 {
    const MESSAGE: u64 = 2_000_000;
    // In rings: three times, in the order of the ranks and in ten random orders, by two ways of sending, once to warm up and twice to measure, each rank to both
    // its neighbours.
    let rings = 3 * (1 + 10) * 2 * (1 + 2) * 2 * ranks;
    // In pairs: twice, once to warm up and once to measure, there and back; each rank with each other, and two of them once before.
    let pairs = 2 * (1 + 1) * 2 * (ranks * (ranks - 1) + 1);
    MESSAGE * (rings + pairs)
}

/// Residuals that a whole run of HPC Challenge tells of: five of PTRANS, one of HPL.
const RESIDUALS: usize = 6;

/// What HPC Challenge says of itself.
fn hpcc_verdict(told: &str) -> Result<String> {
    // PTRANS tells its residual again beside the processor's time, if its clock has seen any.
    let again = |line: &str| line.starts_with("CPU");
    let passed = told.lines().filter(|line| line.contains("PASSED") && !again(line)).count();
    let failed = told.lines().filter(|line| line.contains("FAILED")).count();
    let is_whole = told.lines().any(|line| line.trim() == "Success=1");
    ensure!(
        is_whole && passed == RESIDUALS && failed == 0,
        "hpcc: {passed} residuals of {RESIDUALS} passed, {failed} failed:\n{told}"
    );
    Ok(format!("Success=1, {passed} residuals passed"))
}

fn mpi4py(bench: &mut Bench, files: &[&str], sent: suite::Sent) -> Result<Found> {
    let (python, main) = (job::python(&bench.project.venv), suite::program(bench.project)?);
    let main = main.display().to_string();
    let mut line = vec![python.as_str(), "-u", &main];
    files.iter().for_each(|file| line.extend(["-i", *file]));
    let cmd = job::mpich(bench, &[0, 1], &line);
    println!("$ {cmd}");
    let (good, errors) = cmd.run_watching_errors()?;
    ensure!(good, "mpi4py's tests have failed");
    let counts = suite::passed(&errors)?;
    ensure!(counts.len() == 2, "{} ranks have run tests", counts.len());
    Ok(Found { note: format!("{counts:?} tests passed"), bytes: sent.at_least() })
}

fn flood(bench: &mut Bench) -> Result<Found> {
    let before = Counters::of_all(bench)?;
    let program = own(bench, "flood");
    let told = run(&job::open_mpi(bench, &[0, 1], &[program.as_str()]))?;
    let wanted = "flood: 1000 messages of 4096 bytes: right";
    ensure!(told.contains(wanted), "flood says:\n{told}");
    let since = Counters::of_all(bench)?.since(&before);
    let (sent, broken) = (since.get("RNR_SENT")?, since.get("VIS_BROKEN")?);
    ensure!(sent > 0, "no message has met a receiver that was not ready: this was no flood");
    ensure!(broken == 0, "{broken} VIs have broken");
    Ok(Found { note: format!("{wanted}, {sent} answers \"not ready\""), bytes: 1000 * 4096 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hpcc_s_input_has_its_lines_where_hpcc_reads_them() {
        let input = hpcc_input((1, 2));
        let lines: Vec<&str> = input.lines().collect();
        assert!(lines[10].starts_with("1 ") && lines[11].starts_with("2 "), "the grid");
        assert!(lines[31].starts_with("#####"), "the separator is line 32");
        assert_eq!(lines.len(), 36);
    }

    #[test]
    fn hpcc_s_bytes_are_nearly_all_that_a_run_has_sent() {
        // As docs/mpi.md has them.
        assert_eq!([2, 4].map(hpcc_bytes), [1_632_000_000, 3_376_000_000]);
    }

    #[test]
    fn netpipe_s_bytes_are_those_of_the_sizes_that_it_tells_of() {
        let told = "0: a\n1: b\nNow starting the main loop\n  0:       1 bytes    200 times -->      0.01 Mbps in     900.00 usec\n  \
                    1:   65539 bytes     10 times -->     70.00 Mbps in    7000.00 usec\n";
        assert_eq!(netpipe_bytes(told).unwrap(), 6 * (200 + 655_390));
        assert!(netpipe_bytes("0: a\n").is_err());
    }

    #[test]
    fn hpcc_passes_when_all_of_it_has() {
        let passed = |count| "||Ax-b|| ... PASSED\n".repeat(count);
        for again in ["", "CPU    100   100  20  20   1   2     0.00 PASSED    1.159  0.00\n"] {
            let good = passed(RESIDUALS) + again + "Success=1\n";
            assert_eq!(hpcc_verdict(&good).unwrap(), "Success=1, 6 residuals passed");
        }
        let ends = ["", "Success=0\n", "y FAILED\nSuccess=1\n"].map(|end| passed(RESIDUALS) + end);
        for bad in ends.into_iter().chain([passed(RESIDUALS - 1) + "Success=1\n"]) {
            assert!(hpcc_verdict(&bad).is_err(), "{bad}");
        }
    }
}
