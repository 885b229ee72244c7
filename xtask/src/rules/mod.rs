//! The rules of docs/semantics.md, and who cites them. A rule is defined by a list item that begins with its identifier, in a section
//! whose head names the prefix; a comment cites it by the identifier, `REQ-1 to REQ-3` all three. The code that decides a rule and a test that
//! holds it must cite it: a test here fails otherwise.

mod breaking;

use crate::project::{read, Project};
use anyhow::{ensure, Context, Result};
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Where the rules are.
const RULES: &str = "docs/semantics.md";
/// Folders and files that may cite them.
const TREE: &str = "README.md bench cli docs hdl host-driver sim spec tests vipl walk";
/// Words before a hyphen and a number that are no prefixes.
const OTHER_WORDS: &[&str] = &["CRC", "ECPIX", "EUI", "SHA", "UTF"];
/// Rules that no test holds, each with the reason.
const WITHOUT: &[(&str, &str)] = &[];

/// Which rules, and what about them.
#[derive(Args)]
pub struct Options {
    /// Only this one: REQ-4
    #[arg(value_name = "RULE")]
    only: Option<String>,
    /// Breaks the code that cites N rules drawn by a seed [default: 10], or the one that is named: a test that cites the rule must fail
    #[arg(long = "break", value_name = "N", num_args = 0..=1, default_missing_value = "10",
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    breaks: Option<u16>,
    /// Goes on at each place that cites the rule: a test must notice there, too
    #[arg(long, requires = "breaks")]
    each: bool,
    /// The seed that they, and what is done to them, are drawn with
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "breaks")]
    from: u64,
}

/// A rule's identifier: its section's prefix and its number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id(String, u32);

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.0, self.1)
    }
}

/// Who cites a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    /// The NIC.
    Rtl,
    /// Its functional model.
    Model,
    /// The driver, whose agent some rules are for.
    Driver,
    /// A test.
    Test,
    /// Documentation, and what else mentions it.
    Other,
}

impl Who {
    /// Of a file; `tested`: of the tests in it.
    fn of(file: &str, tested: bool) -> Who {
        let tests = |part: &str| part == "tests" || part == "tests.rs";
        match file {
            _ if file.ends_with(".rs") && (tested || file.split('/').any(tests)) => Who::Test,
            _ if file.starts_with("hdl/src/") => Who::Rtl,
            _ if file.starts_with("sim/src/model/") => Who::Model,
            _ if file.starts_with("host-driver/src/") => Who::Driver,
            _ => Who::Other,
        }
    }
}

/// A rule is cited here.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Citation {
    id: Id,
    who: Who,
    file: String,
    line: usize,
}

/// The identifiers in a line of text, whatever their prefix, those of ranges written out.
fn identifiers(text: &str) -> Vec<Id> {
    let outside = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let words: Vec<&str> = text.split(outside).filter(|word| !word.is_empty()).collect();
    let mut ids = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(Id(prefix, last)) = identifier(word) else { continue };
        let from = at.checked_sub(2).filter(|_| words[at - 1] == "to").and_then(|at| identifier(words[at]));
        let first = from.filter(|from| from.0 == prefix).map_or(last, |from| from.1 + 1);
        ids.extend((first..=last).map(|number| Id(prefix.clone(), number)));
    }
    ids
}

/// A word as an identifier: capitals, a hyphen, a number.
fn identifier(word: &str) -> Option<Id> {
    let (prefix, number) = word.split_once('-')?;
    let capitals = prefix.len() > 1 && prefix.bytes().all(|byte| byte.is_ascii_uppercase());
    let digits = !number.starts_with('0') && number.bytes().all(|byte| byte.is_ascii_digit());
    (capitals && digits).then(|| number.parse().ok().map(|number| Id(prefix.to_owned(), number)))?
}

