//! Reads from the Rust source what RustHDL's tree does not say of a block: the names of types and the documentation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use quote::ToTokens;

/// The blocks and rows of a crate, by module and name: `send::gather::sink::Sink`.
#[derive(Debug, Default)]
pub struct Source {
    blocks: BTreeMap<String, Described>,
}

/// A block, as its source describes it.
#[derive(Clone, Debug, Default)]
pub struct Described {
    /// Its file, from the crate's folder on: `src/send/gather/sink.rs`.
    pub file: String,
    /// The lines of the file's documentation and of its own.
    pub documentation: Vec<String>,
    /// Names of its generic parameters, in their order.
    pub parameters: Vec<String>,
    /// Its fields.
    pub fields: BTreeMap<String, Field>,
    name: String,
    module: String,
    imports: BTreeMap<String, String>,
}

/// A field of a block.
#[derive(Clone, Debug, Default)]
pub struct Field {
    /// The lines of its documentation.
    pub documentation: Vec<String>,
    /// Its type's name; the element's of an array.
    pub kind: String,
    /// The generic arguments of its type.
    pub arguments: Vec<String>,
}

impl Source {
    /// Reads the sources in the folder `src` of a crate.
    ///
    /// # Errors
    /// A file that cannot be read, or is no Rust; the message names it.
    pub fn read(src: &Path) -> Result<Self, String> {
        let mut source = Self::default();
        source.folder(src, src)?;
        Ok(source)
    }

    fn folder(&mut self, src: &Path, folder: &Path) -> Result<(), String> {
        let broken = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let entries = std::fs::read_dir(folder).map_err(|error| broken(folder, &error))?;
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in entries {
            paths.push(entry.map_err(|error| broken(folder, &error))?.path());
        }
        paths.sort();
        for path in paths {
            if path.is_dir() {
                self.folder(src, &path)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).map_err(|error| broken(&path, &error))?;
                let below = path.strip_prefix(src).expect("the file is below the folder");
                self.file(below, &text).map_err(|error| broken(&path, &error))?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, text: &str) -> syn::Result<()> {
        let file = syn::parse_file(text)?;
        let mut names: Vec<String> =
            path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if matches!(names.last().map(String::as_str), Some("mod" | "lib")) {
            names.pop();
        }
        let module = names.join("::");
        let mut imports = BTreeMap::new();
        for item in &file.items {
            if let syn::Item::Use(import) = item {
                collect_imports(&import.tree, None, &names, &mut imports);
            }
        }
        for item in &file.items {
            let syn::Item::Struct(block) = item else { continue };
            let mut own = documentation(&block.attrs);
            if own.iter().any(|line| line.starts_with("See the module's description")) {
                own.remove(0);
            }
            let mut lines = documentation(&file.attrs);
            if !lines.is_empty() && !own.is_empty() {
                lines.push(String::new());
            }
            lines.extend(own);
            let parameters = block.generics.params.iter().filter_map(|parameter| match parameter {
                syn::GenericParam::Type(parameter) => Some(parameter.ident.to_string()),
                syn::GenericParam::Const(parameter) => Some(parameter.ident.to_string()),
                syn::GenericParam::Lifetime(_) => None,
            });
            let described = Described {
                file: format!("src/{}", path.display()),
                documentation: lines,
                parameters: parameters.collect(),
                fields: block.fields.iter().filter_map(field).collect(),
                name: block.ident.to_string(),
                module: module.clone(),
                imports: imports.clone(),
            };
            self.blocks.insert(join(&module, &block.ident.to_string()), described);
        }
        Ok(())
    }

    /// The block of the type with the path that `std::any::type_name` gives, without its arguments.
    pub fn at(&self, type_name: &str) -> Option<&Described> {
        let plain = type_name.split('<').next().unwrap_or(type_name);
        let (_, inside) = plain.split_once("::")?;
        self.blocks.get(inside)
    }

    /// The name of a type in Verilog: its own, with its module's in front where another type has the same name.
    pub fn module_name(&self, described: &Described) -> String {
        let own = snake(&described.name);
        if self.blocks.values().filter(|other| other.name == described.name).count() < 2 {
            return own;
        }
        // The name of a file that has the block's own name adds nothing.
        let above = described.module.rsplit("::").find(|part| *part != own);
        above.map_or(own.clone(), |above| format!("{above}_{own}"))
    }

    /// The block that `name` means in the file of `user`.
    pub fn named(&self, name: &str, user: &Described) -> Option<&Described> {
        let last = format!("::{name}");
        let all: Vec<_> =
            self.blocks.iter().filter(|(path, _)| *path == name || path.ends_with(&last)).collect();
        if let [(_, only)] = all[..] {
            return Some(only);
        }
        let own = all.iter().find(|(_, block)| block.module == user.module);
        // The import may name a folder that hands on what one of its files has.
        let imported = user.imports.get(name).and_then(|folder| {
            all.iter().find(|(_, block)| {
                block.module == *folder || block.module.starts_with(&format!("{folder}::"))
            })
        });
        own.or(imported).map(|(_, block)| *block)
    }
}

/// `RamFifo` as `ram_fifo`, `READ_TAGS` as `read_tags`.
pub fn snake(name: &str) -> String {
    let mut text = String::new();
    let mut was_small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && was_small {
            text.push('_');
        }
        was_small = letter.is_lowercase() || letter.is_ascii_digit();
        text.extend(letter.to_lowercase());
    }
    text
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() {
        name.to_owned()
    } else {
        format!("{module}::{name}")
    }
}

