//! A simulator with model NICs, and a viad for each.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{host::separate, program::program};
use vipl::{Descriptor, MemAttributes, Nic, Region, Vi, ViAttributes};

/// How long anything may take on a machine that is busy with other things.
pub const LONG: Duration = Duration::from_secs(60);

/// A process that ends with the test.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The stage.
pub struct Stage {
    /// One for each NIC.
    pub viads: Vec<Process>,
    sim: Process,
    /// Sockets, logs, configuration.
    pub folder: tempfile::TempDir,
    /// More of the configuration.
    config: String,
    /// The viads have network interfaces, in namespaces of their own.
    interfaces: bool,
}

impl Stage {
    /// So many NICs, each with its viad.
    pub fn new(nics: usize) -> Self {
        Self::with(nics, "")
    }

    /// With more of the viads' configuration.
    pub fn with(nics: usize, config: &str) -> Self {
        Self::with_free(nics, 0, config)
    }

    /// The last `free` of the NICs are nobody's.
    pub fn with_free(nics: usize, free: usize, config: &str) -> Self {
        Self::of("model", nics, free, config)
    }

    /// With NICs of this kind: `model` or `rtl`.
    pub fn of(kind: &str, nics: usize, free: usize, config: &str) -> Self {
        Self::made(kind, nics, free, config, false)
    }

    /// Each viad is in a network namespace of its own, and has an interface there: `via0` and so on.
    pub fn with_interfaces(nics: usize) -> Self {
        Self::made("model", nics, 0, "", true)
    }

    fn made(kind: &str, nics: usize, free: usize, config: &str, interfaces: bool) -> Self {
        let folder = tempfile::Builder::new().prefix("viad").tempdir().expect("a folder");
        // Clients of other users come here.
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), everybody).expect("ours");
        let log = std::fs::File::create(folder.path().join("sim.log")).expect("a file");
        let child = Command::new(program("viaduct-sim"))
            .args(["--nics", &nics.to_string(), "--nic", kind, "--dir"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("it starts");
        let mut stage =
            Self { viads: Vec::new(), sim: Process(child), folder, config: config.into(), interfaces };
        for nic in 0..nics {
            let socket = stage.folder.path().join(format!("nic{nic}.sock"));
            let died = stage.sim.0.try_wait().ok().flatten();
            assert!(until(LONG, || socket.exists()), "the simulator serves: {died:?}");
        }
        for nic in 0..nics - free {
            let viad = stage.start(nic);
            stage.viads.push(viad);
        }
        stage
    }

    /// Starts a viad.
    pub fn start(&self, nic: usize) -> Process {
        let folder = self.folder.path();
        let config = folder.join("viad.toml");
        std::fs::write(
            &config,
            format!("mode = 0o666\nhosts = '{}/hosts'\n{}", folder.display(), self.config),
        )
        .expect("written");
        let device = self.device(nic);
        let spawn = || {
            let log = std::fs::File::create(folder.join(format!("viad{nic}.log"))).expect("a file");
            let mut command = Command::new(program("viad"));
            if self.interfaces {
                command.args(["--tap", &format!("via{nic}")]);
                separate(&mut command);
            }
            let child = command
                .args(["--nic", &device, "--config"])
                .arg(&config)
                .arg("--socket")
                .arg(self.socket(nic))
                .env("VIADUCT_LOG", "viad=debug,viaduct_driver=warn")
                .stdin(Stdio::null())
                .stderr(log)
                .spawn();
            Process(child.expect("it starts"))
        };
        let mut viad = spawn();
        let serves = until(LONG, || {
            // The simulator may not have noticed yet that the one before has ended: as systemd would, once more.
            if viad.0.try_wait().ok().flatten().is_some() {
                std::thread::sleep(Duration::from_millis(50));
                viad = spawn();
            }
            self.log(nic).contains("serving")
        });
        assert!(serves, "viad serves: {}", self.log(nic));
        viad
    }

    /// A NIC itself.
    pub fn device(&self, nic: usize) -> String {
        let socket = self.folder.path().join(format!("nic{nic}.sock"));
        let number = nic + 1;
        format!("vfio-user:{},ip=10.0.0.{number},mac=02:00:00:00:00:{number:02x}", socket.display())
    }

    /// A viad's socket.
    pub fn socket(&self, nic: usize) -> PathBuf {
        self.folder.path().join(format!("viad{nic}.sock"))
    }

    /// What programs open.
    pub fn name(&self, nic: usize) -> String {
        format!("viad:{}", self.socket(nic).display())
    }

    /// What a viad has logged.
    pub fn log(&self, nic: usize) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("viad{nic}.log"))).unwrap_or_default()
    }

    /// The simulator's process.
    pub fn simulator(&self) -> u32 {
        self.sim.0.id()
    }

    /// Kills a viad.
    pub fn kill(&mut self, nic: usize) {
        self.viads[nic].0.kill().expect("it lives");
        self.viads[nic].0.wait().expect("it has ended");
    }

    /// A viad that was killed has a successor.
    pub fn replace(&mut self, nic: usize, viad: Process) {
        self.viads[nic] = viad;
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for nic in 0..self.viads.len() {
                eprintln!("--- viad {nic}\n{}", tail(&self.folder.path().join(format!("viad{nic}.log"))));
            }
            eprintln!("--- simulator\n{}", tail(&self.folder.path().join("sim.log")));
        }
    }
}

