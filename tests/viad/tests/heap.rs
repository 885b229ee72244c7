//! Programs of C that know nothing of it, with the allocator preloaded.

use std::path::Path;

use viaduct_viad_tests::{c::Example, program::program, stage::Stage};

/// Memory of posix_memalign's, and a session without the program's memory.
#[test]
fn what_the_preloaded_allocator_gave_reaches_the_nic_and_what_the_c_library_gave_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let pingpong = Example::new("pingpong", folder.path());
    let preloaded = Example::new("pingpong", folder.path()).preloading(&program("libvipl_heap.so"));
    let stage = Stage::new(2);
    let names = [stage.name(0), stage.name(1)].map(|name| format!("{name},way=pools"));
    let (server, address) = preloaded.serve(&[&names[0]]);
    let said = preloaded.ask(&[&names[1], &address]);
    assert!(said.starts_with("1000 balls there and back, "), "{said}");
    server.end();
    let refused = pingpong.fail(&[&names[0]]);
    assert!(refused.contains("VipRegisterMem"), "{refused}");
}

/// It is an allocator: threads, forks in the middle of them, each call that there is.
#[test]
fn a_program_that_allocates_and_forks_is_sound_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/heap.c");
    let heap = Example::of(&source, folder.path()).preloading(&program("libvipl_heap.so"));
    assert_eq!(heap.ask(&[]), "sound\n");
}
