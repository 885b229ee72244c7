//! The changes that cited code can be broken by.

use super::change::{Change, How};
use super::known::{compared, target, Known};
use super::place::{expression, range, Cited, Code, Source};
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprAssign, Lit};

/// Finds the changes in a file.
struct Chooser<'a> {
    text: &'a str,
    known: Known,
    found: Vec<Change>,
}

/// What can be done to code that a comment cites; the nearest first.
pub fn changes(source: &Source, cited: &[Cited]) -> Vec<Change> {
    let mut chooser = Chooser { text: source.text, known: Known::of(source), found: Vec::new() };
    for (code, distance) in cited {
        match code {
            Code::Statement(statement) => chooser.statement(statement, *distance),
            Code::Then(item) => {
                chooser.add(range(&*item.cond), chooser.never(&item.cond), How::Never, (*distance, 0))
            }
            Code::Otherwise(item) => {
                chooser.add(range(&*item.cond), chooser.always(&item.cond), How::Always, (*distance, 0));
            }
            Code::Arm(arm) => chooser.arm(&arm.body, *distance),
        }
    }
    let mut found = chooser.found;
    found.sort_by_key(|change| change.rank);
    found
}

impl Chooser<'_> {
    fn words(&self, of: &impl Spanned) -> &str {
        &self.text[range(of)]
    }

    fn add(&mut self, range: Range<usize>, with: String, how: How, rank: (usize, u8)) {
        self.found.push(Change { range, with, how, rank });
    }

    fn never(&self, condition: &Expr) -> String {
        format!("({}) & false", self.words(condition))
    }

    fn always(&self, condition: &Expr) -> String {
        format!("({}) | true", self.words(condition))
    }

    fn block(&mut self, block: &Block, distance: usize) {
        block.stmts.iter().filter_map(expression).for_each(|inner| self.statement(inner, distance));
    }

    fn statement(&mut self, statement: &Expr, distance: usize) {
        match statement {
            Expr::Assign(item) => self.assignment(item, distance),
            Expr::If(item) => {
                let place = range(&*item.cond);
                self.add(place.clone(), self.never(&item.cond), How::Never, (distance, 0));
                self.add(place, self.always(&item.cond), How::Always, (distance, 2));
                self.terms(&item.cond, distance);
                self.values(&item.cond, distance);
                self.block(&item.then_branch, distance + 1);
                if let Some((_, branch)) = &item.else_branch {
                    self.statement(branch, distance + 1);
                }
            }
            Expr::Match(item) => item.arms.iter().for_each(|arm| self.statement(&arm.body, distance + 1)),
            Expr::ForLoop(item) => self.block(&item.body, distance),
            Expr::Block(item) => self.block(&item.block, distance),
            _ => {}
        }
    }

    /// An arm of a `match` does nothing. What it does is cited for itself if the comment heads it.
    fn arm(&mut self, body: &Expr, distance: usize) {
        if let Expr::Block(body) = body {
            if distance == 0 {
                self.block(&body.block, distance);
            }
            let mut inner = Inner::default();
            inner.visit_block(&body.block);
            if !inner.0.is_empty() && inner.0.iter().all(|item| self.known.has_default(item)) {
                self.add(range(&body.block), "{}".into(), How::LeftOut, (distance, 0));
            }
        }
    }

    fn assignment(&mut self, item: &ExprAssign, distance: usize) {
        if self.known.has_default(item) {
            self.add(self.with_semicolon(range(item)), String::new(), How::LeftOut, (distance, 0));
        }
        let right = &*item.right;
        let target = target(&item.left);
        let is_truth =
            self.known.is_bool(right) || target.first().is_some_and(|name| self.known.is_bool_field(name));
        // Of a literal the other one is the opposite.
        if is_truth && !matches!(right, Expr::Lit(_)) {
            self.add(range(right), format!("!({})", self.words(right)), How::Opposite, (distance, 1));
            self.terms(right, distance);
        }
        self.values(right, distance);
    }

    /// A statement, whole.
    fn with_semicolon(&self, place: Range<usize>) -> Range<usize> {
        let rest = &self.text[place.end..];
        let blank = rest.len() - rest.trim_start().len();
        place.start..place.end + if rest.trim_start().starts_with(';') { blank + 1 } else { 0 }
    }

    /// Parts of a condition that do not count any more, and comparisons that are another.
    fn terms(&mut self, condition: &Expr, distance: usize) {
        match condition {
            Expr::Paren(item) => self.terms(&item.expr, distance),
            Expr::Unary(item) => self.terms(&item.expr, distance),
            Expr::Binary(item) => {
                if let Some(other) = compared(&item.op) {
                    self.add(range(&item.op), other.into(), How::Instead, (distance, 2));
                    return;
                }
                let neutral = match item.op {
                    BinOp::BitAnd(_) => "true",
                    BinOp::BitOr(_) => "false",
                    _ => return,
                };
                for part in [&item.left, &item.right] {
                    let chain = matches!(&**part, Expr::Binary(inner) if inner.op == item.op);
                    if !chain {
                        self.add(range(&**part), neutral.into(), How::Instead, (distance, 2));
                    }
                    self.terms(part, distance);
                }
            }
            _ => {}
        }
    }

    /// Other constants and sums.
    fn values(&mut self, item: &Expr, distance: usize) {
        let mut values = Values::default();
        values.visit_expr(item);
        for (place, with) in values.others {
            self.add(place, with, How::Instead, (distance, 1));
        }
        for (place, name) in values.fields {
            let others = self.known.others(&name).into_iter().map(|other| format!("self.{other}.val()"));
            for other in others.collect::<Vec<_>>() {
                self.add(place.clone(), other, How::Instead, (distance, 1));
            }
        }
    }
}

