//! Memory that the library allocates lies in pools, of which viad has a view: a session can do without handing its other memory over.

use std::{
    io::Write,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::{Command, Stdio},
    ptr::NonNull,
};

use viaduct_driver::viad::place::Place;
use viaduct_viad_tests::{
    child::{self, child, lines, user, wait_for},
    honest::{beside_an_honest_client, honest},
    hostile::bad_pools,
    program::program,
    skip::skip,
    stage::{until, Process, Stage, LONG},
};
use vipl::{MemAttributes, Nic};

const PAGE: u64 = 4096;

/// Not a test: what the children of the tests do.
#[test]
#[ignore = "a client process of the other tests"]
fn a_client_process() {
    let Some((role, name)) = child::role() else { return };
    let nic = Nic::open(&name).expect("it serves");
    match role.as_str() {
        "honest" => honest(&nic, 20),
        "keeper" => {
            let ptag = nic.create_ptag().expect("a tag");
            let _kept: Vec<_> =
                (0..4).map(|_| nic.allocate(1 << 20, &MemAttributes::new(&ptag)).expect("room")).collect();
            println!("\nfull");
            std::io::stdout().flush().expect("a pipe");
            std::thread::sleep(LONG);
        }
        _ => panic!("{role}"),
    }
}

fn pools(stage: &Stage) -> String {
    format!("{},way=pools", stage.name(0))
}

#[test]
fn a_session_without_the_program_s_memory_moves_what_the_library_allocated() {
    let stage = Stage::new(1);
    let nic = Nic::open(&pools(&stage)).expect("it serves");
    honest(&nic, 30);
    // viad has nothing by which it could reach the rest.
    let own = format!("/proc/{}/mem", std::process::id());
    let folder = format!("/proc/{}/fd", stage.viads[0].0.id());
    let files = std::fs::read_dir(folder)
        .expect("it lives")
        .filter_map(|file| std::fs::read_link(file.expect("it lives").path()).ok());
    let files: Vec<_> = files.collect();
    assert!(files.len() > 5, "{files:?}");
    assert!(!files.iter().any(|file| file.as_os_str() == own.as_str()), "{files:?}");
}

#[test]
fn other_memory_is_refused_with_the_ways_that_there_are() {
    let stage = Stage::new(1);
    let nic = Nic::open(&pools(&stage)).expect("it serves");
    let ptag = nic.create_ptag().expect("a tag");
    let mut bytes = vec![0u8; 1 << 16];
    let start = NonNull::from(&mut bytes[..]).cast();
    // SAFETY: the bytes stay as long as the NIC.
    let refused = unsafe { nic.register(start, bytes.len(), &MemAttributes::new(&ptag)) };
    let error = refused.expect_err("viad has no access to it").to_string();
    for way in ["way=pools", "Nic::allocate", "VipExtAllocateMem", "way=trusted"] {
        assert!(error.contains(way), "{way}: {error}");
    }
    // What the library has made is registered in any part, more than once.
    let memory = nic.new_memory(3 * PAGE as usize).expect("memory");
    let part = |offset: usize, length| {
        let start = NonNull::new(memory.start().as_ptr().wrapping_add(offset)).expect("not null");
        // SAFETY: the memory stays as long as the NIC.
        unsafe { nic.register(start, length, &MemAttributes::new(&ptag)) }
    };
    let _parts = [part(0, 3 * PAGE as usize), part(5, 10), part(5, 10), part(2 * PAGE as usize - 1, 2)]
        .map(|part| part.expect("it is the library's"));
    // Not beyond its pool.
    let beyond = part(0, 1 << 30).expect_err("nothing is there").to_string();
    assert!(beyond.contains("way=pools"), "{beyond}");
}