/// Which module each imported name comes from. `path` leads to what `tree` begins with: nothing at the start of a path, which is
/// taken for one of the module `own` where it does not say otherwise.
fn collect_imports(
    tree: &syn::UseTree,
    path: Option<&[String]>,
    own: &[String],
    imports: &mut BTreeMap<String, String>,
) {
    match tree {
        syn::UseTree::Path(step) => {
            let before = path.unwrap_or(own);
            let deeper = match step.ident.to_string().as_str() {
                "crate" => Vec::new(),
                "self" => before.to_vec(),
                "super" => before.split_last().map_or_else(Vec::new, |(_, above)| above.to_vec()),
                name => [before, &[name.to_owned()]].concat(),
            };
            collect_imports(&step.tree, Some(&deeper), own, imports);
        }
        syn::UseTree::Name(name) => {
            imports.insert(name.ident.to_string(), path.unwrap_or(own).join("::"));
        }
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|item| collect_imports(item, path, own, imports));
        }
        syn::UseTree::Rename(_) | syn::UseTree::Glob(_) => {}
    }
}

fn field(field: &syn::Field) -> Option<(String, Field)> {
    let name = field.ident.as_ref()?.to_string();
    let mut kind = &field.ty;
    while let syn::Type::Array(array) = kind {
        kind = &array.elem;
    }
    let syn::Type::Path(path) = kind else { return None };
    let segment = path.path.segments.last()?;
    let documentation = documentation(&field.attrs);
    Some((name, Field { documentation, kind: segment.ident.to_string(), arguments: arguments_of(segment) }))
}

/// The generic arguments of the type that `std::any::type_name` gives.
pub fn arguments(type_name: &str) -> Vec<String> {
    let parsed: Option<syn::TypePath> = syn::parse_str(type_name).ok();
    parsed.as_ref().and_then(|kind| kind.path.segments.last()).map(arguments_of).unwrap_or_default()
}

/// The generic arguments behind a type's name: `Bits<8>`, `Word`, `4`, without the modules that they are in.
fn arguments_of(segment: &syn::PathSegment) -> Vec<String> {
    let syn::PathArguments::AngleBracketed(list) = &segment.arguments else { return Vec::new() };
    let text = |argument: &syn::GenericArgument| match argument {
        syn::GenericArgument::Type(syn::Type::Path(kind)) if kind.path.segments.len() > 1 => {
            kind.path.segments.last().to_token_stream()
        }
        other => other.to_token_stream(),
    };
    list.args.iter().map(|argument| text(argument).to_string().replace(' ', "")).collect()
}

/// The lines of `///` or `//!`.
fn documentation(attributes: &[syn::Attribute]) -> Vec<String> {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let syn::Meta::NameValue(syn::MetaNameValue {
            path,
            value: syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }),
            ..
        }) = &attribute.meta
        {
            if path.is_ident("doc") {
                // `///` without a word is an empty line, which `lines` does not give.
                lines.extend(
                    text.value()
                        .split('\n')
                        .map(|line| without_links(line.strip_prefix(' ').unwrap_or(line))),
                );
            }
        }
    }
    lines
}

/// The line with what rustdoc's links say in their place: [`Row`](crate::Row) is `Row`.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, behind)) = link.split_once("`]") else { break };
        text += &format!("{before}`{name}`");
        let target = behind.strip_prefix('(').and_then(|target| target.split_once(')'));
        rest = target.map_or(behind, |(_, behind)| behind);
    }
    text + rest
}
