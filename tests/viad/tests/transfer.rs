//! `viaduct send` and `viaduct receive`: a file between two programs that meet over the wire, on model NICs of their own or through viads.

use std::{fs, path::PathBuf};

use viaduct_viad_tests::{
    pair::{failure, text, viaduct, Server},
    stage::Stage,
};

const RECEIVER: &str = "02:00:00:00:00:01";
/// On a machine that is busy with other things both wait longer than by themselves.
const PATIENCE: [&str; 2] = ["--timeout", "60"];

struct Files {
    sent: PathBuf,
    received: PathBuf,
}

impl Files {
    /// A file of so many bytes, and a place for another one.
    fn new(stage: &Stage, bytes: usize) -> Self {
        let folder = stage.folder.path();
        let files = Self { sent: folder.join("sent"), received: folder.join("received") };
        let data: Vec<u8> = (0..bytes as u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        fs::write(&files.sent, data).expect("written");
        files
    }

    fn receive<'a>(&'a self, nic: &'a str, more: &[&'a str]) -> Server {
        let file = self.received.to_str().expect("UTF-8");
        let server = Server::start(&[&["receive", "--nic", nic, "--file", file], more].concat());
        assert_eq!(server.said, format!("waiting at port 18515 of {RECEIVER}"));
        server
    }

    fn send<'a>(&'a self, nic: &'a str, more: &[&'a str]) -> std::process::Output {
        self.send_to(RECEIVER, nic, more)
    }

    fn send_to<'a>(&'a self, receiver: &'a str, nic: &'a str, more: &[&'a str]) -> std::process::Output {
        let file = self.sent.to_str().expect("UTF-8");
        viaduct(&[&["send", "--nic", nic, "--file", file], more, &[receiver]].concat())
    }

    fn arrive(&self, server: &str, client: &str, more: [&[&str]; 2]) {
        let [server_more, client_more] = more.map(|more| [more, &PATIENCE].concat());
        let receiver = self.receive(server, &server_more);
        let sent = text(&self.send(client, &client_more));
        let got = text(&receiver.end());
        let hash = |said: &str| said.lines().find(|line| line.starts_with("sha256 ")).map(str::to_owned);
        assert!(hash(&sent).is_some() && hash(&sent) == hash(&got), "{sent}{got}");
        let (sent, received) = (fs::read(&self.sent), fs::read(&self.received));
        assert!(sent.expect("there") == received.expect("there"), "other bytes: {more:?}");
    }
}

fn files_arrive(stage: &Stage, nics: &[String; 2]) {
    for bytes in [0, 1, 65_536, 300_001] {
        Files::new(stage, bytes).arrive(&nics[0], &nics[1], [&[], &[]]);
    }
    let files = Files::new(stage, 50_000);
    let receiver = files.receive(&nics[0], &PATIENCE);
    text(&files.send_to("10.0.0.1", &nics[1], &PATIENCE));
    text(&receiver.end());
    for level in ["unreliable", "reception"] {
        let level = ["--reliability", level];
        files.arrive(&nics[0], &nics[1], [&level, &level]);
    }
    // Messages that are shorter than what the two say to each other, the smallest window, and a pair of MTUs.
    files.arrive(&nics[0], &nics[1], [&["--window", "2", "-m", "4096"], &["--message", "33", "-m", "256"]]);
    let port = ["--port", "7"];
    let receiver = Server::start(&["receive", "--nic", &nics[0], "--port", "7"]);
    assert_eq!(receiver.said, format!("waiting at port 7 of {RECEIVER}"));
    text(&files.send(&nics[1], &port));
    text(&receiver.end());
}

#[test]
fn files_arrive_between_two_programs_with_a_nic_each() {
    let stage = Stage::with_free(2, 2, "");
    files_arrive(&stage, &[0, 1].map(|nic| stage.device(nic)));
}

#[test]
fn files_arrive_between_two_clients_of_viads_and_of_one() {
    let stage = Stage::new(2);
    files_arrive(&stage, &[0, 1].map(|nic| stage.name(nic)));
    Files::new(&stage, 100_000).arrive(&stage.name(0), &stage.name(0), [&[], &[]]);
}

#[test]
fn a_sender_without_its_receiver_says_which() {
    let stage = Stage::new(2);
    let files = Files::new(&stage, 100);
    let nics = [0, 1].map(|nic| stage.name(nic));
    let said = failure(&files.send(&nics[1], &["--timeout", "1"]));
    let names = ["no `viaduct receive` at port 18515 of", RECEIVER, "within 1 s: nobody waits there"];
    assert!(names.iter().all(|name| said.contains(name)), "{said}");
    let said = failure(&files.send(&nics[1], &["--message", "0"]));
    assert!(said.contains("messages of 0 bytes: 1 to 16777216 bytes"), "{said}");

    // One that was given another level: both say so.
    let receiver = files.receive(&nics[0], &["--reliability", "reception"]);
    let differs = "the receiver was given --reliability reception, the sender another";
    for said in [failure(&files.send(&nics[1], &[])), failure(&receiver.end())] {
        assert!(said.contains(differs), "{said}");
    }
}

#[test]
fn an_end_that_gives_up_tells_the_other_one_why() {
    let stage = Stage::new(2);
    let files = Files::new(&stage, 100_000_000);
    let (server, client) = (stage.name(0), stage.name(1));
    // A device that is always full: the receiver cannot write.
    let receiver = Server::start(&["receive", "--nic", &server, "--file", "/dev/full"]);
    let said = failure(&files.send(&client, &[]));
    assert!(said.contains("the receiver gave up: writing the file: No space left on device"), "{said}");
    let said = failure(&receiver.end());
    assert!(said.contains("writing the file: No space left on device"), "{said}");
    assert!(!said.contains("the sender gave up"), "what it was told itself is not told here: {said}");
}
