//! `book`: the pages of docs/ as a book, by mdBook, and beside it what rustdoc makes of the crates that programs link.

use crate::command::Cmd;
use crate::links;
use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::Result;

/// The packages that programs link, whose documentation is in the book.
const DOCUMENTED: [&str; 3] = ["vipl", "viaduct-driver", "viaduct-spec"];
/// The folder of that, in the book.
const RUST: &str = "rust";

/// Builds it, checks its links, and says where it is.
pub fn run(project: &Project) -> Result<()> {
    setup::ensure(project, &[Need::Book])?;
    let to = project.scratch("book")?;
    Cmd::new("mdbook").arg("build").arg(&project.root).arg("--dest-dir").arg(&to).run()?;
    let made = document(project)?;
    let rust = to.join(RUST);
    // mdBook leaves what it did not make.
    Cmd::new("rm").args(["-rf", "--"]).arg(&rust).run_quietly()?;
    Cmd::new("cp").args(["-r", "--"]).args([&made, &rust]).run_quietly()?;
    links::check(&to)?;
    println!("{}", to.join("index.html").display());
    Ok(())
}

/// The documentation of the Rust interfaces: the folder that it is in. A folder of its own, because that of cargo has other crates' too.
fn document(project: &Project) -> Result<std::path::PathBuf> {
    let folder = project.scratch("rustdoc")?;
    let packages = DOCUMENTED.iter().flat_map(|package| ["-p", *package]);
    let cargo = project.cargo("doc")?.args(["--no-deps", "--target-dir"]).arg(&folder).args(packages);
    cargo.env("RUSTDOCFLAGS", "-D warnings").run()?;
    Ok(folder.join("doc"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::read;
    use std::collections::BTreeSet;

    #[test]
    fn the_summary_names_every_page_once_and_no_other() {
        let docs = Project::find().unwrap().root.join("docs");
        let summary = read(&docs.join("SUMMARY.md")).unwrap();
        let links = summary
            .lines()
            .filter_map(|line| line.trim().strip_suffix(')')?.rsplit_once("]("))
            .map(|(_, page)| page);
        let named: Vec<&str> = links.collect();
        let distinct: BTreeSet<String> = named.iter().map(ToString::to_string).collect();
        assert_eq!(distinct.len(), named.len(), "a page is there twice: {named:?}");
        let pages =
            std::fs::read_dir(&docs).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let pages = pages.filter(|name| name.ends_with(".md") && name != "SUMMARY.md");
        assert_eq!(distinct, pages.collect());
    }

    /// What a page links to: the parts of a line behind `](`, outside of code.
    fn links(page: &str) -> Vec<String> {
        let mut code = false;
        let mut found = Vec::new();
        for line in page.lines() {
            code ^= line.trim_start().starts_with("```");
            if code {
                continue;
            }
            let text: String = line.split('`').step_by(2).collect();
            let ends = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
            found.extend(ends.filter(|link| !link.contains("://")));
        }
        found
    }

    /// What a heading is called in a link: as GitHub and mdBook make it.
    fn anchors(page: &str) -> BTreeSet<String> {
        let headings = page.lines().filter_map(|line| line.strip_prefix('#'));
        let letter = |letter: char| match letter {
            ' ' => Some('-'),
            letter if letter.is_alphanumeric() || "-_".contains(letter) => Some(letter),
            _ => None,
        };
        let anchor = |heading: &str| {
            heading.trim_start_matches('#').trim().to_lowercase().chars().filter_map(letter).collect()
        };
        headings.map(anchor).collect()
    }

    #[test]
    fn every_link_of_a_page_leads_somewhere() {
        let root = Project::find().unwrap().root;
        let mut pages: Vec<_> =
            std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
        pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
        pages.extend([root.join("README.md"), root.join("CHANGELOG.md")]);
        let mut checked = 0;
        for page in pages {
            for link in links(&read(&page).unwrap()) {
                let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
                let to = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
                if let Some(made) = file.strip_prefix("rust/") {
                    // `cargo xtask book` makes it, and follows the link then.
                    let of = |package: &&str| made == format!("{}/index.html", package.replace('-', "_"));
                    assert!(DOCUMENTED.iter().any(of), "{}: {link}", page.display());
                    continue;
                }
                assert!(to.exists(), "{}: nothing is at {link}", page.display());
                if !anchor.is_empty() {
                    let known = anchors(&read(&to).unwrap());
                    assert!(known.contains(anchor), "{}: no heading for {link}: {known:?}", page.display());
                }
                checked += 1;
            }
        }
        assert!(checked > 100, "{checked} links");
    }

    #[test]
    fn links_and_headings_are_found() {
        let page = "# A `b`: c/d\n[x](y.md#z) and [u](v)\n`[no](no)` [web](https://x)\n```\n[no](no)\n```\n";
        assert_eq!(links(page), ["y.md#z", "v"]);
        assert!(anchors(page).contains("a-b-cd"));
    }
}
