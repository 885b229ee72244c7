//! The programs in C that are compiled for the cases, with the system's Open MPI.

use crate::command::Cmd;
use crate::project::Project;
use anyhow::Result;
use std::path::PathBuf;

/// Their folders and names: examples, and one that would be none.
const PROGRAMS: [(&str, &str); 4] = [
    ("vipl/examples/mpi", "ring"),
    ("vipl/examples/mpi", "put_get"),
    ("vipl/examples/mpi", "dsm"),
    ("fabric/programs", "flood"),
];

/// Compiles them: the folder that they are in.
pub fn build(project: &Project) -> Result<PathBuf> {
    let folder = project.scratch("mpi-programs")?;
    for (sources, name) in PROGRAMS {
        let source = project.root.join(sources).join(format!("{name}.c"));
        let warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"];
        Cmd::new("mpicc.openmpi").args(warnings).arg(folder.join(name)).arg(source).run()?;
    }
    Ok(folder)
}
