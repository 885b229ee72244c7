//! What can be done to cited code so that it is broken: changes of the text that leave a design which can be exported.

use std::ops::Range;

/// How.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is not done.
    LeftOut,
    /// A condition is not met.
    Never,
    /// A condition is met.
    Always,
    /// It is negated.
    Opposite,
    /// Something else stands there.
    Instead,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where.
    pub range: Range<usize>,
    /// What stands there then.
    pub with: String,
    /// How: for who reads what was tried.
    pub how: How,
    /// The lower, the nearer to what the comment says: the distance of the statement, then 0 for what takes it away, 1 for what does
    /// another thing, 2 for what changes a part of it or overdoes it.
    pub rank: (usize, u8),
}

impl Change {
    /// The broken text. Lines keep their numbers.
    pub fn apply(&self, text: &str) -> String {
        let lines = |text: &str| text.matches('\n').count();
        let fill = lines(&text[self.range.clone()]).saturating_sub(lines(&self.with));
        let (before, after) = (&text[..self.range.start], &text[self.range.end..]);
        format!("{before}{}{}{after}", self.with, "\n".repeat(fill))
    }

    /// For people: how, and what was there.
    pub fn describe(&self, text: &str) -> String {
        let short = |text: &str| {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            match text.char_indices().nth(60) {
                Some((end, _)) => format!("{} ...", &text[..end]),
                None => text,
            }
        };
        let (before, after) = (short(&text[self.range.clone()]), short(&self.with));
        match self.how {
            How::LeftOut => format!("left out: `{before}`"),
            How::Never => format!("never: `{before}`"),
            How::Always => format!("always: `{before}`"),
            How::Opposite => format!("the opposite: `{before}`"),
            How::Instead => format!("`{after}` instead of `{before}` in `{}`", short(self.line(text))),
        }
    }

    /// The line in which it begins.
    fn line<'a>(&self, text: &'a str) -> &'a str {
        let start = text[..self.range.start].rfind('\n').map_or(0, |end| end + 1);
        text[start..].lines().next().unwrap_or_default()
    }
}
