//! The streams between the blocks of the NIC, as the design has them.
//!
//! A stream is known by its `valid`: `x_valid` of loose ports, or `x$valid` of an interface. It goes where its `valid` goes; the ports that
//! begin as it does are what it carries.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use viaduct_verilog::{Described, End, Inside, Part, Port, Source};

/// The end of a stream at a block, or at the NIC's own ports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tip {
    /// The block; nothing: the NIC itself.
    pub block: Option<String>,
    /// What the block calls the stream.
    pub name: String,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Where it comes from.
    pub from: Tip,
    /// Who hears it.
    pub to: BTreeSet<Tip>,
    /// What it carries: a type, or the names of the ports between braces.
    pub kind: String,
}

/// The design.
pub struct Design<'a> {
    inside: &'a Inside,
    source: &'a Source,
    own: &'a Described,
}

impl<'a> Design<'a> {
    /// A block's inside; `type_name` is what `std::any::type_name` gives for it, and `source` describes its crate.
    ///
    /// # Errors
    /// The sources do not have the block.
    pub fn new(inside: &'a Inside, source: &'a Source, type_name: &str) -> Result<Self> {
        let own = source.at(type_name).with_context(|| format!("the sources have no block {type_name}"))?;
        Ok(Self { inside, source, own })
    }

    /// What the source says of a block within.
    ///
    /// # Errors
    /// They do not have it.
    pub fn described(&self, block: &str) -> Result<&'a Described> {
        let field = block.split('$').next().unwrap_or(block);
        let kind = self.own.fields.get(field).map(|field| field.kind.as_str());
        let found = kind.and_then(|kind| self.source.named(kind, self.own));
        found.with_context(|| format!("the sources do not say what the block `{block}` is"))
    }

    /// The blocks within a block that are no primitives, by their fields.
    ///
    /// # Errors
    /// The sources do not have the block.
    pub fn within(&self, part: &Part) -> Result<Vec<String>> {
        let own = self.described(&part.name)?;
        let is_ours = |name: &&String| {
            let field = own.fields.get(name.split('$').next().unwrap_or(name));
            let found = field.and_then(|field| self.source.named(&field.kind, own));
            found.is_some_and(|inner| !inner.file.starts_with("src/prims/"))
        };
        Ok(part.parts.iter().filter(is_ours).cloned().collect())
    }

    /// The streams, in the order of the blocks' names.
    ///
    /// # Errors
    /// The sources do not have one of the blocks.
    pub fn streams(&self) -> Result<Vec<Stream>> {
        let mut hearers: BTreeMap<Tip, BTreeSet<Tip>> = BTreeMap::new();
        for connection in &self.inside.connections {
            if let (Some(from), Some(to)) = (tip(&connection.from), tip(&connection.to)) {
                hearers.entry(from).or_default().insert(to);
            }
        }
        let stream = |(from, to): (Tip, BTreeSet<Tip>)| {
            let kind = self.kind(&from)?;
            Ok(Stream { from, to, kind })
        };
        hearers.into_iter().map(stream).collect()
    }

    /// How many wires between blocks are of no stream, and between how many pairs of blocks.
    pub fn levels(&self, streams: &[Stream]) -> (usize, usize) {
        let (mut wires, mut pairs) = (0, BTreeSet::new());
        for connection in &self.inside.connections {
            let (Some(from), Some(to)) = (&connection.from.block, &connection.to.block) else { continue };
            let is_of = |tip: &Tip, end: &End| tip.block == end.block && belongs(&tip.name, &end.port);
            let in_stream = streams.iter().any(|stream| {
                (is_of(&stream.from, &connection.from)
                    && stream.to.iter().any(|to| is_of(to, &connection.to)))
                    || (is_of(&stream.from, &connection.to)
                        && stream.to.iter().any(|to| is_of(to, &connection.from)))
            });
            if !in_stream {
                wires += 1;
                pairs.insert((from, to));
            }
        }
        (wires, pairs.len())
    }

    fn kind(&self, tip: &Tip) -> Result<String> {
        let (described, ports) = match &tip.block {
            None => (self.own, &self.inside.ports),
            Some(block) => {
                let part = self.inside.parts.iter().find(|part| part.name == *block);
                (self.described(block)?, &part.context("a connection has a block")?.ports)
            }
        };
        // A block within may be called as a stream of loose ports is.
        let is_port = |port: &Port| port.name.split('$').next() == Some(&tip.name);
        if let Some(field) = described.fields.get(&tip.name).filter(|_| ports.iter().any(is_port)) {
            // The last argument of `Signal<Out, T>`, or the only one of an interface.
            let last = field.arguments.last().unwrap_or(&field.kind);
            return Ok(last.rsplit("::").next().unwrap_or(last).to_owned());
        }
        let names: Vec<&str> = ports.iter().filter_map(|port| self.carried(tip, port, ports)).collect();
        Ok(format!("{{{}}}", names.join(", ")))
    }

    /// What `port` is called in the stream that it belongs to, if it carries something of it and not of one with a longer name.
    fn carried<'p>(&self, tip: &Tip, port: &'p Port, ports: &[Port]) -> Option<&'p str> {
        let rest = rest(&tip.name, &port.name).filter(|rest| !matches!(*rest, "valid" | "ready"))?;
        let same_way = |other: &&Port| valid(&other.name) == Some(&tip.name);
        let is_output = ports.iter().find(same_way).is_some_and(|valid| valid.is_output);
        let is_longer = |other: &Port| {
            let name = valid(&other.name).unwrap_or_default();
            name.len() > tip.name.len() && belongs(name, &port.name)
        };
        (port.is_output == is_output && !ports.iter().any(is_longer)).then_some(rest)
    }
}

