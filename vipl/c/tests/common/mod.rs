//! What the tests of the C interface have in common: the simulator that they run over.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// What is built beside this test.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let path = test.ancestors().nth(2).expect("target/<profile>/deps/<test>").join(name);
    assert!(path.exists(), "{} is not built: run the suite by `cargo xtask test`", path.display());
    path
}

/// Two NICs, functional models, in a process of their own.
pub struct Simulator {
    process: Child,
    pub folder: tempfile::TempDir,
}

#[allow(dead_code, reason = "each test uses its own half")]
impl Simulator {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let process = Command::new(built("viaduct-sim"))
            .args(["--nics", "2", "--nic", "model", "--dir"])
            .env("RUST_LOG", "warn")
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("the simulator starts");
        let simulator = Self { process, folder };
        let start = Instant::now();
        while !simulator.socket(1).exists() {
            assert!(start.elapsed() < Duration::from_secs(60), "no sockets");
            sleep(Duration::from_millis(10));
        }
        simulator
    }

    pub fn socket(&self, nic: usize) -> PathBuf {
        self.folder.path().join(format!("nic{nic}.sock"))
    }

    /// What the library calls a NIC.
    pub fn nic(&self, nic: usize) -> String {
        format!("vfio-user:{},mac=02:00:00:00:00:0{1},ip=10.0.0.{1}", self.socket(nic).display(), nic + 1)
    }

    /// What C programs are told of the NICs.
    pub fn names(&self) -> String {
        let names = ["nic", "VINIC", "/dev/via_eth", "/dev/clanvi"];
        let aliases = |nic: usize| names.map(|name| format!("{name}{nic}={}", self.nic(nic)));
        [aliases(0), aliases(1)].concat().join(";")
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
