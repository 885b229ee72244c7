//! Prints docs/reference.md.
fn main() {
    print!("{}", viaduct_spec::reference::markdown());
}
