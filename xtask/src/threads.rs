//! `threads`: what queues and waits promise about threads, in every order that the threads can take. The model checker loom runs the code itself: its
//! atomics, fences and locks are in the places of the standard library's (`host-driver/src/sync/`).

use crate::command::Cmd;
use crate::project::Project;
use anyhow::Result;
use std::path::Path;

/// Packages that have models, in modules of this name.
const PACKAGES: [&str; 2] = ["viaduct-driver", "vipl-c"];
const MODELS: &str = "models::";

/// Runs the models.
pub fn run(project: &Project) -> Result<()> {
    models(project, &project.scratch("threads")?)?.run()
}

/// Builds in a folder of their own, and runs them.
fn models(project: &Project, folder: &Path) -> Result<Cmd> {
    let packages = PACKAGES.iter().flat_map(|package| ["-p", package]);
    let command = project.cargo("test")?.args(packages).args(["--lib", MODELS]);
    Ok(command.env("RUSTFLAGS", "--cfg loom").ambient("CARGO_TARGET_DIR", folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources;

    /// A package with models that is not run would promise what nobody looks at.
    #[test]
    fn every_package_with_models_is_run() {
        let root = Project::find().unwrap().root;
        let crates = [("host-driver", "viaduct-driver"), ("host-driver/viad", "viad"), ("vipl", "vipl")];
        for (folder, package) in crates.into_iter().chain([("vipl/c", "vipl-c")]) {
            let has = sources::of(&root.join(folder).join("src"), &|_| true)
                .iter()
                .any(|file| std::fs::read_to_string(file).unwrap().contains("loom))]\nmod models;"));
            assert_eq!(has, PACKAGES.contains(&package), "{package}");
        }
    }

    #[test]
    fn the_models_are_built_with_loom_and_apart() {
        let project = Project::find().unwrap();
        let command = models(&project, Path::new("/x")).unwrap();
        assert_eq!(command.get_env("RUSTFLAGS"), Some("--cfg loom".as_ref()));
        assert_eq!(command.get_env("CARGO_TARGET_DIR"), Some("/x".as_ref()));
        assert!(
            command.to_string().ends_with("cargo test -p viaduct-driver -p vipl-c --lib models::"),
            "{command}"
        );
    }
}
