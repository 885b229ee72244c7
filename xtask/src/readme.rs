//! The README is true: its block of C is typed as it stands, under the prefix of a test.

use crate::command::Cmd;
use crate::project::{read, write, Project};
use anyhow::{ensure, Context, Result};
use std::path::Path;

/// The page, its heading, and the prefix that it installs under.
const PAGE: &str = "README.md";
const HEADING: &str = "## Write to it in C";
const PREFIX: &str = "$HOME/viaduct";
/// Seconds that all of it may take.
const LIMIT: u32 = 120;

/// The command lines of the first block under the heading.
fn lines(page: &str) -> Vec<&str> {
    let behind = page.split_once(HEADING).map_or("", |(_, behind)| behind);
    let block = behind.split_once("```console\n").map_or("", |(_, block)| block);
    let block = block.split_once("```").map_or("", |(block, _)| block);
    block.lines().filter_map(|line| line.strip_prefix("$ ")).collect()
}

/// The lines as a script, for what is installed under `prefix` already. A person reads the server's address; the script waits for it. What a person leaves
/// running ends with the script.
fn script(lines: &[&str], prefix: &Path) -> String {
    let folder = prefix.display();
    let mut script = String::from("set -e\ntrap 'kill $(jobs -p)' EXIT\n");
    for line in lines.iter().filter(|line| !line.starts_with("cargo xtask install")) {
        let line = line.replace(PREFIX, &folder.to_string()).replace("/tmp/nics", &format!("{folder}/nics"));
        let line = line.replace("ADDRESS", "$(head -n 1 address)");
        let (command, _) = line.split_once(" #").unwrap_or((&line, ""));
        script += &match command.trim_end().strip_suffix(" &") {
            Some(command) if command.starts_with("./pingpong") => {
                format!("{command} >address &\nuntil grep -q : address; do sleep 0.1; done\n")
            }
            Some(command) => {
                format!("{command} &\nuntil [ -S {folder}/nics/nic1.sock ]; do sleep 0.1; done\n")
            }
            None => format!("{command}\n"),
        };
    }
    script
}

/// Types the block of C.
pub fn types_c(project: &Project, prefix: &Path) -> Result<()> {
    let page = read(&project.root.join(PAGE))?;
    let lines = lines(&page);
    ensure!(lines.len() > 5, "{PAGE} has no command lines under {HEADING:?}");
    // Its paths are those of the tree; what it makes is the test's.
    let folder = prefix.join("readme");
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let tree = folder.join("vipl");
    if tree.symlink_metadata().is_err() {
        std::os::unix::fs::symlink(project.root.join("vipl"), &tree)
            .with_context(|| tree.display().to_string())?;
    }
    let file = folder.join("lines");
    write(&file, script(&lines, prefix))?;
    let said = Cmd::new("bash").arg(&file).folder(&folder).limit(LIMIT).read().context(PAGE)?;
    ensure!(said.contains("balls there and back"), "{PAGE}, {HEADING:?}: ./pingpong says {said:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_typed_in_order_and_wait_for_each_other() {
        let page = format!(
            "{HEADING}\n\ntext\n```console\n$ cargo xtask install --prefix {PREFIX}\n$ {PREFIX}/bin/viaduct-sim &\n$ ./pingpong nic0 &   # says\n$ ./pingpong \
             nic1 ADDRESS\n```\n```console\n$ another\n```\n"
        );
        let lines = lines(&page);
        assert_eq!(lines.len(), 4);
        let script = script(&lines, Path::new("/p"));
        let typed: Vec<&str> = script.lines().skip(2).collect();
        assert_eq!(
            typed,
            [
                "/p/bin/viaduct-sim &",
                "until [ -S /p/nics/nic1.sock ]; do sleep 0.1; done",
                "./pingpong nic0 >address &",
                "until grep -q : address; do sleep 0.1; done",
                "./pingpong nic1 $(head -n 1 address)",
            ]
        );
        assert!(super::lines("no such heading").is_empty());
    }
}
