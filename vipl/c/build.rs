//! Names the shared library as programs find it when they start.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Programs ask for the interface that they were linked with: it changes when old programs would break.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libvipl.so.1");
}
