//! dump
mod diagram;
mod svg;
fn main() -> anyhow::Result<()> {
    std::fs::write("/tmp/nic.svg", diagram::svg()?)?;
    Ok(())
}
