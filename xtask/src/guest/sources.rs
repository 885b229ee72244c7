//! Where this machine's own packages come from: what /etc/apt says, in both of its formats.

/// One archive of the machine, as far as it matters here.
#[derive(Debug, PartialEq)]
pub struct Entry {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
}

impl Entry {
    /// Whether it holds the packages of this release of Debian.
    fn is_main(&self, codename: &str) -> bool {
        let names = [codename, "stable", "oldstable", "testing", "unstable", "sid"];
        self.suites.iter().any(|suite| names.contains(&suite.as_str()))
            && self.components.iter().any(|component| component == "main")
    }
}

/// The URI of the archive that has this release's `main`: it has the other releases, too.
pub fn archive<'a>(entries: &'a [Entry], codename: &str) -> Option<&'a str> {
    let main = entries.iter().filter(|entry| entry.is_main(codename));
    // Not a disc or a folder: those hold no more than their own release.
    let usable = |uri: &&String| !uri.starts_with("cdrom:") && !uri.starts_with("file:");
    main.flat_map(|entry| &entry.uris).find(usable).map(String::as_str)
}

/// Reads `*.list`: a line `deb [options] URI suite components`.
pub fn one_line(text: &str) -> Vec<Entry> {
    let line = |line: &str| {
        let line = line.split('#').next()?.trim().strip_prefix("deb")?;
        let line = line.strip_prefix(char::is_whitespace)?.trim_start();
        let line = match line.strip_prefix('[') {
            Some(options) => options.split_once(']')?.1,
            None => line,
        };
        let mut words = line.split_whitespace().map(String::from);
        Some(Entry {
            uris: vec![words.next()?],
            suites: vec![words.next()?.trim_end_matches('/').to_string()],
            components: words.collect(),
        })
    };
    text.lines().filter_map(line).collect()
}

/// Reads `*.sources`: paragraphs of fields, where an indented line goes on with the field above it.
pub fn deb822(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')).chain([""]) {
        if line.trim().is_empty() {
            entries.extend(paragraph(&fields));
            fields.clear();
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_lowercase(), value.trim().to_string()));
        }
    }
    entries
}

fn paragraph(fields: &[(String, String)]) -> Option<Entry> {
    let words = |name: &str| {
        let value = fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
        value.unwrap_or("").split_whitespace().map(String::from).collect::<Vec<_>>()
    };
    let off =
        words("enabled").iter().any(|word| ["no", "false", "0", "off"].contains(&&*word.to_lowercase()));
    let packages = words("types").iter().any(|word| word == "deb");
    (packages && !off).then(|| Entry {
        uris: words("uris"),
        suites: words("suites"),
        components: words("components"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# deb http://commented.invalid/debian bookworm main\n\
        deb-src http://sources.invalid/debian bookworm main\n\
        deb cdrom:[Debian 12]/ bookworm main\n\
        deb [arch=amd64] http://vendor.invalid/apt nodistro main\n\
        deb http://security.invalid/debian-security bookworm-security main\n\
        deb [ arch=amd64 signed-by=/k.gpg ]\thttp://a.invalid/debian  bookworm main contrib # ours\n";

    #[test]
    fn reads_lines() {
        let entries = one_line(LIST);
        assert_eq!(archive(&entries, "bookworm"), Some("http://a.invalid/debian"));
        assert_eq!(archive(&entries, "trixie"), None);
        let contrib = one_line("deb http://a.invalid/debian bookworm contrib");
        assert_eq!(archive(&contrib, "bookworm"), None, "without main it is another archive");
        assert!(one_line("debian\ndeb\ndeb [\ndeb [x] \n\n").is_empty());
    }

    const SOURCES: &str = "# ours\nTypes: deb deb-src\n# URIs: http://old.invalid/debian\n\
        URIs: http://a.invalid/debian\n http://b.invalid/debian\nSuites: bookworm\n\tbookworm-updates\n\
        Components: main\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n\n\n\
        Types: deb\nEnabled: No\nURIs: http://off.invalid/debian\nSuites: trixie\nComponents: main\n\n\
        types: deb-src\nURIs: http://src.invalid/debian\nSuites: forky\nComponents: main";

    #[test]
    fn reads_paragraphs() {
        let entries = deb822(SOURCES);
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!(entries[0].suites, ["bookworm", "bookworm-updates"]);
        assert_eq!(archive(&entries, "bookworm"), Some("http://a.invalid/debian"));
        assert_eq!(archive(&entries, "trixie"), None, "switched off");
        assert_eq!(archive(&entries, "forky"), None, "sources only");
        assert!(deb822("").is_empty() && deb822(" stray\n:\n").is_empty());
    }

    #[test]
    fn a_machine_may_follow_stable() {
        let entries = one_line("deb mirror+file:/etc/apt/mirrors stable main");
        assert_eq!(archive(&entries, "bookworm"), Some("mirror+file:/etc/apt/mirrors"));
    }
}
