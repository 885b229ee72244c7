//! Loops that are unrolled: the values of their variables, and the names that depend on them.

/// The variables of the loops around a statement, the innermost last.
#[derive(Debug, Default)]
pub struct Loops(Vec<(String, usize)>);

impl Loops {
    /// A round of a loop begins.
    pub fn enter(&mut self, variable: &str, value: usize) {
        self.0.push((variable.to_owned(), value));
    }

    /// It ends.
    pub fn leave(&mut self) {
        self.0.pop();
    }

    /// The value of a variable, if it is one.
    pub fn value(&self, name: &str) -> Option<usize> {
        self.0.iter().rev().find(|(variable, _)| variable == name).map(|(_, value)| *value)
    }

    /// The name as the tree has it: `a.b[i + 1].next` is `a$b$2`.
    pub fn name(&self, raw: &str) -> String {
        let plain = raw.replace("::", "$").replace('.', "$");
        let plain = plain.trim_start_matches('$');
        let plain = plain.strip_suffix("$next").unwrap_or(plain);
        let mut name = String::new();
        let mut rest = plain;
        while let Some((before, behind)) = rest.split_once('[') {
            let (index, after) = behind.split_once(']').expect("an index is closed");
            name += before;
            name += &format!("${}", self.index(index));
            rest = after;
        }
        name + rest
    }

    /// The value of an index: numbers and loop variables, added and subtracted.
    fn index(&self, text: &str) -> i64 {
        let expression = syn::parse_str(text).unwrap_or_else(|_| panic!("the index `{text}`"));
        self.index_value(&expression)
    }

    fn index_value(&self, expression: &syn::Expr) -> i64 {
        match expression {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => {
                number.base10_parse().expect("an index fits 64 bits")
            }
            syn::Expr::Path(path) => {
                let name = path.path.get_ident().expect("a loop variable").to_string();
                self.value(&name).unwrap_or_else(|| panic!("the index `{name}` is no loop variable")) as i64
            }
            syn::Expr::Paren(inner) => self.index_value(&inner.expr),
            syn::Expr::Binary(binary) => {
                let (left, right) = (self.index_value(&binary.left), self.index_value(&binary.right));
                match binary.op {
                    syn::BinOp::Add(_) => left + right,
                    syn::BinOp::Sub(_) => left - right,
                    syn::BinOp::Mul(_) => left * right,
                    _ => panic!("an index with another operator than + - *"),
                }
            }
            _ => panic!("an index that is no number"),
        }
    }
}
