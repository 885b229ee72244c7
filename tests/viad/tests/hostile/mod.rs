//! Clients that are against us. Whatever they do, an honest client's bytes and completions stay as they are, and everything
//! that they had comes back.

mod death;
mod neighbours;
mod protocol;
mod roles;

use viaduct_viad_tests::{child, honest::honest};
use vipl::Nic;

use self::roles::{blocker, forker, intruder};

/// Not a test: what the children of the tests do.
#[test]
#[ignore = "a client process of the other tests"]
fn a_client_process() {
    let Some((role, name)) = child::role() else { return };
    // Its session is to be another user's.
    let nic = if role.starts_with("blocker") { None } else { Some(Nic::open(&name).expect("it serves")) };
    let nic = || nic.as_ref().expect("it is open");
    match role.split_once(' ').unwrap_or((&role, "0")) {
        // Messages to itself, so many; each is looked at.
        ("honest", rounds) => honest(nic(), rounds.parse().expect("a number")),
        // It forks; the child may do nothing, and lives on.
        ("forker", _) => forker(nic()),
        // Started as root, it becomes this user, and registers memory that never answers.
        ("blocker", uid) => blocker(&name, uid.parse().expect("a number")),
        // It connects with whom it likes, and is refused.
        ("intruder", peer) => intruder(nic(), &serde_json::from_str(peer).expect("an end's")),
        _ => panic!("{role}"),
    }
}
