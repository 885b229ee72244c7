//! `viaduct demo`: a simulator with two NICs, two applications, and a file from the first to the
//! second. Three processes: the applications reach their NICs through the simulator's sockets only.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{bail, ensure, Context, Result};
use clap::{builder::ArgPredicate, Args};
use rand::{RngCore, SeedableRng};
use sha2::{Digest, Sha256};
use vipl::{Mac, Mtu};

use crate::{
    link::{self, Link},
    note::{self, Note, Report},
    peer::Reliability,
    simulator::{self, how, nic_socket, Process, Settings},
    stop::Stop,
};

/// Cycles of the NIC's clock in a microsecond.
const CYCLES_PER_US: f64 = 125.0;
/// How long one application may live on when the other has ended.
const GRACE: Duration = Duration::from_secs(15);
/// How often the processes are looked after.
const LOOK: Duration = Duration::from_millis(50);

/// Moves a file between two simulated NICs.
#[derive(Args)]
pub struct Arguments {
    /// The file to move; random bytes when not given
    #[arg(long)]
    file: Option<PathBuf>,
    /// Random bytes to move
    #[arg(long, default_value_t = 1 << 20, conflicts_with = "file")]
    size: u64,
    /// Seed of the random bytes
    #[arg(long, conflicts_with = "file")]
    seed: Option<u64>,
    /// Bytes of a message
    #[arg(long, default_value_t = 64 << 10)]
    message: u32,
    /// Receives posted ahead
    #[arg(long, default_value_t = 8)]
    window: u32,
    /// Reliability level
    #[arg(long, value_enum, default_value = "delivery")]
    reliability: Reliability,
    /// Largest packet in bytes: 256, 512, 1024, 2048 or 4096
    #[arg(long, default_value = "1024")]
    mtu: Mtu,
    /// What is between each NIC and its host
    #[arg(long, value_enum, default_value = "core")]
    link: Link,
    /// Captures every frame into this file
    #[arg(long)]
    pcap: Option<PathBuf>,
    /// Records every signal into this waveform file
    #[arg(long)]
    trace: Option<PathBuf>,
    /// Makes the ICRC of the Nth RoCE frame wrong; may be given more than once
    #[arg(long, value_name = "N")]
    flip_icrc: Vec<u64>,
    /// Seconds without any progress after which the applications give up [with --trace, which is slow: 120]
    #[arg(long, default_value_t = 10, default_value_if("trace", ArgPredicate::IsPresent, "120"))]
    timeout: u64,
}

