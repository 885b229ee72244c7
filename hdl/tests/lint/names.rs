//! No two types of the hardware have one name: a reader who searches for one finds it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::sources;

/// Types that blocks keep to themselves: the steps of a machine and its states.
const PRIVATE: [&str; 2] = ["State", "Step"];

/// The types of a source that RustHDL's derives are on.
fn types(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_derived = false;
    for line in source.lines() {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        if line.starts_with("#[derive(") {
            is_derived = words.iter().any(|word| word.starts_with("Logic"));
        } else if let Some(at) = words.iter().position(|word| ["struct", "enum"].contains(word)) {
            let name = words[at + 1];
            if is_derived && (words[0] == "pub" || !PRIVATE.contains(&name)) {
                found.push(name.to_owned());
            }
            is_derived = false;
        }
    }
    found
}

#[test]
fn no_two_types_have_one_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        for name in types(&fs::read_to_string(&file).expect("it is text")) {
            places.entry(name).or_default().push(file.clone());
        }
    }
    assert!(places.len() > 300, "types were found: {}", places.len());
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn types_are_found_by_their_derives() {
    let source = "#[derive(Copy, Clone, LogicStruct)]\n#[x]\npub struct One<const N: usize> {\n#[derive(Debug)]\nstruct Two;\n#[derive(LogicState)]\nenum Step {\n";
    assert_eq!(types(source), ["One"]);
}
