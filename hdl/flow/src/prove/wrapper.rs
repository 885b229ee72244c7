//! What the runner needs to know of a wrapper's text.

/// See the module's description.
#[derive(Debug, Default)]
pub struct Wrapper {
    /// Number of assertions.
    pub labels: usize,
    /// Labels of those a user sees.
    pub visible: Vec<String>,
    /// Wires of the wrapper and the nets of the flattened block they show.
    pub watched: Vec<(String, String)>,
    /// The same, of blocks that the wrapper has itself, and its properties name.
    pub shared: Vec<(String, String)>,
    /// Blocks for which the wrapper has others, of which less is known.
    pub abstracted: Vec<String>,
}

impl Wrapper {
    /// Reads the text.
    pub fn parse(text: &str) -> Self {
        let mut wrapper = Self::default();
        let mut inside = false;
        for line in text.lines() {
            inside |= line.contains("// What makes it so");
            wrapper.watched.extend(connection(line, "// watch: "));
            wrapper.shared.extend(connection(line, "// share: "));
            wrapper.abstracted.extend(line.strip_prefix("// abstract: ").map(str::to_owned));
            if let Some((before, _)) = line.split_once(": assert(") {
                wrapper.labels += 1;
                let label = before.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
                if !inside {
                    wrapper.visible.push(label.into());
                }
            }
        }
        wrapper
    }
}

/// The wire and the net of a line `wire = net` behind this prefix.
fn connection(line: &str, prefix: &str) -> Option<(String, String)> {
    let (wire, net) = line.strip_prefix(prefix)?.split_once(" = ")?;
    Some((wire.into(), net.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_labels_and_watches() {
        let text = "// watch: head = dut.head.q\n  if (x) order: assert(a);\n  // What makes it so\n  in: assert(b);";
        let wrapper = Wrapper::parse(text);
        assert_eq!(wrapper.labels, 2);
        assert_eq!(wrapper.visible, ["order"]);
        assert_eq!(wrapper.watched, [("head".to_owned(), "dut.head.q".to_owned())]);
    }
}
