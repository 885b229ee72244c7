//! What is wrong with bytes from the wire.

/// A field that breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value:#x}: {rule}")]
pub struct Wrong {
    /// The field.
    pub field: &'static str,
    /// What it is.
    pub value: u64,
    /// What it should be.
    pub rule: &'static str,
}

/// [`Wrong`], unless the rule holds.
pub(super) fn need(
    holds: bool,
    field: &'static str,
    value: impl Into<u64>,
    rule: &'static str,
) -> Result<(), Wrong> {
    if holds {
        Ok(())
    } else {
        Err(Wrong { field, value: value.into(), rule })
    }
}
