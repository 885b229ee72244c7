//! `publish`: what `cargo publish` checks of the crates that users link, short of sending them.

use crate::command::Cmd;
use crate::project::Project;
use anyhow::Result;
use std::path::Path;

/// Packs the crates that may be published, and has cargo judge the packages and their metadata. It asks crates.io which versions there are.
pub fn check(project: &Project) -> Result<()> {
    dry_run(project, &project.scratch("publish")?)?.run()
}

/// The packages are not built: each is built with all that it depends on, minutes of what other parts build, too. That files are in their packages a
/// test sees to.
fn dry_run(project: &Project, folder: &Path) -> Result<Cmd> {
    // Who tests a change may not have committed it.
    let options = ["--workspace", "--dry-run", "--no-verify", "--allow-dirty", "--target-dir"];
    Ok(project.cargo("publish")?.args(options).arg(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{project::read, sources};
    use std::path::PathBuf;

    /// The folders of the packages that may be published.
    fn packages() -> Vec<PathBuf> {
        let root = Project::find().unwrap().root;
        let members = crate::alone::list(&read(&root.join("Cargo.toml")).unwrap(), "members").unwrap();
        let folders = members.iter().map(|member| root.join(member));
        let may = |folder: &PathBuf| {
            !read(&folder.join("Cargo.toml")).unwrap().lines().any(|line| line.starts_with("publish"))
        };
        folders.filter(may).collect()
    }

    /// The files that a source includes, by their paths from it.
    fn included(source: &str) -> Vec<&str> {
        let begins = ["include!(\"", "include_str!(\"", "include_bytes!(\""];
        let behind = begins.iter().flat_map(|begin| source.split(begin).skip(1));
        behind.filter_map(|rest| Some(rest.split_once('"')?.0)).collect()
    }

    #[test]
    fn what_may_be_published_is_what_users_link() {
        let root = Project::find().unwrap().root;
        let users = crate::alone::list(&read(&root.join("Cargo.toml")).unwrap(), "default-members").unwrap();
        let users = users.iter().filter(|member| *member != "xtask").map(|member| root.join(member));
        let (mut users, mut found): (Vec<_>, _) = (users.collect(), packages());
        users.sort();
        found.sort();
        assert_eq!(found, users);
    }

    /// A package has the files of its folder alone: one that includes another would not build elsewhere.
    #[test]
    fn no_source_includes_a_file_outside_of_its_package() {
        let packages = packages();
        let inner =
            |folder: &Path, inside: &Path| inside != folder && packages.iter().any(|one| one == inside);
        let mut checked = 0;
        for folder in &packages {
            let is_its = |inside: &Path| !inner(folder, inside) && !inside.ends_with("target");
            for file in sources::of(folder, &is_its) {
                for path in included(&read(&file).unwrap()) {
                    let to = file.with_file_name(path).canonicalize().unwrap();
                    let is_in = to.starts_with(folder)
                        && !packages
                            .iter()
                            .any(|one| inner(folder, one) && one.starts_with(folder) && to.starts_with(one));
                    assert!(is_in, "{}: {path} is in no package with it", file.display());
                    checked += 1;
                }
            }
        }
        assert!(checked >= 3, "{checked} files");
    }

    #[test]
    fn included_files_are_found() {
        assert_eq!(included("a(include_str!(\"../x\")); include_bytes!(\"y\")"), ["../x", "y"]);
        let line = dry_run(&Project::find().unwrap(), Path::new("/x")).unwrap().to_string();
        assert!(
            line.ends_with("cargo publish --workspace --dry-run --no-verify --allow-dirty --target-dir /x"),
            "{line}"
        );
    }
}
