//! Modules stand in layers: each knows those below it, and none of those knows it. A circle of modules has no lowest one, where a reader could
//! begin.

use crate::{project::Project, sources};
use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::visit::{self, Visit};

/// The crates whose modules stand in layers.
const CRATES: [&str; 6] =
    ["cli/src", "host-driver/src", "host-driver/viad/src", "sim/src", "vipl/c/src", "vipl/src"];
/// The files of a crate's root, and what the root is called here.
const ROOTS: [&str; 2] = ["lib.rs", "main.rs"];
const ROOT: &str = "the root";

/// The paths that a file names from its crate's root on, without what leads there (`crate`, `super`). Tests may look anywhere.
struct Named {
    /// How many modules the code that is looked at is in, below the root.
    depth: usize,
    paths: BTreeSet<Vec<String>>,
}

impl Named {
    /// Of a file that is in so many modules, its own among them.
    fn of(file: &syn::File, depth: usize) -> BTreeSet<Vec<String>> {
        let mut named = Self { depth, paths: BTreeSet::new() };
        named.visit_file(file);
        named.paths
    }

    /// A path as it stands there.
    fn path(&mut self, path: &[String]) {
        let path = path.strip_prefix(&["self".to_owned()][..]).unwrap_or(path);
        let up = path.iter().take_while(|segment| *segment == "super").count();
        let is_crates = path.first().is_some_and(|first| first == "crate");
        let from_root = if is_crates { &path[1..] } else { &path[up..] };
        if (is_crates || up == self.depth) && !from_root.is_empty() {
            self.paths.insert(from_root.to_vec());
        }
    }
}

/// The paths of a `use`, each with the name that it has there.
fn of_tree(tree: &syn::UseTree, before: &[String]) -> Vec<(Vec<String>, String)> {
    let behind = |name: &dyn ToString| [before, &[name.to_string()][..]].concat();
    match tree {
        syn::UseTree::Path(path) => of_tree(&path.tree, &behind(&path.ident)),
        syn::UseTree::Name(name) => vec![(behind(&name.ident), name.ident.to_string())],
        syn::UseTree::Rename(rename) => vec![(behind(&rename.ident), rename.rename.to_string())],
        syn::UseTree::Group(group) => group.items.iter().flat_map(|tree| of_tree(tree, before)).collect(),
        syn::UseTree::Glob(_) => vec![(behind(&"*"), "*".to_owned())],
    }
}

fn is_of_tests(attributes: &[syn::Attribute]) -> bool {
    let is_test = |attribute: &syn::Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    };
    attributes.iter().any(is_test)
}

/// Whether others find there what is used: it is given on, and not needed here.
fn is_given_on(item: &syn::ItemUse) -> bool {
    !matches!(item.vis, syn::Visibility::Inherited)
}

impl<'a> Visit<'a> for Named {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !is_of_tests(&module.attrs) {
            self.depth += 1;
            visit::visit_item_mod(self, module);
            self.depth -= 1;
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let is_passed_on = self.depth == 0 && is_given_on(item);
        if !is_of_tests(&item.attrs) && !is_passed_on {
            of_tree(&item.tree, &[]).iter().for_each(|(path, _)| self.path(path));
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.path(&segments);
        visit::visit_path(self, path);
    }

