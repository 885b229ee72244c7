//! The manual pages in `cli/man`: viaduct(1), and one of each of its commands. They are made of the command line.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use clap::{Command, CommandFactory};

use crate::Arguments;

/// The pages: the name of the file, and its text.
fn pages() -> BTreeMap<PathBuf, String> {
    fn add(command: &Command, pages: &mut BTreeMap<PathBuf, String>) {
        for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
            add(subcommand, pages);
        }
        // An empty date would be written as nothing, and what comes behind it would be the date.
        let manual = clap_mangen::Man::new(command.clone())
            .date("\"\"")
            .source(concat!("viaduct ", env!("CARGO_PKG_VERSION")))
            .manual("Viaduct");
        let mut page = Vec::new();
        manual.render(&mut page).expect("into memory");
        pages.insert(manual.get_filename().into(), String::from_utf8(page).expect("UTF-8"));
    }
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut pages = BTreeMap::new();
    add(&command, &mut pages);
    pages
}

/// `VIADUCT_MANUAL=write cargo test -p viaduct-cli manual` writes them anew.
#[test]
fn the_pages_are_those_of_the_command_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let pages = pages();
    if std::env::var_os("VIADUCT_MANUAL").is_some_and(|what| what == "write") {
        for (name, text) in &pages {
            fs::write(folder.join(name), text).expect("writable");
        }
    }
    let there = fs::read_dir(&folder).expect("it is there").map(|entry| {
        let path = entry.expect("an entry").path();
        (path.file_name().expect("a name").into(), fs::read_to_string(&path).expect("text"))
    });
    let there: BTreeMap<PathBuf, String> = there.collect();
    // Names first: pages of commands that are gone are to be removed.
    assert_eq!(there.keys().collect::<Vec<_>>(), pages.keys().collect::<Vec<_>>());
    assert_eq!(there, pages);
    assert!(pages.len() > 5 && pages.contains_key(Path::new("viaduct-sim-up.1")), "{:?}", pages.keys());
}
