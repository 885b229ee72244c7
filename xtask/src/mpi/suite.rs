//! mpi4py's own tests, which its package of sources has.

use crate::command::Cmd;
use crate::project::{read, Project};
use anyhow::{ensure, Context, Result};
use std::fs;
use std::path::PathBuf;

/// The package, by its name.
const PACKAGE: &str = "mpi4py";
/// The program that runs the tests, in the package of sources.
const MAIN: &str = "test/main.py";

/// What two ranks send one another in tests: of mpi4py 4.1.2, as MPI's profiling interface sees its calls. A send to the other rank is a message, as is what
/// this rank must send in a collective call, and each one-sided access.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    messages: u64,
    bytes: u64,
}

/// test_p2p_obj and test_p2p_buf: 9204 sends, and a message of each rank in 7056 barriers.
pub const POINT_TO_POINT: Sent = Sent { messages: 23_320, bytes: 110_432 };
/// test_cco_buf: 4204 messages with 65 478 bytes. test_rma: 23 118 with 519 750.
pub const COLLECTIVE_AND_ONE_SIDED: Sent = Sent { messages: 27_322, bytes: 585_228 };

impl Sent {
    /// Bytes that the NICs must have seen. What MPICH sends beside it, to lock, to complete, to acknowledge, comes on top: it is a third of all between
    /// points, and most of what one-sided tests send.
    pub fn at_least(self) -> u64 {
        /// ofi_rxm's header of a message.
        const HEADER: u64 = 64;
        self.bytes + HEADER * self.messages
    }
}

/// The program that runs the tests: of the version that is installed. The sources are fetched once.
pub fn program(project: &Project) -> Result<PathBuf> {
    let pins = read(&project.root.join("xtask/python/mpi.txt"))?;
    let version = version(&pins)?;
    let kept = project.root.join(".viaduct");
    let name = format!("{PACKAGE}-{version}");
    let program = kept.join(&name).join(MAIN);
    if program.exists() {
        return Ok(program);
    }
    let folder = project.scratch("mpi4py")?;
    let pip =
        ["-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--no-deps", "--no-binary"];
    Cmd::new(project.venv.join("bin/python"))
        .args(pip)
        .args([PACKAGE, "--dest"])
        .arg(&folder)
        .arg(format!("{PACKAGE}=={version}"))
        .run()?;
    // Into another name first: what is interrupted is not taken for the whole.
    let part = kept.join(format!("{name}.part"));
    if part.exists() {
        fs::remove_dir_all(&part).with_context(|| part.display().to_string())?;
    }
    fs::create_dir_all(&part).with_context(|| part.display().to_string())?;
    let archive = folder.join(format!("{name}.tar.gz"));
    Cmd::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&part).run()?;
    fs::rename(part.join(&name), kept.join(&name))
        .with_context(|| format!("{} has no {name}", part.display()))?;
    fs::remove_dir(&part)?;
    ensure!(program.exists(), "{} is not in the sources of {PACKAGE} {version}", program.display());
    Ok(program)
}

/// The version that a list of pins has of it.
fn version(pins: &str) -> Result<&str> {
    let line = pins.lines().find_map(|line| line.strip_prefix(PACKAGE)?.strip_prefix("=="));
    line.map(str::trim).with_context(|| format!("xtask/python/mpi.txt does not pin {PACKAGE}"))
}

/// How many tests each rank has run, if all of them went well: what unittest writes at its end.
pub fn passed(errors: &str) -> Result<Vec<usize>> {
    let counts = errors.lines().filter_map(|line| {
        // A launcher may write something in front of a line.
        let ran = line.split("Ran ").nth(1)?.split_whitespace().next()?;
        ran.parse().ok()
    });
    let counts: Vec<usize> = counts.collect();
    // A rank's last word may stand behind the marks of another one's tests.
    let last = |line: &&str| {
        let word = line.trim().trim_start_matches(['.', 's', 'x']);
        word == "OK" || word.starts_with("OK (")
    };
    let good = errors.lines().filter(last).count();
    ensure!(
        good == counts.len() && counts.iter().all(|count| *count > 0),
        "of {} ranks {good} say OK, and they have run {counts:?} tests",
        counts.len()
    );
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;

    #[test]
    fn what_the_tests_send_was_counted_of_the_version_that_is_pinned() {
        let pins = read(&Project::find().unwrap().root.join("xtask/python/mpi.txt")).unwrap();
        assert_eq!(version(&pins).unwrap(), "4.1.2");
        assert!(version("mpich==5.0.2\n").is_err());
        assert_eq!(POINT_TO_POINT.at_least(), 1_602_912);
        assert_eq!(COLLECTIVE_AND_ONE_SIDED.at_least(), 2_333_836);
    }

    #[test]
    fn each_rank_says_how_many_tests_went_well() {
        let end = |count: usize, word: &str| format!("....\n-----\nRan {count} tests in 3.1s\n\n{word}\n");
        let both = end(10, "OK") + &end(10, "OK (skipped=2)");
        assert_eq!(passed(&both).unwrap(), [10, 10]);
        assert_eq!(passed("...s.OK\nx..Ran 3 tests in 0.1s\n").unwrap(), [3]);
        assert!(passed(&(end(10, "OK") + &end(10, "FAILED (errors=1)"))).is_err());
        assert!(passed(&end(0, "OK")).is_err());
        assert!(passed("").unwrap().is_empty());
    }
}
