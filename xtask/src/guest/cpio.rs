//! The archive that the kernel unpacks into memory: a guest's whole file system.

use anyhow::{ensure, Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A cpio archive of the form "newc": before each file a header of 13 numbers, in hexadecimal.
#[derive(Default)]
pub struct Cpio {
    bytes: Vec<u8>,
    files: u32,
    programs: BTreeSet<String>,
}

impl Cpio {
    /// A folder.
    pub fn folder(&mut self, name: &str) {
        self.add(name, 0o040_755, &[]);
    }

    /// A file, readable and executable for all. A second file of the same name is an error: the kernel would take
    /// the last one without a word.
    pub fn program(&mut self, name: &str, file: &Path) -> Result<()> {
        ensure!(
            self.programs.insert(name.into()),
            "{} would be the second {name} of a guest",
            file.display()
        );
        let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        self.add(name, 0o100_755, &content);
        Ok(())
    }

    fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.files += 1;
        let links = 1;
        // Number, mode, user, group, links, time, size, 2 x device, 2 x device it stands for, length of
        // the name with its 0, check sum (not used).
        let size = content.len() as u32;
        let fields = [self.files, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// The whole archive.
    pub fn end(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_second_file_of_the_same_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "one").unwrap();
        let mut archive = Cpio::default();
        archive.program("lib64/loader", &file).unwrap();
        let error = archive.program("lib64/loader", &file).unwrap_err().to_string();
        assert!(error.ends_with("would be the second lib64/loader of a guest"), "{error}");
    }

    #[test]
    fn another_reader_finds_what_was_put_in() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = Cpio::default();
        archive.folder("bin");
        let contents = ["", "a", "ab", "abc", "abcd", "abcde"];
        for (i, content) in contents.iter().enumerate() {
            let file = folder.path().join("file");
            fs::write(&file, content).unwrap();
            archive.program(&format!("bin/{}", "n".repeat(i + 1)), &file).unwrap();
        }
        let bytes = archive.end();
        let mut rest = &bytes[..];
        let mut reader = ::cpio::newc::Reader::new(&mut rest).unwrap();
        assert_eq!((reader.entry().name(), reader.entry().mode()), ("bin", 0o040_755));
        for (i, content) in contents.iter().enumerate() {
            rest = reader.finish().unwrap();
            reader = ::cpio::newc::Reader::new(&mut rest).unwrap();
            assert_eq!(reader.entry().name(), format!("bin/{}", "n".repeat(i + 1)));
            assert_eq!(reader.entry().mode(), 0o100_755);
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, *content);
        }
        rest = reader.finish().unwrap();
        assert!(::cpio::newc::Reader::new(&mut rest).unwrap().entry().is_trailer());
    }
}
