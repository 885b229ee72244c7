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
const ROOTS: [&str; 3] = ["lib.rs", "main.rs", "mod.rs"];
const ROOT: &str = "the root";

/// The paths that a file names from a module on that it is in, without what leads there (`crate`, `super`). Tests may look anywhere.
struct Named<'a> {
    /// The module: its names from the crate's root on.
    from: &'a [String],
    /// How many modules the code that is looked at is in, below that.
    depth: usize,
    paths: BTreeSet<Vec<String>>,
}

impl<'a> Named<'a> {
    /// Of a file that is in so many modules below that one, its own among them.
    fn of(file: &syn::File, from: &'a [String], depth: usize) -> BTreeSet<Vec<String>> {
        let mut named = Self { from, depth, paths: BTreeSet::new() };
        named.visit_file(file);
        named.paths
    }

    /// A path as it stands there.
    fn path(&mut self, path: &[String]) {
        let path = path.strip_prefix(&["self".to_owned()][..]).unwrap_or(path);
        let up = path.iter().take_while(|segment| *segment == "super").count();
        let inside = match path.split_first() {
            Some((first, path)) if first == "crate" => path.strip_prefix(self.from),
            _ => (up == self.depth).then(|| &path[up..]),
        };
        if let Some(inside) = inside.filter(|inside| !inside.is_empty()) {
            self.paths.insert(inside.to_vec());
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

impl<'a> Visit<'a> for Named<'_> {
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
            let is_other = |letter: char| !letter.is_alphanumeric() && letter != '_';
            let names = behind.split(" :: ").map(|name| name.split(is_other).next().unwrap_or_default());
            let names = names.take_while(|name| !name.is_empty()).map(str::to_owned);
            self.path(&["crate".to_owned()].into_iter().chain(names).collect::<Vec<_>>());
        }
        visit::visit_macro(self, call);
    }
}

/// A file in a module's folder: the module right below that it belongs to, and how many modules it is in, below that.
fn place(inside: &Path) -> (String, usize) {
    if ROOTS.iter().any(|root| inside.as_os_str() == *root) {
        return (ROOT.to_owned(), 0);
    }
    let first = inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
    (first, inside.iter().count() - usize::from(inside.ends_with("mod.rs")))
}

/// The circles of the modules in a folder, each as the modules that are in it. `from` is the module whose folder it is, a crate's root or one below. A name
/// that this gives on is of the module that it comes from. Below the root a module and those inside it are one to the others, and may know each other.
fn circles(folder: &Path, from: &[String]) -> Vec<Vec<String>> {
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
        files.push((module, Named::of(&parsed, from, depth)));
    }
    files.retain(|(module, _)| !of_tests.contains(module) && (from.is_empty() || module != ROOT));
    let modules: BTreeSet<String> = files.iter().map(|(module, _)| module.clone()).collect();
    let mut graph = DiGraphMap::new();
    for (module, paths) in &files {
        for path in paths {
            let first = path.iter().find(|segment| *segment != "self" && *segment != "crate").unwrap();
            let given = given_on.get(first).and_then(|path| path.iter().find(|one| *one != "self"));
            let is_foreign = given.is_some_and(|from| !modules.contains(from));
            let other = [Some(first), given].into_iter().flatten().find_map(|name| modules.get(name));
            let other = match other {
                Some(other) => other.as_str(),
                // What the root itself defines; in the root, names of other crates, too.
                None if from.is_empty() && module != ROOT && !is_foreign => ROOT,
                None => continue,
            };
            if other != module {
                graph.add_edge(module.as_str(), other, ());
            }
        }
    }
    let found = tarjan_scc(&graph).into_iter().filter(|modules| modules.len() > 1);
    found.map(|modules| modules.into_iter().map(str::to_owned).collect()).collect()
}

/// The circles of a crate, and of each folder in it: the module whose folder it is, and those in the circle.
fn all_circles(folder: &Path, from: &[String]) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<_> =
        circles(folder, from).into_iter().map(|modules| (from.join("::"), modules)).collect();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if entry.is_dir() && name != "tests" {
            all.extend(all_circles(&entry, &[from, &[name]].concat()));
        }
    }
    all
}

#[test]
fn modules_stand_in_layers() {
    let root = Project::find().unwrap().root;
    let of = |folder: &'static str| {
        let circles = all_circles(&root.join(folder), &[]);
        circles.into_iter().map(move |circle| (folder, circle))
    };
    let found: Vec<_> = CRATES.into_iter().flat_map(of).collect();
    assert!(found.is_empty(), "circles of modules, by crate and the module that they are in: {found:#?}");
}

/// The circles of a crate of these files, with the modules of each in order.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let found = all_circles(folder.path(), &[]);
    let sorted = |(_, mut modules): (String, Vec<String>)| {
        modules.sort();
        modules
    };
    found.into_iter().map(sorted).collect()
}

#[test]
fn a_circle_inside_a_module_is_found() {
    let (root, parent) = (("lib.rs", "mod outer;"), ("outer/mod.rs", "mod high; mod low; use low::Low;"));
    let high = ("outer/high.rs", "use super::low::Low; pub struct High(Low);");
    let of = |low: &str| circles_of(&[root, parent, high, ("outer/low.rs", low)]);
    assert_eq!(of("pub struct Low; fn up() { super::of_the_parent() }"), Vec::<Vec<String>>::new());
    for up in [
        "pub struct Low(super::high::High);",
        "use crate::outer::high::High; pub struct Low(High);",
        "fn up() -> String { format!(\"{}\", crate::outer::high::of()) }",
    ] {
        assert_eq!(of(up), [["high", "low"]], "{up}");
    }
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
