//! Writes hdl/src/rows, but its mod.rs.
fn main() -> std::io::Result<()> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../hdl/src/rows");
    for file in viaduct_spec::rows::files() {
        std::fs::write(folder.join(file.name).with_extension("rs"), file.text)?;
    }
    Ok(())
}
