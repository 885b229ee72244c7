//! `book`: the pages of docs/ as a book, by mdBook.

use crate::command::Cmd;
use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::Result;

/// Builds it, and says where it is.
pub fn run(project: &Project) -> Result<()> {
    setup::ensure(project, &[Need::Book])?;
    let to = project.scratch("book")?;
    Cmd::new("mdbook").arg("build").arg(&project.root).arg("--dest-dir").arg(&to).run()?;
    println!("{}", to.join("index.html").display());
    Ok(())
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
}
