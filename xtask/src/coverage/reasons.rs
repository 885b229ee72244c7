//! Why lines are not reached: docs/coverage.md.

use anyhow::{bail, ensure, Result};
use std::collections::BTreeSet;

/// Where the reasons are.
pub const FILE: &str = "docs/coverage.md";

/// The lines of the document's code blocks, each with the paragraph before its block. `*` stands for any text.
#[derive(Debug)]
pub struct Reasons(Vec<(String, String)>);

/// What became of the lines that no test reaches.
#[derive(Debug)]
pub struct Verdict {
    /// With their reasons.
    known: Vec<(String, String)>,
    unknown: Vec<String>,
    /// What stands in the document and is reached, or gone.
    stale: Vec<String>,
}

impl Reasons {
    /// From the document.
    pub fn read(document: &str) -> Result<Self> {
        let (mut reasons, mut paragraph, mut inside) = (Vec::new(), String::new(), false);
        let mut ended = false;
        for line in document.lines().map(str::trim) {
            if line.starts_with("```") {
                inside = !inside;
                ensure!(!inside || !paragraph.is_empty(), "{FILE} has lines without a reason");
                if !inside {
                    paragraph.clear();
                }
            } else if inside {
                reasons.push((line.to_owned(), paragraph.clone()));
            } else if line.is_empty() {
                ended = true;
            } else {
                if std::mem::take(&mut ended) || line.starts_with('#') {
                    paragraph.clear();
                }
                if !line.starts_with('#') {
                    paragraph.push_str(if paragraph.is_empty() { "" } else { " " });
                    paragraph.push_str(line);
                }
            }
        }
        ensure!(!inside, "{FILE} has a code block without an end");
        Ok(Self(reasons))
    }

    /// Holds the lines that no test reaches against the document.
    pub fn judge(&self, unreached: &BTreeSet<String>) -> Verdict {
        let mut verdict = Verdict { known: Vec::new(), unknown: Vec::new(), stale: Vec::new() };
        for line in unreached {
            match self.0.iter().find(|(pattern, _)| matches(pattern, line)) {
                Some((_, reason)) => verdict.known.push((line.clone(), reason.clone())),
                None => verdict.unknown.push(line.clone()),
            }
        }
        let stale = self.0.iter().filter(|(pattern, _)| !unreached.iter().any(|line| matches(pattern, line)));
        verdict.stale = stale.map(|(pattern, _)| pattern.clone()).collect();
        verdict
    }
}

impl Verdict {
    /// What people read.
    pub fn text(&self) -> String {
        let mut text = format!("not reached, with a reason in {FILE}: {}\n", self.known.len());
        for line in &self.stale {
            text.push_str(&format!("reached, or gone, and still in {FILE}: {line}\n"));
        }
        text
    }

    /// What programs read.
    pub fn json(&self) -> serde_json::Value {
        let known = self.known.iter().map(|(line, reason)| (line, Some(reason)));
        let all = known.chain(self.unknown.iter().map(|line| (line, None)));
        all.map(|(line, reason)| serde_json::json!({ "line": line, "reason": reason })).collect()
    }

    /// Fails if a line has no reason.
    pub fn check(&self) -> Result<()> {
        if self.unknown.is_empty() {
            return Ok(());
        }
        let list: String = self.unknown.iter().map(|line| format!("\n{line}")).collect();
        bail!("no test reaches these {}, and {FILE} does not say why:{list}", self.unknown.len());
    }
}

/// Whether `text` is `pattern` with any text for each `*`.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).filter(|n| text.is_char_boundary(*n)).any(|n| matches(rest, &text[n..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "# Title\nSome text.\n\nBecause\nit is.\n\n```\na: x\na: * default *\n```\n# B\nElse.\n```\nb: y\n```\n";

    #[test]
    fn what_is_not_reached_needs_a_reason() {
        let reasons = Reasons::read(DOCUMENT).unwrap();
        let judge = |lines: &[&str]| reasons.judge(&lines.iter().map(ToString::to_string).collect());
        let verdict = judge(&["a: x", "a: case default z = 1;", "b: y"]);
        verdict.check().unwrap();
        assert_eq!(verdict.known[0].1, "Because it is.");
        assert_eq!(verdict.known[2].1, "Else.");
        let error = judge(&["a: x", "a: xx", "c: y"]).check().unwrap_err().to_string();
        assert!(error.contains("these 2") && error.ends_with(":\na: xx\nc: y"), "{error}");
    }

    #[test]
    fn a_reason_for_what_is_reached_is_told() {
        let reasons = Reasons::read(DOCUMENT).unwrap();
        let verdict = reasons.judge(&BTreeSet::from(["b: y".to_owned()]));
        assert_eq!(verdict.stale, ["a: x", "a: * default *"]);
        assert!(verdict.text().contains("still in docs/coverage.md: a: x\n"), "{}", verdict.text());
        verdict.check().unwrap();
    }

    #[test]
    fn a_list_without_a_reason_is_refused() {
        assert!(Reasons::read("# Title\n```\na: x\n```\n").is_err());
        assert!(Reasons::read("Because.\n```\na: x\n```\n```\nb: y\n```\n").is_err());
        assert!(Reasons::read("Because.\n```\na: x\n").is_err());
    }
}