#[test]
fn a_viad_of_a_user_of_its_own_serves_programs_that_hand_over_nothing_else() {
    let (Some(uid), Some(client)) = (user(5), user(6)) else {
        return skip("we are not root, and cannot be other users");
    };
    let stage = Stage::with_free(1, 1, "");
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::chown(folder.path(), Some(uid), Some(uid)).expect("we are root");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("we are root");
    let nic = stage.folder.path().join("nic0.sock");
    std::fs::set_permissions(nic, PermissionsExt::from_mode(0o666)).expect("we are root");
    let (config, socket) = (folder.path().join("viad.toml"), folder.path().join("viad.sock"));
    std::fs::write(&config, "mode = 0o666\n").expect("written");
    let log = folder.path().join("log");
    let viad = Command::new(program("viad"))
        .args(["--nic", &stage.device(0), "--config"])
        .arg(&config)
        .arg("--socket")
        .arg(&socket)
        .uid(uid)
        .gid(uid)
        .stdin(Stdio::null())
        .stderr(std::fs::File::create(&log).expect("a file"))
        .spawn();
    let _viad = Process(viad.expect("it starts"));
    let said = || std::fs::read_to_string(&log).unwrap_or_default();
    assert!(until(LONG, || said().contains("serving")), "{}", said());
    let name = format!("viad:{}", socket.display());
    let run = |name: &str| child("honest", name, Some(client)).0.wait().expect("it ends").success();
    assert!(!run(&name), "its user is neither root nor the program's");
    assert!(!run(&format!("{name},way=pools")), "nobody has named its user");
    assert!(run(&format!("{name},user={uid},way=pools")), "{}", said());
}

#[test]
fn a_pool_that_could_hurt_viad_is_none() {
    let stage = Stage::new(1);
    beside_an_honest_client(&stage, || bad_pools(&Place::at(stage.socket(0))));
    assert!(!stage.log(0).contains("panicked"), "{}", stage.log(0));
}

#[test]
fn pools_are_charged_to_their_user_and_come_back_with_its_end() {
    // The arena of a session, and four pools of 1 MiB.
    let arena = 2 * 16384;
    let stage = Stage::with(
        1,
        &format!("[client]\nvis = 2\n[user]\npools = 5\nshared = {}\n", (4 << 20) + 2 * arena),
    );
    let mut keeper = child("keeper", &pools(&stage), None);
    let mut said = lines(&mut keeper);
    wait_for(&mut said, "full");
    let nic = Nic::open(&pools(&stage)).expect("there is room for an arena");
    let error = nic.new_memory(PAGE as usize).expect_err("the other process has it all").to_string();
    assert!(error.contains("bytes in arenas, rings and pools"), "{error}");
    assert!(nic.create_cq(100).is_err(), "a ring is charged there, too");
    keeper.0.kill().expect("it lives");
    keeper.0.wait().expect("it has ended");
    // That is said when all is given back.
    assert!(until(LONG, || stage.log(0).contains("session ended")), "{}", stage.log(0));
    // As many as one may have, and no more.
    let mut kept = Vec::new();
    let error = loop {
        match nic.new_memory(600 << 10) {
            Ok(memory) => kept.push(memory),
            Err(error) => break error.to_string(),
        }
    };
    assert_eq!(kept.len(), 4, "{error}");
    drop(kept);
    nic.new_memory(4 << 20).expect("all of it is free again");
    assert!(!stage.log(0).contains("not everything was given back"), "{}", stage.log(0));
}

#[test]
fn a_queue_that_gets_another_ring_has_two_for_a_moment_and_both_count() {
    // The arena of a session, and the ring of a completion queue.
    for (rows, grows) in [(2, false), (3, true)] {
        let stage = Stage::with(1, &format!("[user]\nrows = {rows}\n"));
        let nic = Nic::open(&stage.name(0)).expect("there is room for an arena");
        let cq = nic.create_cq(10).expect("there is room for a ring");
        match cq.resize(1000) {
            Ok(()) => assert!(grows, "{rows} rows"),
            Err(error) => {
                assert!(
                    !grows && error.to_string().contains("rows of the region table"),
                    "{rows} rows: {error}"
                );
            }
        }
        // Neither is lost, nor is anything counted that is not there any more.
        drop(cq);
        nic.create_cq(10).expect("the row came back");
    }
}

#[test]
fn nobody_is_trusted_with_the_function_who_is_not_named() {
    let stage = Stage::with_free(2, 1, "");
    let refused =
        Nic::open(&format!("{},way=trusted", stage.name(0))).expect_err("nobody is trusted").to_string();
    assert!(refused.contains("does not trust user") && refused.contains("way=pools"), "{refused}");
    // Of a simulator's NIC there are no descriptors that could be handed over: viad says so at once.
    let folder = stage.folder.path();
    let config = folder.join("trusting.toml");
    std::fs::write(&config, "[trusted]\nusers = [0, 1000]\n").expect("written");
    let output = Command::new(program("viad"))
        .args(["--nic", &stage.device(1), "--config"])
        .arg(&config)
        .arg("--socket")
        .arg(folder.join("trusting.sock"))
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("behind the kernel's VFIO"), "{said}");
}
