//! Proofs of the primitives.

/// Later.
pub fn run(_only: Option<&str>) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}