/// `viaduct demo`.
pub fn run(arguments: Arguments) -> Result<()> {
    let stop = Stop::on_signals()?;
    let folder = tempfile::Builder::new().prefix("viaduct-demo-").tempdir()?;
    let (file, origin) = match &arguments.file {
        Some(file) => (file.clone(), file.display().to_string()),
        None => {
            let seed = arguments.seed.unwrap_or_else(rand::random);
            let file = folder.path().join("sent");
            generate(&file, arguments.size, seed).context("generating a file")?;
            (file, format!("random bytes, seed {seed}"))
        }
    };
    let settings = Settings {
        dir: folder.path().join("sim"),
        nics: 2,
        pcap: arguments.pcap.clone(),
        trace: arguments.trace.clone(),
        more: vec!["--link".into(), arguments.link.name().into()],
    };
    let begin = Instant::now();
    let (mut simulator, mut control) = simulator::start(&settings, &stop)?;
    if !arguments.flip_icrc.is_empty() {
        control.flip_icrc(&arguments.flip_icrc)?;
    }
    let start = begin.elapsed();
    let received = folder.path().join("received");
    let (sender, receiver) = applications(&arguments, &settings.dir, &file, &received)?;
    let bytes = file.metadata().with_context(|| file.display().to_string())?.len();
    let ends = watch(&stop, bytes, &mut simulator, sender, receiver)?;

    let mut status = control.status()?;
    let own = [hash(&file)?, hash(&received)?];
    let [sent, got] = ends;
    println!("{} bytes in {} messages, path MTU {}", sent.bytes, sent.messages, sent.mtu);
    println!("  file        {origin}");
    println!("  sent        sha256 {}", sent.sha256);
    println!("  received    sha256 {}", got.sha256);
    println!(
        "  carried by  {} (sender's NIC) and {} (receiver's NIC), by their KIND registers",
        sent.kind, got.kind
    );
    if arguments.link == Link::Pcie {
        link::report(status.nics.iter().map(|nic| nic.pcie))?;
    }
    println!(
        "  frames      {} from the sender, {} back ({} acknowledgements)",
        sent.counter("FRAMES_SENT"),
        got.counter("FRAMES_SENT"),
        got.counter("ACKS_SENT"),
    );
    println!(
        "  NIC         {:.0} cycles from connected to complete = {:.3} ms of device time: {:.1} Mbit/s",
        sent.device_us * CYCLES_PER_US,
        sent.device_us / 1e3,
        sent.bytes as f64 * 8.0 / sent.device_us.max(1.0),
    );
    println!(
        "  wall        {:.2} s of transfer, {:.2} s of start-up: {:.0} NIC cycles a wall second",
        sent.seconds,
        start.as_secs_f64(),
        sent.device_us * CYCLES_PER_US / sent.seconds.max(1e-9),
    );
    println!("  processes   simulator {}, sender {}, receiver {}", simulator.pid(), sent.pid, got.pid);
    for path in [&arguments.pcap, &arguments.trace].into_iter().flatten() {
        println!("  recorded    {}", path.display());
    }
    let broken: Vec<String> =
        status.nics.iter_mut().flat_map(|nic| std::mem::take(&mut nic.violations)).collect();
    ensure!(broken.is_empty(), "a NIC broke a rule of the bus: {}", broken.join("; "));
    ensure!(
        own == [sent.sha256.clone(), sent.sha256.clone()] && sent.sha256 == got.sha256,
        "the bytes differ: the files' sha256 are {} and {}",
        own[0],
        own[1]
    );
    println!("the bytes are the same");
    Ok(())
}

/// Starts the two applications.
fn applications(
    arguments: &Arguments,
    sim: &Path,
    file: &Path,
    received: &Path,
) -> Result<(Process, Process)> {
    let start = |name: &'static str, nic: usize, file: &Path, more: &[(&str, String)]| {
        let mut command = Command::new(std::env::current_exe()?);
        let socket = nic_socket(sim, nic);
        let (mac, host) = (address(nic), nic + 1);
        command.arg(if nic == 0 { "send" } else { "receive" });
        command.arg("--nic").arg(format!("vfio-user:{},mac={mac},ip=10.0.0.{host}", socket.display()));
        command.arg("--file").arg(file).arg("--json");
        command.arg("--reliability").arg(arguments.reliability.name());
        command.arg("--mtu").arg(arguments.mtu.bytes().to_string());
        command.arg("--timeout").arg(arguments.timeout.to_string());
        for (option, value) in more {
            command.arg(option).arg(value);
        }
        // What they say for people, they say for the demo, too, which says who said it.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Process::start(name, command)
    };
    let receiver = start("receiver", 1, received, &[("--window", arguments.window.to_string())])?;
    let message = [("--message", arguments.message.to_string()), ("--", address(1).to_string())];
    let sender = start("sender", 0, file, &message)?;
    Ok((sender, receiver))
}

/// The address of a NIC.
fn address(nic: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, nic as u8 + 1])
}

/// What comes from the applications' standard outputs.
enum Heard {
    Note(usize, Note),
    End(usize),
}

