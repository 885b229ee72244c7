//! `soak`: builds and runs the program of the walk crate, the co-simulation suite behind PCI Express links, or the endpoint's tests with many
//! seeds.

use crate::action::Tests;
use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::Result;
use clap::Args;

/// Seeds of the corpus that the quick run walks.
const QUICK_SEEDS: u64 = 50;

/// Seeds of the endpoint's tests.
const ENDPOINT_SEEDS: u64 = 10;

/// What to walk.
#[derive(Args, Default)]
pub struct Options {
    /// Walks [default: 2000, or as many as there are minutes for]
    #[arg(long)]
    seeds: Option<u64>,
    /// The first seed
    #[arg(long)]
    from: Option<u64>,
    /// No walk begins when so many minutes have passed
    #[arg(long)]
    minutes: Option<u64>,
    /// The seeds of the corpus (walk/src/corpus.txt) instead of one behind the other
    #[arg(long, conflicts_with = "from")]
    corpus: bool,
    /// As many seeds drawn from this text, besides
    #[arg(long, value_name = "TEXT", requires = "corpus")]
    fresh: Option<String>,
    /// Every walk is on an unkind bus, not only every second one
    #[arg(long)]
    unkind: bool,
    /// No walks: the co-simulation suite with the RTL NICs behind PCI Express links, as far as it can run there, at both ratios of the clocks
    #[arg(long, conflicts_with_all = ["seeds", "from", "minutes", "corpus", "fresh", "unkind"])]
    linked: bool,
    /// No walks: the tests of the PCI Express endpoint, --seeds times [default: 10], from the seed --from on [default: 1]
    #[arg(long, conflicts_with_all = ["minutes", "corpus", "fresh", "unkind", "linked"])]
    endpoint: bool,
}

impl Options {
    /// Those of the quick run: the beginning of the corpus.
    pub fn quick() -> Self {
        Self { seeds: Some(QUICK_SEEDS), corpus: true, ..Self::default() }
    }

    /// Those of the whole run: the corpus, and as many seeds drawn from the hash of the commit, if it is known.
    pub fn whole(commit: Option<String>) -> Self {
        Self { corpus: true, fresh: commit, ..Self::default() }
    }
}

/// Walks; what fails is made small, and its evidence goes to target/xtask/walks. The program may be `built` already.
pub fn run(project: &Project, options: &Options, built: bool) -> Result<()> {
    if options.linked || options.endpoint {
        setup::ensure(project, &[Need::Simulator, Need::Tests])?;
        let left_out = project.scratch("parts")?.join("soak.left-out");
        let tests = Tests { project, whole: built, quick: false, left_out: &left_out };
        if options.linked {
            return tests.soak_links();
        }
        let from = options.from.unwrap_or(1);
        return tests.soak_endpoint(from..from + options.seeds.unwrap_or(ENDPOINT_SEEDS));
    }
    let mut walk = match built {
        true => project.built("viaduct-walk")?,
        false => {
            setup::ensure(project, &[Need::Simulator])?;
            project.cargo("run")?.args(["--quiet", "-p", "viaduct-walk", "--"])
        }
    };
    walk = walk.arg("--out").arg(project.scratch("walks")?);
    for (name, value) in
        [("--seeds", options.seeds), ("--from", options.from), ("--minutes", options.minutes)]
    {
        if let Some(value) = value {
            walk = walk.arg(name).arg(value.to_string());
        }
    }
    if options.corpus {
        walk = walk.arg("--corpus");
    }
    if options.unkind {
        walk = walk.arg("--unkind");
    }
    if let Some(text) = &options.fresh {
        walk = walk.args(["--fresh", text]);
    }
    walk.run()
}