fn tail(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

/// Waits until something is so.
pub fn until(limit: Duration, mut so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if so() {
            return true;
        }
        if start.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A VI with memory for messages: descriptors at the start, `BUFFER` and up for data.
pub struct End {
    /// The VI.
    pub vi: Arc<Vi>,
    /// Its memory.
    pub memory: Region,
    /// Its NIC.
    pub nic: Nic,
}

/// Where data starts.
pub const BUFFER: usize = 64 * 64;
/// Bytes of an end's memory.
pub const BYTES: usize = 1 << 20;

impl End {
    /// A new one, idle.
    pub fn new(nic: &Nic) -> Self {
        let ptag = nic.create_ptag().expect("a tag");
        let memory = nic.allocate(BYTES, &MemAttributes::new(&ptag)).expect("memory");
        let vi = Arc::new(nic.create_vi(&ViAttributes::new(&ptag)).expect("a VI"));
        Self { vi, memory, nic: nic.clone() }
    }

    /// A descriptor with one segment.
    pub fn descriptor(&self, slot: usize, offset: usize, length: usize) -> Descriptor {
        let one = Descriptor::new().segment(&self.memory, offset, length).expect("inside");
        one.build(&self.memory, slot * 64).expect("aligned")
    }

    /// Posts a receive.
    pub fn post_recv(&self, slot: usize, offset: usize, length: usize) {
        self.vi.post_recv(self.descriptor(slot, offset, length)).expect("posted");
    }

    /// Posts a send of these bytes.
    pub fn send(&self, slot: usize, offset: usize, bytes: &[u8]) {
        self.memory.write(offset, bytes).expect("inside");
        self.vi.post_send(self.descriptor(slot, offset, bytes.len())).expect("posted");
    }

    /// Bytes of its memory.
    pub fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read(offset, &mut bytes).expect("inside");
        bytes
    }
}

/// Two ends in this process, connected.
pub fn connected(one: &Nic, other: &Nic) -> (End, End) {
    let (one, other) = (End::new(one), End::new(other));
    connect(&one, &other);
    (one, other)
}

/// Connects two ends.
pub fn connect(one: &End, other: &End) {
    let infos = [one.vi.connection_info(), other.vi.connection_info()];
    one.vi.connect(&infos[1]).expect("idle");
    other.vi.connect(&infos[0]).expect("idle");
}
