//! `docs/sizes.json`: what every block was measured to take, and of what. To measure all of them takes ten minutes of a processor. So a block
//! whose Verilog is the one that was measured keeps its recorded size; each run of the suite draws some of these and measures them anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{ensure, Context, Result};
use serde_json::{json, Map, Value};
use sha2::{Digest, Sha256};

use super::budget::{inputs, measure, Size};
use super::tool;

/// Of so many recorded blocks one is drawn.
const ONE_OF: u8 = 12;

/// A size, and SHA-256 of what it was measured of, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Recorded {
    inputs: String,
    size: Size,
}

/// The recorded sizes, by block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes(BTreeMap<String, Recorded>);

/// Where they are kept.
pub fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sizes.json")
}

impl Sizes {
    /// Reads them.
    ///
    /// # Errors
    /// There is no such file, or it is no record.
    pub fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        Self::parse(&text).with_context(|| file.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let blocks: Map<String, Value> = serde_json::from_str(text)?;
        let recorded = blocks.into_iter().map(|(name, block)| {
            let number = |field: &str| {
                let number = block[field].as_u64().and_then(|number| u32::try_from(number).ok());
                number.with_context(|| format!("{name} has no number {field}"))
            };
            let size = Size {
                lut4: number("lut4")?,
                ff: number("ff")?,
                dp16kd: number("dp16kd")?,
                mult: number("mult")?,
            };
            let inputs =
                block["inputs_sha256"].as_str().with_context(|| format!("{name} has no inputs_sha256"))?;
            Ok((name.clone(), Recorded { inputs: inputs.to_owned(), size }))
        });
        recorded.collect::<Result<_>>().map(Self)
    }

    /// Notes what was measured of a block with this Verilog.
    ///
    /// # Errors
    /// yosys is missing.
    pub fn note(&mut self, name: &str, verilog: &str, size: Size) -> Result<()> {
        self.0.insert(name.to_owned(), Recorded { inputs: digest(&inputs(verilog)?), size });
        Ok(())
    }

