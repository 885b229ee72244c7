//! What the guest says: lines that begin with `guest: `, among whatever else its programs print.

use anyhow::{bail, Result};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::time::{Duration, Instant};

/// What a line for us begins with.
const PREFIX: &str = "guest: ";
/// How many lines are kept to be shown when something fails, and how long a line may be.
const KEPT: usize = 40;
const LONGEST: u64 = 1000;

/// One line.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// For people.
    Note(String),
    /// A job begins.
    Job(String),
    /// A check that passed.
    Pass(String),
    /// A check that failed, with the reason.
    Fail(String),
    /// Something that QEMU is to do.
    Ask(String),
    /// All jobs are done.
    End,
    /// What no script of ours printed for us.
    Other,
}

impl Line {
    /// Reads a line.
    pub fn parse(line: &str) -> Line {
        let Some(line) = line.trim_end().strip_prefix(PREFIX) else {
            return Line::Other;
        };
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.to_string();
        match word {
            "note" => Line::Note(rest),
            "job" => Line::Job(rest),
            "pass" => Line::Pass(rest),
            "ask" => Line::Ask(rest),
            "end" => Line::End,
            "fail" => Line::Fail(rest),
            // A script that says something else is wrong.
            _ => Line::Fail(format!("the guest says {line:?}")),
        }
    }
}

/// What has been heard so far of one guest.
pub struct Verdict {
    /// What its lines are told from another guest's by.
    name: &'static str,
    /// When its last check, or job, ended: what comes next has taken the time since.
    since: Instant,
    /// Each job, and how many of its checks passed.
    jobs: Vec<(String, usize)>,
    failed: Vec<String>,
    ended: bool,
    last: Tail,
}

impl Verdict {
    /// Nothing has been heard yet of the guest of this name.
    pub fn of(name: &'static str) -> Verdict {
        Verdict {
            name,
            since: Instant::now(),
            jobs: Vec::new(),
            failed: Vec::new(),
            ended: false,
            last: Tail::default(),
        }
    }

    /// Takes a line; what is for people is printed, and what the guest asks for is returned.
    pub fn take(&mut self, line: String) -> Option<String> {
        let said = Line::parse(&line);
        self.last.push(line);
        match said {
            Line::Ask(text) => return Some(text),
            Line::Note(text) => self.say(&text),
            Line::Pass(text) => {
                let took = self.lap();
                self.say(&format!("passed: {text}, {:.1} s", took.as_secs_f64()));
                if let Some((_, passed)) = self.jobs.last_mut() {
                    *passed += 1;
                }
            }
            Line::Fail(text) => {
                let took = self.lap();
                self.say(&format!("FAILED: {text}, {:.1} s", took.as_secs_f64()));
                self.failed.push(text);
            }
            Line::Job(name) => {
                self.lap();
                self.jobs.push((name, 0));
            }
            Line::End => self.ended = true,
            Line::Other => {}
        }
        None
    }

    /// The time since the last call.
    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.since, now)
    }

    fn say(&self, text: &str) {
        println!("  {:8}  {text}", self.name);
    }

    /// Whether the guest came to its end and no check failed; how many passed.
    pub fn judge(&self) -> Result<usize> {
        if !self.failed.is_empty() {
            bail!("{}", self.failed.join("; "));
        }
        if !self.ended {
            bail!("the guest did not come to its end");
        }
        // A job whose lines nobody understands must not pass.
        if let Some((name, _)) = self.jobs.iter().find(|(_, passed)| *passed == 0) {
            bail!("the job {name} checked nothing");
        }
        match self.jobs.iter().map(|(_, passed)| passed).sum() {
            0 => bail!("the guest checked nothing"),
            passed => Ok(passed),
        }
    }

    /// The last lines.
    pub fn last(&self) -> String {
        self.last.text()
    }
}

/// The last lines of something that may be long.
#[derive(Default)]
pub struct Tail {
    lines: VecDeque<String>,
    lost: usize,
}

impl Tail {
    /// Adds a line.
    pub fn push(&mut self, line: String) {
        if self.lines.len() == KEPT {
            self.lines.pop_front();
            self.lost += 1;
        }
        self.lines.push_back(line);
    }

    /// The lines, each indented.
    pub fn text(&self) -> String {
        let lost = match self.lost {
            0 => String::new(),
            lost => format!("    ({lost} lines before)\n"),
        };
        let lines = self.lines.iter().map(|line| format!("    {}\n", line.trim_end()));
        lost + &lines.collect::<String>()
    }
}

/// Calls `take` with each line until the end; what is too long for a line is cut into several.
pub fn each_line(from: impl Read, mut take: impl FnMut(String)) {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        match (&mut from).take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => take(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str) -> Verdict {
        let mut verdict = Verdict::of("a guest");
        each_line(text.as_bytes(), |line| drop(verdict.take(line)));
        verdict
    }

    #[test]
    fn passes_when_all_is_said() {
        let good =
            verdict("noise\r\nguest: note hello\r\nguest: job a\r\nguest: pass file\r\nguest: end\r\n");
        assert_eq!(good.judge().unwrap(), 1);
    }

    #[test]
    fn what_is_asked_for_is_given_on() {
        let asked = Verdict::of("a guest").take("guest: ask bus-error 0".into());
        assert_eq!(asked.as_deref(), Some("bus-error 0"));
    }

    #[test]
    fn fails_when_something_is_not_said() {
        let failed = |text: &str| verdict(text).judge().unwrap_err().to_string();
        assert_eq!(failed("guest: job j\nguest: pass a\nguest: fail b: c\nguest: end\n"), "b: c");
        let silent = "guest: job j\nguest: pass a\nguest: job k\nviaduct: pass b\nguest: end\n";
        assert!(failed(silent).contains("k checked nothing"));
        assert!(failed("guest: pass a\n").contains("its end"), "it hung, or panicked");
        assert!(failed("guest: end\n").contains("nothing"));
        assert!(failed("").contains("its end"));
        assert!(failed("guest: pas a\nguest: end").contains("pas a"));
        assert!(failed(" guest: pass a\nguest: end").contains("nothing"), "no line for us");
    }

    #[test]
    fn keeps_the_last_lines_only() {
        let text: String = (0..100).map(|i| format!("line {i}\n")).collect();
        let last = verdict(&text).last();
        assert!(last.starts_with("    (60 lines before)\n    line 60\n"), "{last}");
        assert!(last.ends_with("    line 99\n"), "{last}");
        let mut lines = Vec::new();
        each_line(&[b'x'; 2500][..], |line| lines.push(line.len()));
        assert_eq!(lines, [1000, 1000, 500]);
    }
}
