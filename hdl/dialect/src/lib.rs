//! Statements for many wires at once, for blocks that consist of other blocks and the wires between them.
//!
//! RustHDL's `hdl_gen` takes two macros, `dff_setup!` and `clock!`. The attribute [`macro@wires`] stands above it and adds three, which it
//! writes out before `hdl_gen` looks at the body:
//!
//! ```text
//! drive!(self, a.x => b.x, c.x; d.y | e.y => f.y)      b and c see a's x; f sees whether d's y or e's is high
//! join!(self, Source<Word>, a.out => b.from; c.out => d.from)          streams of one type, each from one end to the other
//! fill!(self, a.events, b.count => sent; c.count | d.count => lost)    fields of one bundle
//! ```
//!
//! Each is a list of groups between semicolons: a source, `=>`, and where it goes, which may be several places. A source is a signal, or
//! several with `|` between them. All paths begin at `self`. A field of a bundle is a source, too, `b.seen.val().high`, and
//! so are `true` and `false`.
//!
//! They are for wires, which decide nothing. Logic that decides a rule of docs/semantics.md is a statement of its own, so that a
//! comment can name the rule there, and `cargo xtask rules --break` can break it.
//!
//! Tests: `tests/wires.rs`.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

type Tokens = Vec<TokenTree>;

/// Writes `drive!`, `join!` and `fill!` out; it stands above `#[hdl_gen]`. See the crate's description.
#[proc_macro_attribute]
pub fn wires(_attribute: TokenStream, item: TokenStream) -> TokenStream {
    written_out(item)
}

/// The same tokens, with our macros written out, also those within braces.
fn written_out(tokens: TokenStream) -> TokenStream {
    let tokens: Tokens = tokens.into_iter().collect();
    let mut out = Tokens::new();
    let mut rest = &tokens[..];
    while let [first, behind @ ..] = rest {
        if let [TokenTree::Ident(name), TokenTree::Punct(mark), TokenTree::Group(arguments), ..] = rest {
            let name = name.to_string();
            if mark.as_char() == '!' && ["drive", "join", "fill"].contains(&name.as_str()) {
                let statements = statements(&name, arguments.stream().into_iter().collect());
                out.extend(statements.unwrap_or_else(|message| refusal(message, first)));
                rest = &rest[3..];
                // The semicolon behind the macro.
                if rest.first().is_some_and(|token| is(token, ';')) {
                    rest = &rest[1..];
                }
                continue;
            }
        }
        out.push(match first {
            TokenTree::Group(group) => {
                let mut within = Group::new(group.delimiter(), written_out(group.stream()));
                within.set_span(group.span());
                within.into()
            }
            other => other.clone(),
        });
        rest = behind;
    }
    out.into_iter().collect()
}

/// What a macro of this name says with these arguments.
fn statements(name: &str, arguments: Tokens) -> Result<Tokens, &'static str> {
    let [me, comma, rest @ ..] = &arguments[..] else { return Err("expected `self, ...`") };
    if !is(comma, ',') {
        return Err("expected a comma behind `self`");
    }
    let (head, groups) = if name == "drive" { (&[][..], rest) } else { head(rest)? };
    let mut out = Tokens::new();
    for group in split(groups, ';').filter(|group| !group.is_empty()) {
        let arrow = group.windows(2).position(|two| is(&two[0], '=') && is(&two[1], '>'));
        let arrow = arrow.ok_or("expected `source => target`")?;
        let (source, targets) = (&group[..arrow], &group[arrow + 2..]);
        for target in split(targets, ',') {
            if source.is_empty() || target.is_empty() {
                return Err("expected `source => target`");
            }
            match name {
                "drive" => out.extend([own(me, target), code(".next =")].concat()),
                "fill" => out.extend([own(me, head), code(".next ."), target.to_vec(), code("=")].concat()),
                _ => {
                    let ends = [code("&mut"), own(me, source), code(", &mut"), own(me, target)].concat();
                    out.extend([associated(head), code("join")].concat());
                    out.push(Group::new(Delimiter::Parenthesis, ends.into_iter().collect()).into());
                    out.extend(code(";"));
                    continue;
                }
            }
            for (number, signal) in split(source, '|').enumerate() {
                out.extend(code(if number > 0 { "|" } else { "" }));
                out.extend(value(me, signal));
            }
            out.extend(code(";"));
        }
    }
    Ok(out)
}

/// The type or bundle that the groups have in common, and the groups.
fn head(tokens: &[TokenTree]) -> Result<(&[TokenTree], &[TokenTree]), &'static str> {
    let mut depth = 0;
    for (number, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '<' => depth += 1,
            TokenTree::Punct(mark) if mark.as_char() == '>' => depth -= 1,
            TokenTree::Punct(mark) if mark.as_char() == ',' && depth == 0 => {
                return Ok((&tokens[..number], &tokens[number + 1..]));
            }
            _ => {}
        }
    }
    Err("expected a type (join!) or a bundle (fill!), and a comma")
}

/// `Source<T>` as `Source::<T>::`, which is how `hdl_gen` wants it.
fn associated(kind: &[TokenTree]) -> Tokens {
    let open = kind.iter().position(|token| is(token, '<')).unwrap_or(kind.len());
    let turbofish = if open < kind.len() { code("::") } else { Tokens::new() };
    [kind[..open].to_vec(), turbofish, kind[open..].to_vec(), code("::")].concat()
}

/// A path that begins at `self`.
fn own(me: &TokenTree, path: &[TokenTree]) -> Tokens {
    [vec![me.clone()], code("."), path.to_vec()].concat()
}

/// The value of a signal, of a field of a bundle, which says `.val()` itself, `true` or `false`.
fn value(me: &TokenTree, signal: &[TokenTree]) -> Tokens {
    let has = |word: &str| signal.iter().any(|token| token.to_string() == word);
    if has("true") || has("false") {
        return signal.to_vec();
    }
    [own(me, signal), code(if has("val") { "" } else { ".val()" })].concat()
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn split(tokens: &[TokenTree], mark: char) -> impl Iterator<Item = &[TokenTree]> {
    tokens.split(move |token| is(token, mark))
}

fn code(text: &str) -> Tokens {
    text.parse::<TokenStream>().expect("it is Rust").into_iter().collect()
}

/// An error of the compiler at a token.
fn refusal(message: &str, at: &TokenTree) -> Tokens {
    let mut tokens = code(&format!("compile_error!({message:?});"));
    tokens.iter_mut().for_each(|token| token.set_span(at.span()));
    tokens
}