    /// What a macro gets is no syntax yet.
    fn visit_macro(&mut self, call: &'a syn::Macro) {
        let text = call.tokens.to_string();
        for behind in text.split("crate :: ").skip(1) {
            let path = behind.split_whitespace().next().unwrap_or_default();
            let name = path.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
            self.paths.insert(vec![name.unwrap_or_default().to_owned()]);
        }
        visit::visit_macro(self, call);
    }
}

/// A file of a crate: the module right below the root that it belongs to, and how many modules it is in.
fn place(inside: &Path) -> (String, usize) {
    if ROOTS.iter().any(|root| inside.as_os_str() == *root) {
        return (ROOT.to_owned(), 0);
    }
    let first = inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
    (first, inside.iter().count() - usize::from(inside.ends_with("mod.rs")))
}

/// The circles of a crate's modules, each as the modules that are in it. A name that the root gives on is of the module that it comes from.
fn circles(folder: &Path) -> Vec<Vec<String>> {
    let is_source = |inside: &Path| !inside.ends_with("tests");
    let (mut files, mut given_on, mut of_tests) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
    for file in sources::of(folder, &is_source) {
        let inside = file.strip_prefix(folder).unwrap();
        if inside.ends_with("tests.rs") {
            continue;
        }
        let (module, depth) = place(inside);
        let parsed = syn::parse_file(&std::fs::read_to_string(&file).unwrap()).unwrap();
        if depth == 0 {
            for item in &parsed.items {
                match item {
                    syn::Item::Use(item) => {
                        given_on.extend(of_tree(&item.tree, &[]).into_iter().map(|(path, name)| (name, path)))
                    }
                    syn::Item::Mod(item) if is_of_tests(&item.attrs) => {
                        of_tests.insert(item.ident.to_string());
                    }
                    _ => {}
                }
            }
        }
        files.push((module, Named::of(&parsed, depth)));
    }
    files.retain(|(module, _)| !of_tests.contains(module));
    let modules: BTreeSet<String> = files.iter().map(|(module, _)| module.clone()).collect();
    let mut graph = DiGraphMap::new();
    for (module, paths) in &files {
        for path in paths {
            let first = path.iter().find(|segment| *segment != "self" && *segment != "crate").unwrap();
            let from = given_on.get(first).and_then(|path| path.iter().find(|one| *one != "self"));
            let is_foreign = from.is_some_and(|from| !modules.contains(from));
            let other = [Some(first), from].into_iter().flatten().find_map(|name| modules.get(name));
            match other {
                Some(other) if other != module => drop(graph.add_edge(module.as_str(), other.as_str(), ())),
                // What the root itself defines; in the root, names of other crates, too.
                None if module != ROOT && !is_foreign => drop(graph.add_edge(module.as_str(), ROOT, ())),
                _ => {}
            }
        }
    }
    let found = tarjan_scc(&graph).into_iter().filter(|modules| modules.len() > 1);
    found.map(|modules| modules.into_iter().map(str::to_owned).collect()).collect()
}

#[test]
fn modules_stand_in_layers() {
    let root = Project::find().unwrap().root;
    for folder in CRATES {
        let found = circles(&root.join(folder));
        assert!(found.is_empty(), "{folder} has circles of modules: {found:?}");
    }
}

/// The circles of a crate of these files, with the modules of each in order.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let mut found = circles(folder.path());
    found.iter_mut().for_each(|modules| modules.sort());
    found
}

#[test]
fn a_circle_is_found_and_one_of_tests_is_none() {
    let high = ("high.rs", "use crate::{low::Low, middle}; pub struct High(Low);");
    let middle = ("middle.rs", "pub fn low() -> crate::low::Low { crate::low::Low }");
    let tests = "#[cfg(test)] mod tests { use crate::high::High; } pub struct Low;";
    assert_eq!(circles_of(&[high, middle, ("low.rs", tests)]), Vec::<Vec<String>>::new());
    let all = [["high", "low", "middle"]];
    for up in [
        "pub struct Low; impl Low { fn up() { crate::high::of(); } }",
        "pub struct Low; mod inner { use super::super::high::High; }",
        "pub struct Low; fn up() -> String { format!(\"{}\", crate::high::of()) }",
    ] {
        assert_eq!(circles_of(&[high, middle, ("low.rs", up)]), all, "{up}");
    }
}

#[test]
fn a_name_that_the_root_gives_on_is_of_its_module() {
    let root = "mod high; mod low; pub use high::{High as Top, Other}; pub use other_crate::Foreign;";
    let high = ("high/mod.rs", "use super::low::Low; pub struct High(Low); pub struct Other;");
    let of = |low: &str| circles_of(&[("lib.rs", root), high, ("low.rs", low)]);
    assert_eq!(of("use crate::Foreign; pub struct Low(Foreign);"), Vec::<Vec<String>>::new());
    assert_eq!(of("use crate::Top; pub struct Low;"), [["high", "low"]]);
    assert_eq!(of("pub struct Low; fn up() -> super::Other { loop {} }"), [["high", "low"]]);
}

#[test]
fn what_the_root_defines_is_below_all_that_use_it() {
    let high = ("high.rs", "pub fn run() { crate::print() }");
    let (alone, above) = ("mod high; fn print() {}", "mod high; fn print() {} fn main() { high::run() }");
    let of_tests = "#[cfg(test)] mod high; fn print() {} fn main() { high::run() }";
    assert_eq!(circles_of(&[("main.rs", alone), high]), Vec::<Vec<String>>::new());
    assert_eq!(circles_of(&[("main.rs", of_tests), high]), Vec::<Vec<String>>::new());
    assert_eq!(circles_of(&[("main.rs", above), high]), [["high", ROOT]]);
}
