//! Jobs: so many ranks of a program, each with its NIC, over the provider alone.

use super::Bench;
use crate::command::Cmd;
use std::path::Path;

/// How long a job may take, in seconds: one that hangs must not hang the tests.
const LIMIT: u32 = 900;
/// Names the NIC to the provider.
const NIC: &str = "FI_VIA_NIC";
/// Names the provider's folder to libfabric.
const PROVIDERS: &str = "FI_PROVIDER_PATH";

/// A program by itself, with a NIC.
pub fn bare(bench: &Bench, nic: usize, program: &str) -> Cmd {
    Cmd::new(program).env(PROVIDERS, &bench.provider).env(NIC, bench.stage.name(nic))
}

/// The ranks of a job: each begins with what separates it from the one before, and has its NIC in its environment. (Both launchers give all ranks
/// that they start one environment.)
fn ranks(bench: &Bench, nics: &[usize], count: &str, program: &[&str]) -> Vec<String> {
    let mut words = Vec::new();
    for (rank, nic) in nics.iter().enumerate() {
        words.extend((rank > 0).then(|| ":".to_string()));
        let name = format!("{NIC}={}", bench.stage.name(*nic));
        words.extend([count, "1", "env", &name].into_iter().chain(program.iter().copied()).map(String::from));
    }
    words
}

/// A job of Debian's Open MPI: its matching in libfabric, by this provider under ofi_rxm, and nothing else.
pub fn open_mpi(bench: &Bench, nics: &[usize], program: &[&str]) -> Cmd {
    let only =
        ["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include", "via;ofi_rxm"];
    Cmd::new("mpirun.openmpi")
        .env(PROVIDERS, &bench.provider)
        // Who runs the tests may be root.
        .ambient("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .ambient("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .args(["--oversubscribe", "--bind-to", "none"])
        .args(only)
        .args(["--mca", "osc", "pt2pt", "-x", PROVIDERS])
        .args(ranks(bench, nics, "-np", program))
        .folder(&bench.folder)
        .limit(LIMIT)
}

/// A job of the MPICH in the project's virtual environment: its netmod is libfabric's, its ranks do not know that they are on one node.
pub fn mpich(bench: &Bench, nics: &[usize], program: &[&str]) -> Cmd {
    Cmd::new(bench.project.venv.join("bin/mpiexec"))
        .env(PROVIDERS, &bench.provider)
        .env("FI_PROVIDER", "via")
        .env("MPIR_CVAR_CH4_NETMOD", "ofi")
        .env("MPIR_CVAR_NOLOCAL", "1")
        // MPI for Python takes the first MPI that it finds; this is the one beside it.
        .env("MPI4PY_LIBMPI", bench.project.venv.join("lib/libmpi.so.12"))
        .args(ranks(bench, nics, "-n", program))
        .folder(&bench.folder)
        .limit(LIMIT)
}

/// The Python of the project's virtual environment.
pub fn python(venv: &Path) -> String {
    venv.join("bin/python").display().to_string()
}
