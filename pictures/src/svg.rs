//! A small writer of SVG: what both pictures need, in colours for a bright and for a dark page.

use std::fmt::Write;

/// Colours by class, bright and dark; the picture brings its own background, so that it can be read on any page.
const STYLE: &str = "\
text{font-family:'DejaVu Sans',Verdana,system-ui,sans-serif;font-size:9px;fill:#1f2328}
.paper{fill:#ffffff;stroke:#d0d7de}.dim{fill:#57606a}.head{font-size:11px;font-weight:bold}.title{font-size:15px;font-weight:bold}
.room{fill:#f6f8fa;stroke:#d8dee4}.block{fill:#ffffff;stroke:#57606a}.grid{stroke:#d8dee4;fill:none}
.wire{fill:none;stroke-width:1.3}
.c0{stroke:#57606a}.c1{stroke:#8250df}.c2{stroke:#0b7285}.c3{stroke:#1a7f37}.c4{stroke:#bf3989}.c5{stroke:#9a6700}.c6{stroke:#7f4f24}.c7{stroke:#cf222e}.c8{stroke:#0969da}.c9{stroke:#5c7f0a}.c10{stroke:#d9540b}.c11{stroke:#1f2328}
.f0{fill:#57606a}.f1{fill:#8250df}.f2{fill:#0b7285}.f3{fill:#1a7f37}.f4{fill:#bf3989}.f5{fill:#9a6700}.f6{fill:#7f4f24}.f7{fill:#cf222e}.f8{fill:#0969da}.f9{fill:#5c7f0a}.f10{fill:#d9540b}.f11{fill:#1f2328}
.logic{fill:#0969da}.physics{fill:#afb8c1}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.paper{fill:#0d1117;stroke:#30363d}.dim{fill:#9198a1}
.room{fill:#151b23;stroke:#30363d}.block{fill:#0d1117;stroke:#9198a1}.grid{stroke:#30363d}
.c0{stroke:#9198a1}.c1{stroke:#bc8cff}.c2{stroke:#39c5cf}.c3{stroke:#3fb950}.c4{stroke:#f778ba}.c5{stroke:#d29922}.c6{stroke:#c69c6d}.c7{stroke:#ff7b72}.c8{stroke:#58a6ff}.c9{stroke:#a5c93a}.c10{stroke:#ff9248}.c11{stroke:#e6edf3}
.f0{fill:#9198a1}.f1{fill:#bc8cff}.f2{fill:#39c5cf}.f3{fill:#3fb950}.f4{fill:#f778ba}.f5{fill:#d29922}.f6{fill:#c69c6d}.f7{fill:#ff7b72}.f8{fill:#58a6ff}.f9{fill:#a5c93a}.f10{fill:#ff9248}.f11{fill:#e6edf3}
.logic{fill:#58a6ff}.physics{fill:#57606a}
}";

/// How many colours `c0`, `c1`, ... there are.
pub const COLOURS: usize = 12;

/// Where a text stands relative to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It is centred.
    Middle,
    /// It ends there.
    End,
}

/// A picture in the making. Places are in pixels, with the origin at the top left.
#[derive(Debug, Default)]
pub struct Svg {
    body: String,
}

impl Svg {
    /// A rectangle with round corners.
    pub fn rectangle(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        self.line(&format!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" rx="3"/>"#
        ));
    }

    /// A path, in SVG's own language.
    pub fn path(&mut self, class: &str, path: &str) {
        self.line(&format!(r#"<path class="{class}" d="{path}"/>"#));
    }

    /// A disc.
    pub fn dot(&mut self, class: &str, x: f64, y: f64) {
        self.line(&format!(r#"<circle class="{class}" cx="{}" cy="{}" r="2.2"/>"#, short(x), short(y)));
    }

    /// A line of text whose base is at `y`.
    pub fn text(&mut self, class: &str, anchor: Anchor, x: f64, y: f64, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, text) = (short(x), short(y), escape(text));
        self.line(&format!(r#"<text class="{class}" text-anchor="{anchor}" x="{x}" y="{y}">{text}</text>"#));
    }

    /// The whole file; `title` is what a reader hears who does not see it.
    pub fn finish(self, title: &str, width: f64, height: f64) -> String {
        let (title, body, inner) = (escape(title), self.body, [short(width - 1.0), short(height - 1.0)]);
        let (width, height) = (short(width), short(height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>{title}</title>\n<style>\n{STYLE}\n</style>\n\
             <rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n{body}</svg>\n",
            inner[0], inner[1]
        )
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.body, "{line}");
    }
}

/// A number with one decimal at most.
pub fn short(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let mut svg = Svg::default();
        svg.text("dim", Anchor::End, 1.0, 2.25, "Bits<8> & more");
        let file = svg.finish("a < b", 10.0, 20.0);
        assert!(file.contains(r#"x="1" y="2.2">Bits&lt;8&gt; &amp; more</text>"#), "{file}");
        assert!(file.contains("<title>a &lt; b</title>"));
    }
}