    /// Writes them, a line for each block.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        tool::write(file, &self.text())
    }

    fn text(&self) -> String {
        let line = |(name, recorded): (&String, &Recorded)| {
            let Size { lut4, ff, dp16kd, mult } = recorded.size;
            let value = json!({"lut4": lut4, "ff": ff, "dp16kd": dp16kd, "mult": mult, "inputs_sha256": recorded.inputs});
            format!("  {}: {value}", Value::from(name.as_str()))
        };
        format!("{{\n{}\n}}\n", self.0.iter().map(line).collect::<Vec<_>>().join(",\n"))
    }

    /// What a block with this Verilog takes: as recorded, if that was measured of the same; else as measured now. And whether it is
    /// recorded. `draw`: a text that draws recorded blocks, which are measured all the same.
    ///
    /// # Errors
    /// As [`measure`]; or a block was drawn, and takes something else than is recorded.
    pub fn of(&self, name: &str, verilog: &str, draw: Option<&str>) -> Result<(Size, bool)> {
        let inputs = digest(&inputs(verilog)?);
        let Some(recorded) = self.0.get(name).filter(|recorded| recorded.inputs == inputs) else {
            return Ok((measure(name, verilog)?, false));
        };
        if draw.is_some_and(|draw| draws(draw, name)) {
            let (recorded, measured) = (recorded.size, measure(name, verilog)?);
            ensure!(
                recorded == measured,
                "docs/sizes.json says that {name} takes {recorded:?}, and it takes {measured:?}; \
                 `cargo xtask budget --anew` measures all and makes the file anew"
            );
        }
        Ok((recorded.size, true))
    }
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether this text draws this block.
fn draws(draw: &str, name: &str) -> bool {
    Sha256::digest(format!("{draw} {name}"))[0] % ONE_OF == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERILOG: &str = "module top(input wire a, output wire b);\n// a word\nassign b = ~a;\nendmodule\n";
    const WRONG: Size = Size { lut4: 77, ff: 1, dp16kd: 2, mult: 3 };

    fn recorded(name: &str, size: Size) -> Sizes {
        let mut sizes = Sizes::default();
        sizes.note(name, VERILOG, size).unwrap();
        sizes
    }

    /// A text that draws the block, or one that does not.
    fn draw(name: &str, wanted: bool) -> String {
        (0..).map(|n: u32| n.to_string()).find(|text| draws(text, name) == wanted).unwrap()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let sizes = recorded("test/written", WRONG);
        assert_eq!(Sizes::parse(&sizes.text()).unwrap(), sizes);
        let error = Sizes::parse(r#"{"fetch": {"lut4": 1}}"#).unwrap_err();
        assert_eq!(error.to_string(), "fetch has no number ff");
    }

    #[test]
    fn a_recorded_size_counts_for_the_verilog_that_it_was_measured_of() {
        let name = "test/recorded";
        let sizes = recorded(name, WRONG);
        assert_eq!(sizes.of(name, VERILOG, None).unwrap(), (WRONG, true));
        assert_eq!(sizes.of(name, VERILOG, Some(&draw(name, false))).unwrap(), (WRONG, true));
        let other_words = VERILOG.replace("a word", "another");
        assert_eq!(sizes.of(name, &other_words, None).unwrap(), (WRONG, true), "comments take nothing");
        let other = VERILOG.replace("~a", "a");
        assert_eq!(sizes.of(name, &other, None).unwrap(), (Size::default(), false), "a wire takes nothing");
    }

    #[test]
    fn a_drawn_block_is_measured_and_a_wrong_record_is_an_error() {
        let name = "test/drawn";
        let draw = draw(name, true);
        let error = recorded(name, WRONG).of(name, VERILOG, Some(&draw)).unwrap_err().to_string();
        assert!(error.starts_with("docs/sizes.json says that test/drawn takes Size { lut4: 77,"), "{error}");
        let right = Size { lut4: 1, ..Size::default() };
        assert_eq!(recorded(name, right).of(name, VERILOG, Some(&draw)).unwrap(), (right, true));
    }

    /// The name of a block's entry: its layer, and its type in small letters.
    fn entry(layer: &str, block: &str) -> String {
        let mut name = String::new();
        for letter in block.chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.extend(letter.to_lowercase());
        }
        if name == format!("pcie_{layer}") {
            format!("pcie/{layer}")
        } else {
            format!("pcie/{layer}/{name}")
        }
    }

    /// The sizes of docs/pcie.md: of the endpoint in a sentence, of layers and blocks in tables.
    #[test]
    fn the_page_of_the_endpoint_has_the_sizes_that_were_measured() {
        let Sizes(sizes) = Sizes::read(&file()).unwrap();
        let page = fs::read_to_string(file().with_file_name("pcie.md")).unwrap();
        let of = |name: &str| sizes.get(name).unwrap_or_else(|| panic!("there is no size of {name}")).size;
        let all = of("pcie/endpoint");
        let words = format!("{} LUT4, {} flip-flops and {} block RAMs", all.lut4, all.ff, all.dp16kd);
        assert!(page.contains(&words), "the endpoint is {words}");
        let (mut layer, mut found) = ("", 0);
        for line in page.lines() {
            layer = line.strip_prefix("### ").unwrap_or(layer);
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let Some(name) = cells.get(1).and_then(|cell| cell.strip_prefix('`')?.strip_suffix('`')) else {
                continue;
            };
            let numbers: Vec<u32> = cells[2..].iter().filter_map(|cell| cell.parse().ok()).collect();
            let expected = match (name.strip_suffix('/'), layer) {
                // The row of `phy/` is of the blocks round a cell of the vendor's.
                (Some("phy"), _) => continue,
                _ if numbers.is_empty() => continue,
                (Some(layer), _) => {
                    let size = of(&format!("pcie/{layer}"));
                    vec![size.lut4, size.dp16kd]
                }
                (None, "phy" | "mac" | "link") => {
                    let size = of(&entry(layer, name));
                    [size.lut4, size.ff, size.dp16kd].into_iter().take(numbers.len().max(2)).collect()
                }
                _ => continue,
            };
            assert_eq!(numbers, expected, "{line}");
            found += 1;
        }
        assert_eq!(found, 4 + 4 + 9 + 11, "layers, and blocks of phy, mac and link");
        let phy: u32 = sizes
            .iter()
            .filter(|(name, _)| name.starts_with("pcie/phy/"))
            .map(|(_, block)| block.size.lut4)
            .sum();
        assert!(page.contains(&format!("| `phy/` | {phy}, and the DCU |")), "phy is {phy}");
    }

    #[test]
    fn a_text_draws_one_block_of_a_dozen() {
        let drawn = (0..1200).filter(|n| draws("commit", &n.to_string())).count();
        assert!((60..150).contains(&drawn), "{drawn}");
    }
}