/// The rules that a text defines, each with its line; and what is wrong with their identifiers.
fn definitions(text: &str) -> (BTreeMap<Id, usize>, Vec<String>) {
    let (mut rules, mut wrong, mut prefixes) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
    let (mut prefix, mut count) = (None, 0);
    for (line, at) in text.lines().zip(1..) {
        if let Some(head) = line.strip_prefix("## ") {
            let named = head.strip_suffix(')').and_then(|head| head.rsplit_once(" ("));
            (prefix, count) = (named.map(|(_, prefix)| prefix), 0);
            if prefix.is_some_and(|prefix| !prefixes.insert(prefix)) {
                wrong.push(format!("{RULES}:{at}: another section has this prefix: {head}"));
            }
        }
        let named = line.strip_prefix("- **").and_then(|item| item.split_once(".**"));
        let Some(id) = named.and_then(|(word, _)| identifier(word)) else { continue };
        count += 1;
        if rules.contains_key(&id) {
            wrong.push(format!("{RULES}:{at}: {id} is defined twice"));
        } else if prefix != Some(id.0.as_str()) {
            wrong.push(format!("{RULES}:{at}: {id} does not have its section's prefix"));
        } else if id.1 != count {
            wrong.push(format!("{RULES}:{at}: {id} is number {count} of its section"));
        }
        rules.insert(id, at);
    }
    (rules, wrong)
}

/// What a file cites: of Rust its comments do.
fn citations(file: &str, text: &str) -> Vec<Citation> {
    let (mut found, mut tested) = (Vec::new(), false);
    for (line, at) in text.lines().zip(1..) {
        tested |= line == "#[cfg(test)]";
        let comment = match file.ends_with(".rs") {
            true => line.split_once("//").map_or("", |(_, comment)| comment),
            false => line,
        };
        let who = Who::of(file, tested);
        let cite = |id| Citation { id, who, file: file.to_owned(), line: at };
        found.extend(identifiers(comment).into_iter().filter(|id| !OTHER_WORDS.contains(&&*id.0)).map(cite));
    }
    found
}

/// All that the tree cites.
fn all_citations(root: &Path) -> Result<Vec<Citation>> {
    fn enter(root: &Path, place: &str, found: &mut Vec<Citation>) -> Result<()> {
        let path = root.join(place);
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).with_context(|| place.to_owned())?;
            let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            let mut names = names.collect::<Result<Vec<String>>>()?;
            names.retain(|name| name != "target" && !name.starts_with('.'));
            names.sort();
            return names.iter().try_for_each(|name| enter(root, &format!("{place}/{name}"), found));
        }
        if place.ends_with(".rs") || place.ends_with(".md") {
            found.extend(citations(place, &read(&path)?));
        }
        Ok(())
    }
    let mut found = Vec::new();
    TREE.split(' ').try_for_each(|place| enter(root, place, &mut found))?;
    Ok(found)
}

