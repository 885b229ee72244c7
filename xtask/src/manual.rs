//! The manual pages of VIPL's functions (section 3), made of the comments in vipl.h and vipl_ext.h: one page a function.
//!
//! A comment in front of a function begins with a sentence that says what the function does. More of it may follow. The line `Returns:`
//! begins the list of what it returns: a value, a colon, and what that says. What every function returns stands once, in the comment at
//! the top of vipl.h, below a line that ends with `also returns:`.

use crate::install::HEADERS;
use crate::project::{read, Project};
use anyhow::{ensure, Context, Result};
use roff::{bold, roman, Roff};
use std::collections::BTreeMap;

/// The folder of the headers, in the clone.
const FOLDER: &str = "vipl/include";
/// What begins the list of what a function returns.
const RETURNS: &str = "Returns:";
/// What ends the line above the list of what every function returns.
const ALSO: &str = "also returns:";

/// The date of a page: none, so that a page changes with its text alone. The crate writes an empty argument as nothing, and the next one would
/// stand in its place.
const NO_DATE: &str = "\"\"";

/// A returned value, and what it says.
type Returned = (String, String);

/// A function, as the header documents it.
#[derive(Debug)]
struct Function {
    name: String,
    /// The header that declares it.
    header: &'static str,
    /// Its declaration, as it stands there.
    declaration: String,
    /// The part of the header that it stands in.
    part: String,
    /// What it does.
    text: String,
    returns: Vec<Returned>,
}

/// The pages: the name of the file, and its text.
///
/// # Errors
/// A function that the header does not document in this form.
pub fn pages(project: &Project, version: &str) -> Result<BTreeMap<String, String>> {
    let mut functions = Vec::new();
    for name in HEADERS {
        functions.extend(declared_in(name, &header(project, name)?).context(name)?);
    }
    let always = always(&header(project, HEADERS[0])?).context(HEADERS[0])?;
    let page = |function: &Function| {
        let same = |other: &&Function| other.part == function.part && other.name != function.name;
        let beside = functions.iter().filter(same).map(|other| other.name.as_str()).collect();
        (format!("{}.3", function.name), page(function, &always, beside, version))
    };
    Ok(functions.iter().map(page).collect())
}

/// The text of a header.
fn header(project: &Project, name: &str) -> Result<String> {
    read(&project.root.join(FOLDER).join(name))
}

/// All functions that a header of this name declares.
fn declared_in(name: &'static str, text: &str) -> Result<Vec<Function>> {
    let header = name;
    let (mut part, mut comment, mut found) = ("", String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("/* ---- ") {
            part = title.trim_end_matches(['-', '*', '/', ' ']);
        } else if line.starts_with("/*") {
            comment = line.to_owned();
            while !comment.ends_with("*/") {
                comment = format!("{comment}\n{}", lines.next().context("a comment without an end")?);
            }
        } else if let Some(name) = declared(line) {
            let mut declaration = line.to_owned();
            while !declaration.ends_with(");") {
                let next = lines.next().with_context(|| format!("{name} has no end"))?;
                declaration = format!("{declaration}\n{next}");
            }
            let (text, returns) =
                parse(&comment, RETURNS).with_context(|| format!("the comment of {name}"))?;
            ensure!(text.contains('.'), "the comment of {name} has no sentence that says what it does");
            let (name, part) = (name.into(), part.into());
            found.push(Function { name, header, declaration, part, text, returns });
            comment.clear();
        } else {
            // What stands in front of something else is no function's.
            comment.clear();
        }
    }
    Ok(found)
}

/// The function that is declared in this line.
fn declared(line: &str) -> Option<&str> {
    let name = line.split_once('(')?.0.rsplit(' ').next()?;
    (name.starts_with("Vip") && !line.starts_with([' ', '#', 't'])).then_some(name)
}

/// What every function returns.
fn always(header: &str) -> Result<Vec<Returned>> {
    let top = header.split("*/").next().unwrap_or_default();
    Ok(parse(top, ALSO)?.1)
}

