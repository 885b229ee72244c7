//! The statements of a block, and the part of them that one signal depends on.

use std::collections::BTreeSet;

use crate::expression::Expression;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A signal has a value from here on.
    Assign(Assignment),
    /// One of two.
    If {
        /// The condition.
        test: Expression,
        /// When it is 1.
        then: Vec<Statement>,
        /// When it is 0.
        otherwise: Vec<Statement>,
    },
    /// One of many.
    Case {
        /// What decides.
        test: Expression,
        /// A label (nothing: all others) and what happens there.
        arms: Vec<(Option<Expression>, Vec<Statement>)>,
    },
}

/// An assignment to a signal, or to some bits of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The signal.
    pub target: String,
    /// Lowest bit and number of bits, if it is not all of them.
    pub range: Option<(usize, usize)>,
    /// The value.
    pub value: Expression,
}

/// The statements that assign to one of `targets`, with all that decides whether they happen.
pub fn restricted(statements: &[Statement], targets: &BTreeSet<String>) -> Vec<Statement> {
    statements.iter().filter_map(|statement| restrict(statement, targets)).collect()
}

fn restrict(statement: &Statement, targets: &BTreeSet<String>) -> Option<Statement> {
    match statement {
        Statement::Assign(assignment) => targets.contains(&assignment.target).then(|| statement.clone()),
        Statement::If { test, then, otherwise } => {
            let (then, otherwise) = (restricted(then, targets), restricted(otherwise, targets));
            let kept = !then.is_empty() || !otherwise.is_empty();
            kept.then(|| Statement::If { test: test.clone(), then, otherwise })
        }
        Statement::Case { test, arms } => {
            let kept: Vec<_> =
                arms.iter().map(|(label, inner)| (label.clone(), restricted(inner, targets))).collect();
            let any = kept.iter().any(|(_, inner)| !inner.is_empty());
            any.then(|| Statement::Case { test: test.clone(), arms: kept })
        }
    }
}

/// Calls `visit` for each assignment.
pub fn assignments<'a>(statements: &'a [Statement], visit: &mut impl FnMut(&'a Assignment)) {
    for statement in statements {
        match statement {
            Statement::Assign(assignment) => visit(assignment),
            Statement::If { then, otherwise, .. } => {
                assignments(then, visit);
                assignments(otherwise, visit);
            }
            Statement::Case { arms, .. } => arms.iter().for_each(|(_, inner)| assignments(inner, visit)),
        }
    }
}

/// Calls `visit` for each expression: values, conditions and labels.
pub fn expressions(statements: &[Statement], visit: &mut impl FnMut(&Expression)) {
    for statement in statements {
        match statement {
            Statement::Assign(assignment) => visit(&assignment.value),
            Statement::If { test, then, otherwise } => {
                visit(test);
                expressions(then, visit);
                expressions(otherwise, visit);
            }
            Statement::Case { test, arms } => {
                visit(test);
                for (label, inner) in arms {
                    label.iter().for_each(&mut *visit);
                    expressions(inner, visit);
                }
            }
        }
    }
}

/// The statements with other names for what they read and assign.
pub fn renamed(statements: Vec<Statement>, rename: &impl Fn(String) -> String) -> Vec<Statement> {
    let one = |statement| match statement {
        Statement::Assign(Assignment { target, range, value }) => {
            Statement::Assign(Assignment { target: rename(target), range, value: value.renamed(rename) })
        }
        Statement::If { test, then, otherwise } => Statement::If {
            test: test.renamed(rename),
            then: renamed(then, rename),
            otherwise: renamed(otherwise, rename),
        },
        Statement::Case { test, arms } => Statement::Case {
            test: test.renamed(rename),
            arms: arms.into_iter().map(|(label, inner)| (label, renamed(inner, rename))).collect(),
        },
    };
    statements.into_iter().map(one).collect()
}

/// Each target with the only value that it ever has, if that does not depend on a condition.
pub fn only_value<'a>(statements: &'a [Statement], target: &str) -> Option<&'a Expression> {
    let mut count = 0;
    assignments(statements, &mut |assignment| count += usize::from(assignment.target == target));
    if count != 1 {
        return None;
    }
    statements.iter().find_map(|statement| match statement {
        Statement::Assign(assignment) if assignment.target == target && assignment.range.is_none() => {
            Some(&assignment.value)
        }
        _ => None,
    })
}