/// All assignments inside.
#[derive(Default)]
struct Inner<'a>(Vec<&'a ExprAssign>);

impl<'a> Visit<'a> for Inner<'a> {
    fn visit_expr_assign(&mut self, item: &'a ExprAssign) {
        self.0.push(item);
    }
}

/// Literals, sums and differences, each with another, and the fields whose value is taken.
#[derive(Default)]
struct Values {
    others: Vec<(Range<usize>, String)>,
    fields: Vec<(Range<usize>, String)>,
}

impl Visit<'_> for Values {
    fn visit_expr_binary(&mut self, item: &syn::ExprBinary) {
        let other = match item.op {
            BinOp::Add(_) => "-",
            BinOp::Sub(_) => "+",
            _ => "",
        };
        if !other.is_empty() {
            self.others.push((range(&item.op), other.into()));
        }
        visit::visit_expr_binary(self, item);
    }

    fn visit_expr_call(&mut self, call: &syn::ExprCall) {
        // bits::<W>(n): the only function whose argument is a number.
        if let (Some(Expr::Lit(lit)), 1) = (call.args.first(), call.args.len()) {
            if let Lit::Int(number) = &lit.lit {
                if let Ok(number) = number.base10_parse::<u64>() {
                    self.others.push((range(lit), (number ^ 1).to_string()));
                }
            }
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr_lit(&mut self, item: &syn::ExprLit) {
        if let Lit::Bool(truth) = &item.lit {
            self.others.push((range(item), (!truth.value).to_string()));
        }
    }

    fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
        let path = target(&call.receiver);
        if call.method == "val" && path.len() == 1 {
            self.fields.push((range(call), path[0].clone()));
        }
        visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "struct X {
    pub ready: Signal<In, bool>,
    pub kind: Signal<Out, Bits<2>>,
    one: Number<2, { a::ONE }>,
    two: Number<2, { a::TWO }>,
    wide: Number<9, 3>,
    state: DFF<State>,
    held: DFF<bool>,
}
impl Logic for X {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, held);
        drive!(self, one => kind; a.b | m => other, more);
        fill!(self, bundle, a => first, second; false => third);
        self.open.next = self.a.val() + 1;
        // AB-1
        if self.ready.val() & (self.n.val() == bits::<4>(6)) & !self.m.val() {
            self.kind.next = self.two.val();
        }
        // AB-2
        self.held.d.next = self.held.q.val() | self.more.val();
        // AB-3
        self.open.next.part = true;
        // AB-4
        self.alone.next = self.n.val();

        // AB-6
        self.sum.next = self.n.val() + self.m.val();

        // AB-7
        self.bundle.next.second = self.n.val();
        // AB-8
        self.more.next = self.n.val();
        // AB-9
        self.bundle.next.fourth = self.n.val();

        match self.state.q.val() {
            State::One => {
                // AB-5
                self.state.d.next = State::Two;
            }
            _ => {}
        }
    }
}
";

    /// What the changes to what this comment cites make of the line that they change.
    fn changed(comment: &str) -> Vec<String> {
        let source = Source::new(BLOCK).unwrap();
        let line = 1 + BLOCK.lines().position(|line| line.trim() == comment).unwrap();
        let change = |change: &Change| {
            let broken = change.apply(BLOCK);
            assert_eq!(broken.lines().count(), BLOCK.lines().count());
            syn::parse_file(&broken).unwrap();
            let mut pairs = broken.lines().zip(BLOCK.lines());
            pairs.find(|(new, old)| new != old).unwrap().0.trim().to_owned()
        };
        changes(&source, &source.cited(line)).iter().map(change).collect()
    }

    #[test]
    fn a_condition_is_never_met_or_always_or_loses_a_part() {
        let when = |condition: &str| format!("if {condition} {{");
        let found = changed("// AB-1");
        assert_eq!(
            found[0],
            when("(self.ready.val() & (self.n.val() == bits::<4>(6)) & !self.m.val()) & false")
        );
        assert_eq!(found[1], when("self.ready.val() & (self.n.val() == bits::<4>(7)) & !self.m.val()"));
        let parts = [
            when("(self.ready.val() & (self.n.val() == bits::<4>(6)) & !self.m.val()) | true"),
            when("true & (self.n.val() == bits::<4>(6)) & !self.m.val()"),
            when("self.ready.val() & true & !self.m.val()"),
            when("self.ready.val() & (self.n.val() != bits::<4>(6)) & !self.m.val()"),
            when("self.ready.val() & (self.n.val() == bits::<4>(6)) & true"),
        ];
        assert_eq!(found[2..7], parts);
        // What is done then is one further away.
        assert_eq!(found[7..], ["", "self.kind.next = self.one.val();"]);
    }

    #[test]
    fn an_assignment_is_left_out_only_where_something_was_assigned_before() {
        let held = "self.held.d.next = ";
        let expected = [
            String::new(),
            format!("{held}!(self.held.q.val() | self.more.val());"),
            format!("{held}false | self.more.val();"),
            format!("{held}self.held.q.val() | false;"),
        ];
        assert_eq!(changed("// AB-2"), expected);
        assert_eq!(changed("// AB-3"), ["", "self.open.next.part = false;"], "the whole has a value");
        assert_eq!(changed("// AB-4"), Vec::<String>::new(), "a number with no other");
        assert_eq!(changed("// AB-6"), ["self.sum.next = self.n.val() - self.m.val();"]);
        assert_eq!(changed("// AB-7"), [""], "fill! has given the field a value");
        assert_eq!(changed("// AB-8"), [""], "drive! has");
        assert_eq!(
            changed("// AB-9"),
            Vec::<String>::new(),
            "the bundle has a value, but not this field of it"
        );
    }

    #[test]
    fn an_arm_does_nothing() {
        assert_eq!(changed("// AB-5"), ["", "State::One => {}"]);
    }

    #[test]
    fn people_read_what_was_done() {
        let source = Source::new(BLOCK).unwrap();
        let line = 1 + BLOCK.lines().position(|line| line.trim() == "// AB-3").unwrap();
        let told: Vec<String> =
            changes(&source, &source.cited(line)).iter().map(|change| change.describe(BLOCK)).collect();
        assert_eq!(
            told,
            [
                "left out: `self.open.next.part = true;`",
                "`false` instead of `true` in `self.open.next.part = true;`"
            ]
        );
    }
}