/// The text of a comment in front of the line that ends with `mark`, and the list behind it.
fn parse(comment: &str, mark: &str) -> Result<(String, Vec<Returned>)> {
    let bare =
        |line: &'_ str| line.trim_end_matches("*/").trim_start_matches(['/', ' ', '*']).trim().to_owned();
    let mut lines = comment.lines();
    let text: Vec<String> = lines.by_ref().map(bare).take_while(|line| !line.ends_with(mark)).collect();
    let mut returns: Vec<Returned> = Vec::new();
    for line in lines {
        let indent = line.trim_start_matches([' ', '*']).len();
        let indent = line.len() - indent;
        let line = bare(line);
        match (line.split_once(':'), returns.last_mut()) {
            _ if line.is_empty() => break,
            // A line that goes on with the one before stands further in.
            (_, Some((_, meaning))) if indent > 5 => *meaning = format!("{meaning} {line}"),
            (Some((value, meaning)), _) => returns.push((value.trim().into(), meaning.trim().into())),
            (None, _) => returns.push((line, String::new())),
        }
    }
    ensure!(!returns.is_empty(), "a line {mark:?} with a list behind it is missing");
    Ok((text.join(" ").trim().into(), returns))
}

/// The first sentence, as whatis(1) shows it.
fn summary(text: &str) -> String {
    let sentence = text.split(". ").next().unwrap_or(text).trim_end_matches('.');
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn list(roff: &mut Roff, returns: &[Returned]) {
    for (value, meaning) in returns {
        roff.control("TP", []);
        roff.text([bold(value.as_str())]);
        roff.text([roman(meaning.as_str())]);
    }
}

/// One page.
fn page(function: &Function, always: &[Returned], beside: Vec<&str>, version: &str) -> String {
    let Function { name, header, declaration, text, returns, .. } = function;
    let mut roff = Roff::new();
    roff.control("TH", [name.as_str(), "3", NO_DATE, &format!("Viaduct {version}"), "VIPL"]);
    roff.control("SH", ["NAME"]).text([roman(format!("{name} - {}", summary(text)))]);
    roff.control("SH", ["SYNOPSIS"]).control("nf", []);
    roff.text([bold(format!("#include <{header}>"))]);
    roff.control("sp", []);
    for line in declaration.lines() {
        roff.text([bold(line)]);
    }
    roff.control("fi", []).control("PP", []).text([roman("Link with "), bold("-lvipl"), roman(".")]);
    roff.control("SH", ["DESCRIPTION"]).text([roman(text.as_str())]);
    roff.control("SH", ["RETURN VALUE"]);
    list(&mut roff, returns);
    if declaration.starts_with("VIP_RETURN") {
        roff.control("PP", []).text([roman("As every function of VIPL it also returns")]);
        list(&mut roff, always);
    }
    roff.control("SH", ["SEE ALSO"]);
    let others = beside.iter().flat_map(|other| [bold(*other), roman("(3), ")]);
    roff.text(others.chain([bold("vipl"), roman("(7)")]).collect::<Vec<_>>());
    roff.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn vipl() -> String {
        header(&Project::find().unwrap(), "vipl.h").unwrap()
    }

    fn symbols() -> BTreeSet<String> {
        let list = read(&Project::find().unwrap().root.join("vipl/c/symbols.txt")).unwrap();
        list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn each_function_of_the_library_has_a_page_that_says_what_it_returns() {
        let vipl = vipl();
        // The words of the enumeration, without those that are macros of the same name.
        let codes: BTreeSet<&str> = vipl
            .split_once("typedef enum {")
            .and_then(|(_, rest)| rest.split_once("} VIP_RETURN;"))
            .map(|(body, _)| {
                body.lines().filter_map(|line| line.trim().split_once(" =")).map(|(name, _)| name)
            })
            .unwrap()
            .collect();
        assert!(codes.contains("VIP_SUCCESS") && codes.len() > 15, "{codes:?}");
        let extensions = header(&Project::find().unwrap(), "vipl_ext.h").unwrap();
        let mut functions = declared_in("vipl.h", &vipl).unwrap();
        functions.extend(declared_in("vipl_ext.h", &extensions).unwrap());
        let names: BTreeSet<String> = functions.iter().map(|function| function.name.clone()).collect();
        assert_eq!(names, symbols());
        for function in &functions {
            let returned: Vec<&str> = function.returns.iter().map(|(value, _)| value.as_str()).collect();
            if function.declaration.starts_with("VIP_RETURN") {
                for value in &returned {
                    assert!(codes.contains(value), "{}: {value} is no VIP_RETURN", function.name);
                }
                let only_refuses = function.text.starts_with("Would ");
                assert_ne!(only_refuses, returned.contains(&"VIP_SUCCESS"), "{}", function.name);
            }
            assert_eq!(function.header == "vipl_ext.h", function.name.starts_with("VipExt"));
            let distinct: BTreeSet<&&str> = returned.iter().collect();
            assert_eq!(distinct.len(), returned.len(), "{}: a value stands there twice", function.name);
            assert!(function.returns.iter().all(|(value, what)| !what.is_empty() || value == "nothing"));
        }
        let pages = pages(&Project::find().unwrap(), "1.2.3").unwrap();
        assert_eq!(
            pages.keys().cloned().collect::<Vec<_>>(),
            names.iter().map(|name| format!("{name}.3")).collect::<Vec<_>>()
        );
        let page = &pages["VipSendDone.3"];
        for part in [
            ".TH VipSendDone 3 \"\" \"Viaduct 1.2.3\" VIPL",
            "\\fB#include <vipl.h>\\fR",
            "VipSendDone \\- takes the oldest descriptor off the send queue of a VI, if it is complete\n",
            "\\fBVIP_NOT_DONE\\fR\nthe oldest one is not complete",
            "As every function of VIPL it also returns\n.TP\n\\fBVIP_INVALID_PARAMETER\\fR",
            "\\fBVipRecvDone\\fR(3)",
        ] {
            assert!(page.contains(part), "{part:?} is not in\n{page}");
        }
        let page = &pages["VipExtPostSendMany.3"];
        assert!(
            page.contains("\\fB#include <vipl_ext.h>\\fR") && page.contains("VipExtPostRecvMany"),
            "{page}"
        );
    }

    #[test]
    fn the_page_of_the_library_names_each_function() {
        let page = read(&Project::find().unwrap().root.join("vipl/man/vipl.7")).unwrap();
        let named: BTreeSet<String> = page
            .replace("\\fB", " ")
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|word| word.starts_with("Vip") && word.len() > 3)
            .map(str::to_owned)
            .collect();
        assert_eq!(named, symbols());
    }

    #[test]
    fn a_function_without_what_it_returns_is_an_error_that_names_it() {
        let refused = |header: &str| format!("{:#}", declared_in("vipl.h", header).unwrap_err());
        let bare = refused("/* Does it. */\nVIP_RETURN VipDo(void);\n");
        assert!(bare.contains("VipDo") && bare.contains("Returns:"), "{bare}");
        // A comment that stands in front of something else is not its.
        let other = refused(
            "/* Is it.\n * Returns:\n *   VIP_SUCCESS: yes\n */\ntypedef int it;\nVIP_RETURN VipDo(void);\n",
        );
        assert!(other.contains("VipDo"), "{other}");
        let silent = refused("/* Returns:\n *   VIP_SUCCESS: yes\n */\nVIP_RETURN VipDo(void);\n");
        assert!(silent.contains("no sentence"), "{silent}");
        let open = refused("/* Does it.\n");
        assert!(open.contains("without an end"), "{open}");
    }

    #[test]
    fn a_comment_gives_text_and_list() {
        let comment = "/* Does it. And\n * more.\n * Returns:\n *   VIP_SUCCESS: all of\n *       it\n *   VIP_TIMEOUT: none\n */";
        let (text, returns) = parse(comment, RETURNS).unwrap();
        assert_eq!(text, "Does it. And more.");
        assert_eq!(summary(&text), "does it");
        let expected = [("VIP_SUCCESS", "all of it"), ("VIP_TIMEOUT", "none")];
        assert_eq!(returns, expected.map(|(value, what)| (value.to_owned(), what.to_owned())));
        assert_eq!(always(&vipl()).unwrap().len(), 2);
    }
}
