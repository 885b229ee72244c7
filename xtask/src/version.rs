//! Version numbers as programs print them.

use std::fmt;

/// A dotted version number. Missing parts count as 0, so 5.6 and 5.006 are equal.
#[derive(Clone, Debug)]
pub struct Version {
    /// As it was written, since people look for "5.006" and not for "5.6".
    text: String,
    parts: Vec<u32>,
}

impl Version {
    /// The first thing in `text` that looks like a version: digits with at least one dot.
    pub fn find(text: &str) -> Option<Version> {
        text.split(|c: char| !(c.is_ascii_digit() || c == '.'))
            .map(|word| word.trim_matches('.'))
            .filter(|word| word.contains('.'))
            .find_map(Version::parse)
    }

    /// Reads "1.85" or "5.006".
    pub fn parse(text: &str) -> Option<Version> {
        let parts: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        Some(Version { text: text.to_string(), parts: parts? })
    }

    fn part(&self, i: usize) -> u32 {
        self.parts.get(i).copied().unwrap_or(0)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<std::cmp::Ordering> {
        let parts = self.parts.len().max(other.parts.len());
        let compare = |i| self.part(i).cmp(&other.part(i));
        Some((0..parts).map(compare).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        self.partial_cmp(other) == Some(std::cmp::Ordering::Equal)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_version_in_what_the_tools_print() {
        for (text, version) in [
            ("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)", "5.006"),
            ("Yosys 0.23 (git sha1 7ce5011c24b)", "0.23"),
            ("Z3 version 4.8.12 - 64 bit", "4.8.12"),
            ("TShark (Wireshark) 4.0.17 (Git v4.0.17 packaged as 4.0.17-0+deb12u3)", "4.0.17"),
            ("c++ (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"),
            ("rustc 1.95.0 (59807616e 2026-04-14)", "1.95.0"),
            ("Python 3.11.2", "3.11.2"),
        ] {
            assert_eq!(Version::find(text).unwrap().to_string(), version, "{text}");
        }
        assert!(Version::find("command not found").is_none());
        assert!(Version::find("99999999999.1").is_none(), "too large for a version is no version");
    }

    #[test]
    fn compares_part_by_part() {
        let v = |text| Version::parse(text).unwrap();
        assert!(v("5.006") >= v("5.6"));
        assert!(v("4.228") < v("5.006"));
        assert!(v("1.100") > v("1.85"));
        assert!(v("1.85") <= v("1.85.0"));
    }
}
