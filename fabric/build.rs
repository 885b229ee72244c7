//! Makes Rust of libfabric's headers, as they are on this machine, if the feature `libfabric` asks for the provider.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=wrapper.h");
    #[cfg(feature = "libfabric")]
    if let Err(reason) = bindings::make() {
        eprintln!("\nviaduct-fi cannot be built: {reason}\n");
        std::process::exit(1);
    }
}

#[cfg(feature = "libfabric")]
mod bindings {
    use std::{env, panic, path::PathBuf};

    use bindgen::{
        callbacks::{IntKind, ParseCallbacks},
        BindgenError, Builder, Formatter,
    };

    /// libfabric's flags are 64 bits wide, also those whose numbers are small.
    #[derive(Debug)]
    struct Flags;

    impl ParseCallbacks for Flags {
        fn int_macro(&self, name: &str, _: i64) -> Option<IntKind> {
            name.starts_with("FI_").then_some(IntKind::U64)
        }
    }

    pub fn make() -> Result<(), String> {
        // libfabric unloads providers at its end, and threads of this one might still be in its code.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        let out =
            PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: this runs under cargo only")?);
        let builder = Builder::default()
            .header("wrapper.h")
            .allowlist_type("(fi|fid)_.*|fid")
            .allowlist_var("FI_.*")
            .prepend_enum_name(false)
            .formatter(Formatter::None)
            .parse_callbacks(Box::new(Flags))
            // Another libfabric, with other headers, is another build.
            .parse_callbacks(Box::new(bindgen::CargoCallbacks::new()));
        // bindgen panics when it finds no libclang.
        panic::set_hook(Box::new(|_| {}));
        let made = panic::catch_unwind(panic::AssertUnwindSafe(move || builder.generate()));
        drop(panic::take_hook());
        let bindings = made.map_err(|_| lacking("libclang", "clang"))?.map_err(|error| match error {
            BindgenError::ClangDiagnostic(text) if text.contains("rdma/") && text.contains("not found") => {
                lacking("libfabric's headers (rdma/fabric.h and those beside it)", "libfabric-dev")
            }
            BindgenError::ClangDiagnostic(text) if text.contains("not found") => {
                format!("{}\n{text}", lacking("the compiler's own headers", "clang"))
            }
            error => error.to_string(),
        })?;
        let file = out.join("libfabric.rs");
        bindings.write_to_file(&file).map_err(|error| format!("{}: {error}", file.display()))
    }

    fn lacking(what: &str, package: &str) -> String {
        format!("this machine lacks {what}. Debian has that in the package {package}; `cargo xtask setup --for libfabric` installs it.")
    }
}
