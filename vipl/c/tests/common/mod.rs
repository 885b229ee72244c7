//! What the tests of the C interface have in common: the simulator that they run over.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{kill_process, Pid, Signal};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// What is built beside this test.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let path = test.ancestors().nth(2).expect("target/<profile>/deps/<test>").join(name);
    assert!(path.exists(), "{} is not built: run the suite by `cargo xtask test`", path.display());
    path
}

/// What the NICs are where a test does not say: the variable's `model` or `rtl`, else the functional model.
const KIND: &str = "VIADUCT_KIND";

/// The file of a capture, in a simulator's folder.
const CAPTURE: &str = "wire.pcap";

/// Stops a process, and returns when each of its threads stands: the signal takes a moment to reach those on other processors.
#[allow(dead_code, reason = "not every test stops one")]
pub fn stop(process: Pid) {
    kill_process(process, Signal::STOP).expect("it is there");
    let start = Instant::now();
    while !stands(process) {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not stand");
        sleep(Duration::from_millis(1));
    }
}

fn stands(process: Pid) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero())).expect("it is there");
    threads.map(|thread| thread.expect("a thread").path().join("stat")).all(|stat| {
        // Behind the name, which is in brackets: the state, T for one that is stopped.
        let stat = std::fs::read_to_string(stat).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|behind| behind.starts_with('T'))
    })
}

/// NICs in a process of their own.
pub struct Simulator {
    nics: usize,
    process: Child,
    pub folder: tempfile::TempDir,
}

#[allow(dead_code, reason = "each test uses its own half")]
impl Simulator {
    /// With two NICs.
    pub fn start() -> Self {
        Self::with(2)
    }

    pub fn with(nics: usize) -> Self {
        Self::of(&std::env::var(KIND).unwrap_or_else(|_| "model".into()), nics)
    }

    /// With NICs of this kind.
    pub fn of(kind: &str, nics: usize) -> Self {
        Self::told(kind, nics, false)
    }

    /// With two NICs, and all that is on the wire between them in [`Simulator::capture`].
    pub fn captured() -> Self {
        Self::told(&std::env::var(KIND).unwrap_or_else(|_| "model".into()), 2, true)
    }

    fn told(kind: &str, nics: usize, is_captured: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let capture = ["--pcap".into(), folder.path().join(CAPTURE)];
        let process = Command::new(built("viaduct-sim"))
            .args(["--nics", &nics.to_string(), "--nic", kind, "--dir"])
            .arg(folder.path())
            .args(capture.iter().filter(|_| is_captured))
            .env("VIADUCT_LOG", "warn")
            .stdout(Stdio::null())
            .spawn()
            .expect("the simulator starts");
        let simulator = Self { nics, process, folder };
        let start = Instant::now();
        while !simulator.socket(nics - 1).exists() {
            assert!(start.elapsed() < Duration::from_secs(60), "no sockets");
            sleep(Duration::from_millis(10));
        }
        simulator
    }

    /// Two NICs of each kind, one simulator after the other.
    pub fn of_each_kind() -> impl Iterator<Item = Self> {
        ["model", "rtl"].into_iter().map(|kind| {
            println!("{kind}");
            Self::of(kind, 2)
        })
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends it as a user does: what it has captured is whole.
    pub fn end(&mut self) {
        let process = Pid::from_raw(self.process.id() as i32).expect("a process");
        kill_process(process, Signal::TERM).expect("it runs");
        assert!(self.process.wait().expect("it ends").success());
    }

    /// The capture.
    pub fn capture(&self) -> PathBuf {
        self.folder.path().join(CAPTURE)
    }

    /// Ends it without a word: its NICs fail.
    pub fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it has ended");
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
        (0..self.nics).flat_map(|nic| names_of(nic, &self.nic(nic))).collect::<Vec<_>>().join(";")
    }
}

/// A viad for each NIC of a simulator.
pub struct Viads {
    processes: Vec<Child>,
    names: String,
}

#[allow(dead_code, reason = "not every test has viads")]
impl Viads {
    /// Starts them, with this configuration.
    pub fn of(simulator: &Simulator, config: &str) -> Self {
        let folder = simulator.folder.path();
        let file = folder.join("viad.toml");
        std::fs::write(&file, config).expect("written");
        let mut viads = Self { processes: Vec::new(), names: String::new() };
        for nic in 0..simulator.nics {
            let socket = folder.join(format!("viad{nic}.sock"));
            let viad = Command::new(built("viad"))
                .args(["--nic", &simulator.nic(nic), "--config"])
                .arg(&file)
                .arg("--socket")
                .arg(&socket)
                .env("VIADUCT_LOG", "warn")
                .stdin(Stdio::null())
                .spawn();
            viads.processes.push(viad.expect("it starts"));
            let start = Instant::now();
            while !socket.exists() {
                assert!(start.elapsed() < Duration::from_secs(60), "viad {nic} does not serve");
                sleep(Duration::from_millis(10));
            }
            viads.names += &names_of(nic, &format!("viad:{}", socket.display())).join(";");
            viads.names.push(';');
        }
        viads.names.pop();
        viads
    }

    /// Their processes.
    pub fn ids(&self) -> Vec<u32> {
        self.processes.iter().map(Child::id).collect()
    }

    /// What C programs are told of the NICs.
    pub fn names(&self) -> String {
        self.names.clone()
    }
}

impl Drop for Viads {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The names that programs have for NIC `nic`, each for `name`.
fn names_of(nic: usize, name: &str) -> [String; 4] {
    ["nic", "VINIC", "/dev/via_eth", "/dev/clanvi"].map(|alias| format!("{alias}{nic}={name}"))
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether the library was built behind the last change: who runs the tests alone does not build it.
fn is_newer(library: &Path) -> bool {
    let changed = |file: &Path| file.metadata().and_then(|file| file.modified()).expect("a file has a time");
    let files = |folder: &str| std::fs::read_dir(format!("{FOLDER}/{folder}")).expect("it is there");
    ["src", "../src"].into_iter().flat_map(files).all(|file| {
        let file = file.expect("it is there").path();
        changed(&file) <= changed(library)
    })
}

/// Compiles a program of C, and links it with the library.
#[allow(dead_code, reason = "not every test runs C")]
pub fn compile(source: &Path, standard: &str, folder: &Path) -> PathBuf {
    let library = built("libvipl.so");
    assert!(is_newer(&library), "libvipl.so is older than its sources: `cargo build -p vipl-c`");
    // As an installed library is found: by its soname.
    let link = folder.join("libvipl.so.1");
    if !link.exists() {
        symlink(&library, link).expect("linked");
    }
    let program = folder.join(source.file_stem().expect("a name"));
    let output = Command::new("cc")
        .args([
            standard,
            "-pedantic-errors",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-function",
            "-g",
            "-pthread",
        ])
        .arg("-I")
        .arg(format!("{FOLDER}/../include"))
        .arg(source)
        .arg("-o")
        .arg(&program)
        .arg(&library)
        .output()
        .expect("cc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}