/// Waits for the two applications, and shows how far they are.
fn watch(
    stop: &Stop,
    bytes: u64,
    simulator: &mut Process,
    sender: Process,
    receiver: Process,
) -> Result<[Report; 2]> {
    let mut processes = [sender, receiver];
    let (say, heard) = mpsc::channel();
    for (who, process) in processes.iter_mut().enumerate() {
        let output = process.output().context("an application without an output")?;
        let say = say.clone();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Ok(note) = serde_json::from_str(&line) {
                    let _ = say.send(Heard::Note(who, note));
                }
            }
            let _ = say.send(Heard::End(who));
        });
    }
    drop(say);
    let bar = note::bar(bytes);
    let mut reports: [Option<Report>; 2] = [None, None];
    let mut failures = Vec::new();
    let mut ended = [false; 2];
    let mut first_end = None;
    let names = ["sender", "receiver"];
    while ended != [true; 2] {
        match heard.recv_timeout(LOOK) {
            Ok(Heard::Note(1, Note::Progress(bytes))) => bar.set_position(bytes),
            Ok(Heard::Note(_, Note::Progress(_))) => {}
            Ok(Heard::Note(who, Note::Report(report))) => reports[who] = Some(report),
            Ok(Heard::Note(who, Note::Failure(why))) => failures.push(format!("the {}: {why}", names[who])),
            Ok(Heard::End(who)) => {
                ended[who] = true;
                first_end.get_or_insert_with(Instant::now);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        stop.check()?;
        if first_end.is_some_and(|end: Instant| end.elapsed() > GRACE) {
            failures.push("one application ended, the other does not".into());
            break;
        }
    }
    bar.finish_and_clear();
    if let Err(error) = simulator.check() {
        failures.insert(0, format!("{error:#}"));
    }
    if let ([Some(_), Some(_)], true) = (&reports, failures.is_empty()) {
        let [Some(sent), Some(got)] = reports else { bail!("no report") };
        return Ok([sent, got]);
    }
    for (process, name) in processes.iter_mut().zip(names) {
        // One that was killed could not say why.
        let silent = !failures.iter().any(|failure| failure.starts_with(&format!("the {name}")));
        if let (Some(status), true) = (process.ended()?, silent) {
            if !status.success() {
                failures.push(format!("the {name} ended {}", how(status)));
            }
        }
    }
    bail!("the file did not arrive\n  {}", distinct(failures).join("\n  "))
}

/// Leaves out what another failure says, too: an application that gives up tells the other one why.
fn distinct(failures: Vec<String>) -> Vec<String> {
    let said = |text: &String, other: &String| {
        let why = text.split_once(": ").map_or(text.as_str(), |(_, why)| why);
        text.len() < other.len() && other.contains(why)
    };
    failures.iter().filter(|text| !failures.iter().any(|other| said(text, other))).cloned().collect()
}

/// Fills a file with random bytes.
fn generate(path: &Path, bytes: u64, seed: u64) -> io::Result<()> {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut file = io::BufWriter::new(File::create(path)?);
    let mut left = bytes;
    let mut block = [0; 4096];
    while left > 0 {
        let count = left.min(4096) as usize;
        rng.fill_bytes(&mut block[..count]);
        file.write_all(&block[..count])?;
        left -= count as u64;
    }
    file.flush()
}

/// SHA-256 of a file.
fn hash(path: &Path) -> Result<String> {
    let context = || path.display().to_string();
    let mut file = File::open(path).with_context(context)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block).with_context(context)? {
            0 => break,
            count => hash.update(&block[..count]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_given_once() {
        let told = |texts: &[&str]| distinct(texts.iter().map(|text| text.to_string()).collect());
        let full = "the receiver: the sender gave up: a send failed; the receiver's NIC: DROP_ICRC 1";
        assert_eq!(told(&["the sender: a send failed", full]), [full]);
        assert_eq!(told(&["the sender: x", "the receiver: y"]), ["the sender: x", "the receiver: y"]);
        assert_eq!(told(&["the sender: x", "the receiver: x"]), ["the receiver: x"]);
        assert_eq!(told(&["x", "x"]), ["x", "x"]);
    }

    #[test]
    fn a_seed_gives_the_same_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |n: u32| folder.path().join(n.to_string());
        for (n, seed) in [(1, 7), (2, 7), (3, 8)] {
            generate(&path(n), 10_000, seed).expect("a disk");
        }
        assert_eq!(path(1).metadata().expect("a file").len(), 10_000);
        let hashes: Vec<String> = (1..=3).map(|n| hash(&path(n)).expect("a file")).collect();
        assert_eq!(hashes[0], hashes[1]);
        assert_ne!(hashes[0], hashes[2]);
        generate(&path(4), 0, 7).expect("a disk");
        assert_eq!(
            hash(&path(4)).ok().as_deref(),
            Some("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            "SHA-256 of nothing"
        );
    }
}
