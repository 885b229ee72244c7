//! The page's two listings: the example's steps, and what they are at the NIC's ports.

use std::fs;

use viaduct_driver::device::Bar;

/// The page.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/bring-up.md");
/// How the example begins.
const EXAMPLE: &str = "# 1. The function\n";
/// How the listing of beats begins.
const BEATS: &str = "# A load of MAGIC\n";
/// A line of the example, with the bytes in the lines behind it.
#[derive(Debug)]
pub struct Step {
    /// The whole line.
    pub line: String,
    /// Its words, without what is said of them.
    pub words: Vec<String>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Step {
    /// The number at a place of the line.
    pub fn number(&self, place: usize) -> u64 {
        let word = self.words.get(place).unwrap_or_else(|| panic!("no word {place}: {}", self.line));
        let digits = word.strip_prefix("0x");
        let value = digits.map_or_else(|| word.parse(), |digits| u64::from_str_radix(digits, 16));
        value.unwrap_or_else(|error| panic!("{word:?}: {error}: {}", self.line))
    }

    /// Where a register access goes: `bar0+0x020`.
    pub fn place(&self) -> (Bar, u64) {
        let (bar, offset) =
            self.words[1].split_once("+0x").unwrap_or_else(|| panic!("no place: {}", self.line));
        let bar = match bar {
            "bar0" => Bar::Registers,
            "bar2" => Bar::Doorbells,
            _ => panic!("no such BAR: {}", self.line),
        };
        (bar, u64::from_str_radix(offset, 16).expect("an offset"))
    }
}

/// Bytes in hexadecimal.
fn bytes<'a>(words: impl Iterator<Item = &'a str>) -> Vec<u8> {
    words
        .map(|word| u8::from_str_radix(word, 16).unwrap_or_else(|error| panic!("{word:?}: {error}")))
        .collect()
}

/// The listing of the page that begins so.
fn listing(beginning: &str) -> String {
    let page = fs::read_to_string(PAGE).expect("the page is there");
    let at = page
        .find(beginning)
        .unwrap_or_else(|| panic!("{PAGE} has no listing that begins with {beginning:?}"));
    page[at..].split("```").next().expect("there is a first part").to_owned()
}

/// What passes the ports: packets and frames, each as the lines of its beats.
pub fn packets() -> Vec<Vec<String>> {
    let text = listing(BEATS);
    let mut packets: Vec<Vec<String>> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with('#') {
            packets.push(Vec::new());
            continue;
        }
        let said = line.split(';').next().unwrap_or_default();
        let words: Vec<&str> = said.split_whitespace().collect();
        packets.last_mut().expect("a head stands before the first beat").push(words.join(" "));
    }
    packets
}

/// The example's steps.
pub fn steps() -> Vec<Step> {
    let text = listing(EXAMPLE);
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines() {
        let said = line.split(';').next().unwrap_or_default();
        let words = said.split_whitespace();
        if line.starts_with('#') || said.trim().is_empty() {
            continue;
        } else if line.starts_with(' ') {
            steps.last_mut().expect("bytes stand behind a step").bytes.extend(bytes(words));
            continue;
        }
        let words: Vec<String> = words.map(str::to_owned).collect();
        let mut step = Step { line: line.to_owned(), words, bytes: Vec::new() };
        if ["memory", "expect"].contains(&step.words[0].as_str()) {
            step.bytes = bytes(step.words[2..].iter().map(String::as_str));
        }
        steps.push(step);
    }
    steps
}