/// What is wrong with the citations of these rules; `without`: rules that no test holds.
fn findings(rules: &BTreeMap<Id, usize>, cited: &[Citation], without: &[(&str, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for Citation { id, file, line, .. } in cited.iter().filter(|citation| !rules.contains_key(&citation.id)) {
        let known = rules.keys().any(|rule| rule.0 == id.0);
        wrong.push(format!(
            "{file}:{line}: {id} is no rule{}",
            if known { "" } else { ", and its prefix is none" }
        ));
    }
    for id in rules.keys() {
        let by = |who| cited.iter().any(|citation| citation.id == *id && citation.who == who);
        let excused = without.iter().any(|(rule, _)| *rule == id.to_string());
        if !by(Who::Driver) && !by(Who::Rtl) {
            wrong.push(format!("{id}: nothing in hdl/src or host-driver/src cites it"));
        }
        if !by(Who::Driver) && !by(Who::Model) {
            wrong.push(format!("{id}: nothing in sim/src/model or host-driver/src cites it"));
        }
        match (by(Who::Test), excused) {
            (false, false) => wrong.push(format!("{id}: no test cites it")),
            (true, true) => wrong.push(format!("{id}: a test cites it, so it is not one of WITHOUT")),
            _ => {}
        }
    }
    wrong
}

/// Shows where the rules, or the one of this name, are decided and held, or breaks their code. If all are asked for, fails if one is not.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    let only = options.only.as_deref();
    let (rules, mut wrong) = definitions(&read(&project.root.join(RULES))?);
    let wanted: Vec<_> =
        rules.iter().filter(|(id, _)| only.is_none_or(|only| id.to_string() == only)).collect();
    ensure!(!wanted.is_empty(), "{RULES} has no rule {}", only.unwrap_or_default());
    let cited = all_citations(&project.root)?;
    if let Some(count) = options.breaks {
        let rtl = |id: &&Id| cited.iter().any(|citation| citation.id == **id && citation.who == Who::Rtl);
        let of_hardware = wanted.iter().map(|(id, _)| *id).filter(rtl);
        let drawn = breaking::draw(of_hardware, count.into(), options.from);
        ensure!(!drawn.is_empty(), "nothing in hdl/src cites {}", only.unwrap_or("a rule"));
        return breaking::run(project, &drawn, &cited, options.from, options.each);
    }
    let mut text = String::new();
    for (id, line) in wanted {
        writeln!(text, "{id}  {RULES}:{line}")?;
        let kinds = [
            ("code", &[Who::Rtl, Who::Model, Who::Driver][..]),
            ("test", &[Who::Test]),
            ("else", &[Who::Other]),
        ];
        for (name, who) in kinds {
            let these = cited.iter().filter(|citation| citation.id == *id && who.contains(&citation.who));
            for Citation { file, line, .. } in these.filter(|citation| citation.file != RULES) {
                writeln!(text, "  {name}  {file}:{line}")?;
            }
        }
    }
    crate::doctor::show(&text)?;
    wrong.extend(findings(&rules, &cited, WITHOUT));
    ensure!(only.is_some() || wrong.is_empty(), "\n{}", wrong.join("\n"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<String> {
        identifiers(text).iter().map(Id::to_string).collect()
    }

    #[test]
    fn the_code_of_ten_rules_or_of_one_is_broken() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            options: Options,
        }
        let parse = |line: &str| <Line as clap::Parser>::try_parse_from(line.split(' ')).map(|it| it.options);
        let breaks = |line| parse(line).map(|it| (it.only, it.breaks, it.from, it.each)).ok();
        assert_eq!(breaks("rules --break --from 7"), Some((None, Some(10), 7, false)));
        assert_eq!(breaks("rules AB-1 --break --each"), Some((Some("AB-1".into()), Some(10), 1, true)));
        for wrong in ["rules --from 7", "rules --each", "rules --break 0", "rules --break AB-1"] {
            assert_eq!(breaks(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_code_and_the_tests_of_every_rule_cite_it() {
        let root = Project::find().unwrap().root;
        let (rules, wrong) = definitions(&read(&root.join(RULES)).unwrap());
        assert_eq!(wrong, Vec::<String>::new());
        assert!(rules.len() > 50, "{} rules", rules.len());
        let wrong = findings(&rules, &all_citations(&root).unwrap(), WITHOUT);
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    #[test]
    fn identifiers_are_whole_words_and_ranges_are_written_out() {
        assert_eq!(ids("AB-1: first, (AB-12) and XY-2."), ["AB-1", "AB-12", "XY-2"]);
        assert_eq!(ids("AB-2 to AB-4, then AB-9 to XY-1"), ["AB-2", "AB-3", "AB-4", "AB-9", "XY-1"]);
        assert_eq!(ids("AB-2 and up to AB-4"), ["AB-2", "AB-4"]);
        assert_eq!(ids("A-1 Ab-1 AB-x AB-01 AB-1-2 xAB-1 AB-1x AB- -1 AB_1 MSI-X"), Vec::<String>::new());
    }

    #[test]
    fn a_rule_is_an_item_in_the_section_of_its_prefix() {
        let (rules, wrong) =
            definitions("# T\n## One (AB)\n\n- **AB-1.** A.\n  AB-7\n- **AB-2.** B.\n## Two\n");
        let found: Vec<_> = rules.iter().map(|(id, line)| (id.to_string(), *line)).collect();
        assert_eq!(found, [("AB-1".to_owned(), 4), ("AB-2".to_owned(), 6)]);
        assert_eq!(wrong, Vec::<String>::new());
        for (text, error) in [
            ("## One (AB)\n- **AB-1.** A.\n- **AB-1.** B.", ":3: AB-1 is defined twice"),
            ("## One (AB)\n- **XY-1.** A.", ":2: XY-1 does not have its section's prefix"),
            ("## One\n- **AB-1.** A.", ":2: AB-1 does not have its section's prefix"),
            ("## One (AB)\n- **AB-2.** A.", ":2: AB-2 is number 1 of its section"),
            ("## One (AB)\n## Two (AB)", ":2: another section has this prefix: Two (AB)"),
        ] {
            assert_eq!(definitions(text).1, [format!("{RULES}{error}")]);
        }
    }

    #[test]
    fn comments_cite_and_who_cites_is_told_by_the_place() {
        let text = "//! AB-1\nlet x = \"AB-2\"; // AB-3\n// CRC-32\n#[cfg(test)]\nmod tests {\n    // AB-4\n";
        let found = citations("hdl/src/x.rs", text);
        let found: Vec<_> = found.iter().map(|it| (it.id.1, it.who, it.line)).collect();
        assert_eq!(found, [(1, Who::Rtl, 1), (3, Who::Rtl, 2), (4, Who::Test, 6)]);
        assert_eq!(citations("docs/x.md", "see AB-1")[0].who, Who::Other);
        for (file, who) in [
            ("sim/src/model/vi.rs", Who::Model),
            ("sim/src/model/tests/cq.rs", Who::Test),
            ("host-driver/src/agent/vis.rs", Who::Driver),
            ("host-driver/src/pci/tests.rs", Who::Test),
            ("tests/src/world.rs", Who::Test),
            ("walk/src/follow/steps.rs", Who::Other),
        ] {
            assert_eq!(Who::of(file, false), who, "{file}");
        }
    }

    #[test]
    fn a_rule_needs_its_code_and_a_test_and_a_citation_its_rule() {
        let rules = definitions("## One (AB)\n- **AB-1.** A.\n").0;
        let cited = |files: &[&str]| -> Vec<Citation> {
            files.iter().flat_map(|file| citations(file, "// AB-1")).collect()
        };
        let [rtl, model, test] = ["hdl/src/x.rs", "sim/src/model/x.rs", "tests/tests/x.rs"];
        let agent = "host-driver/src/x.rs";
        assert_eq!(findings(&rules, &cited(&[rtl, model, test]), &[]), Vec::<String>::new());
        assert_eq!(findings(&rules, &cited(&[agent, test]), &[]), Vec::<String>::new());
        assert_eq!(findings(&rules, &cited(&[rtl, test]), &[]).len(), 1, "not in the model");
        assert_eq!(findings(&rules, &cited(&[model, test]), &[]).len(), 1, "not in the RTL");
        assert_eq!(findings(&rules, &cited(&[rtl, model]), &[]), ["AB-1: no test cites it"]);
        assert_eq!(findings(&rules, &cited(&[rtl, model]), &[("AB-1", "why")]), Vec::<String>::new());
        assert_eq!(
            findings(&rules, &cited(&[rtl, model, test]), &[("AB-1", "why")]).len(),
            1,
            "held after all"
        );
        let mut strange = cited(&[rtl, model, test]);
        strange.extend(citations(rtl, "// AB-2\n// XY-1"));
        let expected =
            ["hdl/src/x.rs:1: AB-2 is no rule", "hdl/src/x.rs:2: XY-1 is no rule, and its prefix is none"];
        assert_eq!(findings(&rules, &strange, &[]), expected);
    }
}
