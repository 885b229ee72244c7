//! Links of web pages in a folder: those to files of the folder lead somewhere.

use crate::project::read;
use anyhow::{ensure, Context, Result};
use std::path::Path;

/// The attributes that have a link.
const ATTRIBUTES: [&str; 2] = ["href=\"", "src=\""];

/// The links of a page, without what stands behind the file's name; those to other sites and those within the page are left out.
fn links(page: &str) -> Vec<&str> {
    let begins = ATTRIBUTES.iter().flat_map(|attribute| page.split(attribute).skip(1));
    let all = begins.filter_map(|rest| rest.split_once('"').map(|(link, _)| link));
    // A scheme ends with the first colon; data of an image is such a link, too.
    let own = all.filter(|link| !link.contains(':') && !link.starts_with("//"));
    own.map(|link| link.split(['#', '?']).next().unwrap_or_default())
        .filter(|link| !link.is_empty())
        .collect()
}

/// Fails if a page of `folder`, itself and not those below it, links to a file that is not there. How many links were followed.
///
/// # Errors
/// The page, and the link.
pub fn check(folder: &Path) -> Result<usize> {
    let mut followed = 0;
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|end| end != "html") {
            continue;
        }
        for link in links(&read(&path)?) {
            // From the top of the site: mdBook's page for what is not found has such links.
            let to = link.strip_prefix('/').unwrap_or(link);
            ensure!(folder.join(to).exists(), "{}: nothing is at {link}", path.display());
            followed += 1;
        }
    }
    Ok(followed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leads_nowhere_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::create_dir(place("rust")).unwrap();
        std::fs::write(place("rust/index.html"), "").unwrap();
        let page = "<a href=\"rust/index.html#x\">a</a> <a href=\"#top\"> <a href=\"https://x/y\"> <img src=\"p.svg?1\">";
        std::fs::write(place("page.html"), page).unwrap();
        std::fs::write(place("notes.txt"), "<a href=\"nowhere\">").unwrap();
        let error = check(folder.path()).unwrap_err().to_string();
        assert!(error.contains("page.html: nothing is at p.svg"), "{error}");
        std::fs::write(place("p.svg"), "").unwrap();
        assert_eq!(check(folder.path()).unwrap(), 2);
    }
}
