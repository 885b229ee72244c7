//! `viaduct info` and `viaduct stat` of a running viad.

use std::{
    os::unix::process::CommandExt,
    process::{Command, Output},
    time::Duration,
};

use serde_json::Value;
use viaduct_viad_tests::{
    child::user,
    pair::text,
    program::program,
    stage::{connected, until, End, Stage, BUFFER, LONG},
};
use vipl::{connections::NetAddress, Mac, Nic};

fn viaduct(arguments: &[&str], uid: Option<u32>) -> Output {
    let mut command = Command::new(program("viaduct"));
    if let Some(uid) = uid {
        command.uid(uid).gid(uid);
    }
    command.args(arguments).output().expect("it runs")
}

/// The virtual interfaces of all sessions, and what each waits for.
fn waits(stage: &Stage) -> Vec<(u64, String, String)> {
    let stat = text(&viaduct(&["stat", "--json", &stage.name(0)], None));
    let stat: Value = serde_json::from_str(&stat).expect("JSON");
    let sessions = stat["sessions"].as_array().expect("a list");
    let vis = sessions.iter().flat_map(|session| session["virtual_interfaces"].as_array().expect("a list"));
    vis.map(|vi| {
        let waits: Vec<&str> = vi["waits_for"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|what| what.as_str().expect("text"))
            .collect();
        let state = vi["state"].as_str().expect("text").to_owned();
        (vi["name"]["index"].as_u64().expect("a number"), state, waits.join("; "))
    })
    .collect()
}

#[test]
fn info_tells_what_a_nic_is_and_what_one_may_have() {
    let stage = Stage::with(1, "[user]\nregions = 77\n");
    let said = text(&viaduct(&["info", &stage.name(0)], None));
    for part in ["functional model", "02:00:00:00:00:01, 10.0.0.1", "Reliable Reception", "77  regions"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let said = text(&viaduct(&["info", "--json", &stage.name(0)], user(1)));
    let info: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((&info["mac"], &info["limits"]["regions"]), (&"02:00:00:00:00:01".into(), &77.into()));
    // What is no viad's is not taken over.
    let refused = viaduct(&["info", &format!("vfio-user:{}", stage.socket(0).display())], None);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("one owner"));
    let nobody = viaduct(&["stat", "viad:/nowhere"], None);
    assert!(!nobody.status.success() && String::from_utf8_lossy(&nobody.stderr).contains("/nowhere"));
}

#[test]
fn stat_tells_what_each_virtual_interface_waits_for() {
    let stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let of = |end: &End| {
        let index = u64::from(end.vi.index());
        waits(&stage).into_iter().find(|(vi, ..)| *vi == index).map(|(_, state, waits)| (state, waits))
    };
    let said = |end: &End, state: &str, what: &str| {
        // A doorbell is on its way for a moment.
        let mut found = None;
        let so = until(Duration::from_secs(20), || {
            found = of(end);
            found.as_ref().is_some_and(|(is, waits)| is == state && waits == what)
        });
        assert!(so, "{state}, {what:?}: {found:?}");
    };
    let (one, other) = connected(&nic, &nic);
    let unposted = "its owner, to post a receive: a message that comes now breaks it, or is lost";
    said(&one, "Connected", unposted);
    other.post_recv(1, BUFFER, 64);
    other.post_recv(2, BUFFER, 64);
    said(&other, "Connected", "a message from its peer (2 posted)");
    one.send(0, BUFFER, b"one");
    other.vi.recv_wait(Some(LONG)).expect("it arrives");
    said(&other, "Connected", "a message from its peer (1 posted)");
    said(&one, "Connected", unposted);
    one.vi.send_wait(Some(LONG)).expect("sent");
    // A peer that does not answer: its number is nobody's.
    let stuck = End::new(&nic);
    stuck.post_recv(1, BUFFER, 64);
    said(&stuck, "Idle", "a connection: it has receives posted");
    other.vi.disconnect().expect("it answers");
    one.send(3, BUFFER, b"nobody");
    until(LONG, || one.vi.send_done().is_err_and(|error| !matches!(error, vipl::Error::NotDone)));
    said(&one, "Error", "its owner, to disconnect it: it is broken");
    // An attempt at a connection, with who is not there.
    let connections = nic.connections().expect("it serves");
    let address =
        |host, name: &str| NetAddress { host: Mac([2, 0, 0, 0, 0, host]).into(), discriminator: name.into() };
    let request =
        connections.peer_request(stuck.vi.clone(), &address(1, "me"), &address(1, "late"), &[], None);
    let request = request.expect("idle");
    said(&stuck, "Idle", "10.0.0.1, \"late\" there, to ask it too");
    drop(request);

    let said = text(&viaduct(&["stat", &stage.name(0)], None));
    for part in ["user 0", "VI ", "waits for its owner, to disconnect it", "FRAMES_SENT"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Others' sessions are not for everybody.
    let Some(stranger) = user(9) else { return };
    let said = text(&viaduct(&["stat", &stage.name(0)], Some(stranger)));
    assert!(said.contains("no sessions that this user may know of"), "{said}");
}
