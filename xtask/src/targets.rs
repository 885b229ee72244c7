//! Which targets the driver builds for: those for which `host-driver/src/barrier.rs` argues that a device sees memory in the right order.

use crate::command::Cmd;
use crate::project::Project;
use std::collections::BTreeSet;
use syn::{punctuated::Punctuated, Expr, Item, Lit, Meta, Token};

/// What the compiler says of a target.
struct Target(BTreeSet<String>);

impl Target {
    fn of(name: &str) -> Self {
        let said = Cmd::new("rustc").args(["--print", "cfg", "--target", name]).read().unwrap();
        Self(said.lines().map(str::to_owned).collect())
    }

    /// Whether the predicate of a `cfg` holds.
    fn is(&self, predicate: &Meta) -> bool {
        let parts = || match predicate {
            Meta::List(list) => {
                list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap()
            }
            other => panic!("no list: {:?}", other.path().get_ident()),
        };
        match predicate {
            Meta::Path(path) => self.0.contains(&path.get_ident().unwrap().to_string()),
            Meta::NameValue(pair) => {
                let Expr::Lit(literal) = &pair.value else { panic!("no literal") };
                let Lit::Str(value) = &literal.lit else { panic!("no string") };
                self.0.contains(&format!("{}={:?}", pair.path.get_ident().unwrap(), value.value()))
            }
            Meta::List(list) if list.path.is_ident("not") => !parts().iter().any(|part| self.is(part)),
            Meta::List(list) if list.path.is_ident("any") => parts().iter().any(|part| self.is(part)),
            Meta::List(list) if list.path.is_ident("all") => parts().iter().all(|part| self.is(part)),
            Meta::List(list) => panic!("{:?} is no predicate", list.path.get_ident()),
        }
    }

    /// The errors that a file has for this target.
    fn errors(&self, file: &syn::File) -> Vec<String> {
        let errors = file.items.iter().filter_map(|item| match item {
            Item::Macro(item) if item.mac.path.is_ident("compile_error") => Some(item),
            _ => None,
        });
        let told = errors.filter(|item| {
            let conditions = item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
            conditions.map(|cfg| cfg.parse_args::<Meta>().unwrap()).all(|predicate| self.is(&predicate))
        });
        told.map(|item| item.mac.parse_body::<syn::LitStr>().unwrap().value()).collect()
    }
}

#[test]
fn a_target_whose_order_nobody_has_argued_for_is_an_error_that_says_why() {
    let root = Project::find().unwrap().root;
    let file = std::fs::read_to_string(root.join("host-driver/src/barrier.rs")).unwrap();
    let file = syn::parse_file(&file).unwrap();
    let errors = |target| Target::of(target).errors(&file);
    for argued in ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"] {
        assert_eq!(errors(argued), [""; 0], "{argued}");
    }
    let untried = errors("aarch64-unknown-linux-gnu");
    assert!(untried.len() == 1 && untried[0].contains("--cfg viaduct_untried_order"), "{untried:?}");
    for open in [
        "riscv64gc-unknown-linux-gnu",
        "powerpc64le-unknown-linux-gnu",
        "loongarch64-unknown-linux-gnu",
        "i686-unknown-linux-gnu",
        "armv7-unknown-linux-gnueabihf",
    ] {
        let errors = errors(open);
        assert!(errors.len() == 1 && errors[0].contains("barriers"), "{open}: {errors:?}");
    }
    let big = errors("aarch64_be-unknown-linux-gnu");
    assert!(big.len() == 2 && big.iter().any(|one| one.contains("little-endian")), "{big:?}");
    assert_eq!(errors("s390x-unknown-linux-gnu").len(), 2);
}