/// The stream's end whose `valid` is at `end`.
fn tip(end: &End) -> Option<Tip> {
    valid(&end.port).map(|name| Tip { block: end.block.clone(), name: name.to_owned() })
}

/// The name of the stream whose `valid` this port is; one that is called `valid` and no more has that for its stream's name.
fn valid(port: &str) -> Option<&str> {
    let name = port.strip_suffix("_valid").or_else(|| port.strip_suffix("$valid"));
    name.or((port == "valid").then_some(port))
}

/// What follows the stream's name and `_` or `$` in the port's.
fn rest<'p>(stream: &str, port: &'p str) -> Option<&'p str> {
    let rest = port.strip_prefix(stream)?;
    rest.strip_prefix('_').or_else(|| rest.strip_prefix('$'))
}

fn belongs(stream: &str, port: &str) -> bool {
    port == stream || rest(stream, port).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use viaduct_verilog::Connection;

    fn end(text: &str) -> End {
        let (block, port) = text.split_once('.').unwrap();
        End { block: Some(block.to_owned()), port: port.to_owned() }
    }

    fn tip_of(block: &str, name: &str) -> Tip {
        Tip { block: Some(block.to_owned()), name: name.to_owned() }
    }

    /// Blocks of the sources in `text`, with these output ports and connections.
    fn streams(text: &str, outputs: &[&str], connections: &[(&str, &str)]) -> (Vec<Stream>, (usize, usize)) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("whole.rs"), text).unwrap();
        let source = Source::read(folder.path()).unwrap();
        let port = |name: &&str| Port { name: (*name).to_owned(), is_output: true, width: 1 };
        let ports: Vec<Port> = outputs.iter().map(port).collect();
        let part = |name: &str, ports| Part { name: name.to_owned(), ports, parts: Vec::new() };
        let connection = |(from, to): &(&str, &str)| Connection { from: end(from), to: end(to) };
        let inside = Inside {
            ports: Vec::new(),
            parts: vec![part("a", ports), part("b", Vec::new()), part("c", Vec::new())],
            connections: connections.iter().map(connection).collect(),
        };
        let design = Design::new(&inside, &source, "crate::whole::Whole").unwrap();
        let streams = design.streams().unwrap();
        let levels = design.levels(&streams);
        (streams, levels)
    }

    #[test]
    fn loose_ports_are_streams_and_the_rest_are_levels() {
        let text = "struct Whole { a: A, b: B, c: B } struct B; struct A { word: Signal<Out, Word>, again_vi: Signal<Out, Bits<6>> }";
        let (found, levels) = streams(
            text,
            &["word_valid", "word", "again_valid", "again_vi", "again_last_valid", "again_last_vi", "busy"],
            &[
                ("a.word_valid", "b.in_valid"),
                ("a.word_valid", "c.word_valid"),
                ("a.word", "b.in"),
                ("a.again_valid", "b.again_valid"),
                ("b.again_ready", "a.again_ready"),
                ("a.busy", "b.state"),
                ("a.word_valid", "b.settled"),
            ],
        );
        let word = Stream {
            from: tip_of("a", "word"),
            to: [tip_of("b", "in"), tip_of("c", "word")].into(),
            kind: "Word".into(),
        };
        let again =
            Stream { from: tip_of("a", "again"), to: [tip_of("b", "again")].into(), kind: "{vi}".into() };
        assert_eq!(found, [again, word]);
        assert_eq!(levels, (2, 1), "`busy`, and `settled`, which only looks at a valid");
    }

    #[test]
    fn interfaces_are_streams() {
        let text = "struct Whole { a: A, b: B, c: B } struct B; struct A { word: Source<bus::Word> }";
        let (found, levels) = streams(
            text,
            &["word$valid", "word$data"],
            &[("a.word$valid", "b.in$valid"), ("a.word$data", "b.in$data"), ("b.in$ready", "a.word$ready")],
        );
        let word = Stream { from: tip_of("a", "word"), to: [tip_of("b", "in")].into(), kind: "Word".into() };
        assert_eq!(found, [word]);
        assert_eq!(levels, (0, 0));
    }
}
