//! Makes modules from a tree of instances: each type of block once, with its parameters in its name.

use std::collections::BTreeMap;

use rust_hdl::core::ast::Verilog;

use crate::flip_flop::register;
use crate::module::{Child, Custom, Module, Through};
use crate::name::{identifier, with_other_words};
use crate::part;
use crate::print;
use crate::source::{snake, Described, Source};
use crate::tree::Instance;

/// Modules, in the order in which they were made: a block's module comes after those of the blocks within it.
pub struct Emitter<'a> {
    source: &'a Source,
    done: Vec<Done>,
    /// Declarations of cells that the tools bring.
    cells: Vec<String>,
}

struct Done {
    name: String,
    /// The text with a placeholder for the name.
    text: String,
    /// The modules of the blocks within, in their order.
    inner: Vec<String>,
}

/// Stands for the module's name in its text until it has one.
const NAME: &str = "\u{1}";

impl<'a> Emitter<'a> {
    /// Nothing is made so far.
    pub fn new(source: &'a Source) -> Self {
        Self { source, done: Vec::new(), cells: Vec::new() }
    }

    /// The module of `instance`, which is to be called `wanted`; with the inputs that its outputs depend on.
    ///
    /// `arguments` are the generic arguments of its type by the parameters' names.
    pub fn module(
        &mut self,
        instance: &Instance,
        wanted: &str,
        described: Option<&Described>,
        arguments: &BTreeMap<String, String>,
    ) -> (String, Through) {
        let module = match &instance.code {
            Verilog::Custom(text) => self.custom(instance, text, true),
            Verilog::Wrapper(wrapper) => {
                if !wrapper.cores.is_empty() && !self.cells.contains(&wrapper.cores) {
                    self.cells.push(wrapper.cores.clone());
                }
                self.custom(instance, &wrapper.code, false)
            }
            Verilog::Blackbox(_) => panic!("`{}`: a black box without a wrapper", instance.name),
            Verilog::Combinatorial(_) | Verilog::Empty => {
                let children = self.children(instance, described, arguments);
                Module::of(instance, &children)
            }
        };
        let text = print::text(&module, NAME, described);
        let inner = module.inner.iter().map(|inner| inner.module.clone()).collect();
        (self.name(wanted, text, inner), module.through)
    }

    fn custom(&self, instance: &Instance, text: &str, outputs_are_variables: bool) -> Module {
        // `assign` drives a net, whatever the block says of its outputs.
        let text = with_short_names(instance, text);
        let is_assigned = text.lines().any(|line| line.trim_start().starts_with("assign "));
        let outputs_are_variables = outputs_are_variables && !is_assigned;
        Module::custom(instance, Custom { text, outputs_are_variables })
    }

    fn children<'t>(
        &mut self,
        instance: &'t Instance,
        described: Option<&Described>,
        arguments: &BTreeMap<String, String>,
    ) -> Vec<Child<'t>> {
        let mut children = Vec::new();
        for child in instance.children.iter().filter(|child| register(child).is_none()) {
            // `held$3` is an element of the field `held`.
            let field = print::field(&child.name);
            let known = described.and_then(|described| {
                let field = described.fields.get(field)?;
                Some((field, self.source.named(&field.kind, described)))
            });
            let (wanted, inner, inner_arguments) = match known {
                Some((field, inner)) => {
                    let name = |argument: &String| self.argument_name(argument, arguments, described);
                    let values: Vec<String> = field.arguments.iter().map(name).collect();
                    let mut wanted = match inner {
                        Some(inner) => self.source.module_name(inner),
                        None => snake(&field.kind),
                    };
                    for value in &values {
                        wanted += &format!("_{value}");
                    }
                    let names = inner.map(|inner| inner.parameters.clone()).unwrap_or_default();
                    (wanted, inner, names.into_iter().zip(values).collect())
                }
                None => (snake(field), None, BTreeMap::new()),
            };
            let (module, through) = self.module(child, &wanted, inner, &inner_arguments);
            children.push(Child { instance: child, module, through });
        }
        children
    }

    /// The generic arguments of the outermost block by its parameters' names, as they are called in modules' names.
    pub fn arguments(&self, block: &Described, arguments: &[String]) -> BTreeMap<String, String> {
        let name = |argument: &String| self.argument_name(argument, &BTreeMap::new(), Some(block));
        block.parameters.iter().cloned().zip(arguments.iter().map(name)).collect()
    }

    /// What a generic argument is called in a module's name: `Bits<8>` is `8`, `Word` is `word`. `known` are the arguments of the block
    /// that says so.
    fn argument_name(
        &self,
        argument: &str,
        known: &BTreeMap<String, String>,
        user: Option<&Described>,
    ) -> String {
        let argument = argument.trim_matches(|letter| letter == '{' || letter == '}');
        if let Some(value) = known.get(argument) {
            return value.clone();
        }
        if let Some(inner) = argument.strip_prefix("Bits<").and_then(|rest| rest.strip_suffix('>')) {
            return self.argument_name(inner, known, user);
        }
        if argument == "bool" {
            return "1".to_owned();
        }
        if let Some(row) = user.and_then(|user| self.source.named(argument, user)) {
            return self.source.module_name(row);
        }
        let last = argument.rsplit("::").next().unwrap_or(argument);
        let plain: String =
            last.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect();
        snake(plain.trim_matches('_'))
    }

    /// The name of the module with this text: that of an equal one, or a new one.
    fn name(&mut self, wanted: &str, text: String, inner: Vec<String>) -> String {
        let numbered =
            |name: &str| name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || is_number(rest));
        if let Some(equal) = self.done.iter().find(|done| numbered(&done.name) && done.text == text) {
            return equal.name.clone();
        }
        let mut name = wanted.to_owned();
        let mut number = 1;
        while self.done.iter().any(|done| done.name == name) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        self.done.push(Done { name: name.clone(), text, inner });
        name
    }

    /// The module `top` and those below it, each where it is first used, and the cells that they need.
    pub fn finish(self, top: &str) -> String {
        let inner: BTreeMap<&str, Vec<&str>> = self
            .done
            .iter()
            .map(|done| (done.name.as_str(), done.inner.iter().map(String::as_str).collect()))
            .collect();
        let texts: BTreeMap<&str, String> =
            self.done.iter().map(|done| (done.name.as_str(), done.text.replace(NAME, &done.name))).collect();
        let modules = part::below(top, &inner).into_iter().map(|name| texts[name].clone());
        modules.chain(self.cells.iter().cloned()).collect::<Vec<_>>().join("\n")
    }
}

/// Verilog that a block's author wrote, which names the ports as RustHDL does, with the names that they have here.
fn with_short_names(instance: &Instance, text: &str) -> String {
    with_other_words(text, |word| {
        let port = instance.wires.iter().find(|wire| wire.is_port() && wire.path == word)?;
        Some(identifier(&port.name))
    })
}

fn is_number(text: &str) -> bool {
    text.strip_prefix('_').is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
}
