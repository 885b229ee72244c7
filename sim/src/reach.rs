//! A file of a client's, as far as it may be waited for.
//!
//! A page of a client's memory may be one that somebody else provides (a file system in user space), and then an access
//! takes as long as that one likes: nothing ends it. The thread that steps all NICs must not wait there. So memory of
//! other users' processes, and files that are not plain memory, are reached by a thread of their own, which is given up
//! after a while: then the access has failed, and every other one to this file fails at once, until the thread comes back. Each time
//! the file is waited for half as long as before, and in the end not at all.
//!
//! Processes of our own user are believed: they could end the simulator in simpler ways. So is what is memory and nothing else
//! (memfd, tmpfs).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{fence, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::sync::{mpsc, Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{fstatfs, PROC_SUPER_MAGIC};

/// Byte of a descriptor's last word that holds DONE: the low byte of Status.
const DONE_BYTE: usize = 4;
/// How long an access may take at first.
const PATIENCE: Duration = Duration::from_millis(200);
/// With less than this it is not waited for any more.
const LEAST: Duration = Duration::from_millis(2);
/// Magic numbers of file systems in memory: tmpfs, hugetlbfs.
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x9584_58f6];

/// A client's file.
#[derive(Debug)]
pub enum Reach {
    /// It is reached where one asks.
    Here(File),
    /// It is reached by a thread of its own.
    Guarded(Guard),
}

/// What the thread is to do.
enum Job {
    Read(u64, usize),
    Write(u64, Vec<u8>),
    Word(u64, [u8; 8]),
}

/// The thread of a file, as the others see it.
#[derive(Debug)]
pub struct Guard(Mutex<Lane>);

#[derive(Debug)]
struct Lane {
    jobs: SyncSender<Job>,
    answers: Receiver<io::Result<Vec<u8>>>,
    /// It was given up, and has not come back.
    stuck: bool,
    patience: Duration,
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the client's memory does not answer")
}

impl Reach {
    /// Finds out how a file is to be reached.
    pub fn of(file: File) -> io::Result<Self> {
        match is_believed(&file) {
            true => Ok(Self::Here(file)),
            false => Ok(Self::Guarded(Guard::new(file)?)),
        }
    }

    /// Whether it is the memory of a process that has none of it any more: it has ended, or become another program. Then a read finds the
    /// end of the file, wherever it is; of memory that lives it finds a byte, or an error.
    pub fn has_ended(&self) -> bool {
        self.read(&mut [0], 0).is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof)
    }

    /// Reads all of `data`.
    pub fn read(&self, data: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Here(file) => file.read_exact_at(data, offset),
            Self::Guarded(guard) => {
                data.copy_from_slice(&guard.ask(Job::Read(offset, data.len()))?);
                Ok(())
            }
        }
    }

    /// Writes a word that the host polls: never seen half written with DONE, whose byte goes last.
    pub fn write_word(&self, word: [u8; 8], offset: u64) -> io::Result<()> {
        match self {
            Self::Here(file) => write_word(file, word, offset),
            Self::Guarded(guard) => guard.ask(Job::Word(offset, word)).map(drop),
        }
    }

    /// Writes all of `data`.
    pub fn write(&self, data: &[u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Here(file) => file.write_all_at(data, offset),
            Self::Guarded(guard) => guard.ask(Job::Write(offset, data.to_vec())).map(drop),
        }
    }
}

impl Guard {
    fn new(file: File) -> io::Result<Self> {
        let (jobs, work) = mpsc::sync_channel(1);
        let (done, answers) = mpsc::channel();
        let serve = move || {
            for job in work {
                let answer = match job {
                    Job::Read(offset, length) => {
                        let mut data = vec![0; length];
                        file.read_exact_at(&mut data, offset).map(|()| data)
                    }
                    Job::Write(offset, data) => file.write_all_at(&data, offset).map(|()| Vec::new()),
                    Job::Word(offset, word) => write_word(&file, word, offset).map(|()| Vec::new()),
                };
                if done.send(answer).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("client-memory".into()).spawn(serve)?;
        Ok(Self(Mutex::new(Lane { jobs, answers, stuck: false, patience: PATIENCE })))
    }

    fn ask(&self, job: Job) -> io::Result<Vec<u8>> {
        // Two flags and two ends: what a thread that panicked left is usable.
        let mut lane = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lane.stuck {
            match lane.answers.try_recv() {
                // The answer that nobody waited for.
                Ok(_) if lane.patience >= LEAST => lane.stuck = false,
                Ok(_) | Err(TryRecvError::Empty | TryRecvError::Disconnected) => return Err(late()),
            }
        }
        lane.jobs.send(job).map_err(|_| late())?;
        match lane.answers.recv_timeout(lane.patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                tracing::warn!(waited = ?lane.patience, "a client's memory does not answer: it is given up for now");
                lane.stuck = true;
                lane.patience /= 2;
                Err(late())
            }
            Err(RecvTimeoutError::Disconnected) => Err(late()),
        }
    }
}

/// The byte that holds DONE in a call of its own, behind the others.
fn write_word(file: &File, word: [u8; 8], offset: u64) -> io::Result<()> {
    file.write_all_at(&word[..DONE_BYTE], offset)?;
    file.write_all_at(&word[DONE_BYTE + 1..], offset + DONE_BYTE as u64 + 1)?;
    fence(Ordering::SeqCst);
    file.write_all_at(&word[DONE_BYTE..=DONE_BYTE], offset + DONE_BYTE as u64)
}

/// Whether a file is something of a process's, in /proc.
pub fn is_of_process(file: &File) -> bool {
    fstatfs(file).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC)
}

/// Whether an access to a file ends by itself, or its owner may be believed to end it.
fn is_believed(file: &File) -> bool {
    match fstatfs(file).map(|system| system.f_type) {
        Ok(kind) if kind == PROC_SUPER_MAGIC => is_own_users(file),
        #[allow(clippy::unnecessary_cast, reason = "its type is the architecture's")]
        Ok(kind) => IN_MEMORY.contains(&(kind as i64)),
        Err(_) => false,
    }
}

/// Whether a file is `/proc/PID/mem` of a process of our user's. Whose the file itself is says nothing: a process can change that.
fn is_own_users(file: &File) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let link = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok();
    let folder = link.as_deref().and_then(|path| path.parent());
    let status = folder.and_then(|folder| std::fs::read_to_string(folder.join("status")).ok());
    let line = status.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("Uid:")));
    line.is_some_and(|uids| {
        let uids: Vec<_> = uids.split_whitespace().map(str::parse::<u32>).collect();
        uids.len() == 4 && uids.iter().all(|uid| *uid == Ok(own))
    })
}

/// A client's file, for several mappings.
pub type Shared = Arc<Reach>;

#[cfg(test)]
#[path = "../../tests/viad/src/fuse.rs"]
mod fuse;

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::time::Instant;

    use super::*;

    #[test]
    fn memory_and_our_own_users_processes_are_reached_at_once() {
        let own = OpenOptions::new().read(true).write(true).open("/proc/self/mem").unwrap();
        assert!(matches!(Reach::of(own), Ok(Reach::Here(_))));
        let memfd = rustix::fs::memfd_create("memory", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        assert!(matches!(Reach::of(memfd.into()), Ok(Reach::Here(_))));
        // Somebody may wait behind any other file: this one's status is no process's memory.
        assert!(matches!(Reach::of(File::open("/proc/version").unwrap()), Ok(Reach::Guarded(_))));
    }

    #[test]
    fn the_memory_of_a_process_ends_with_it() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let memory = File::open(format!("/proc/{}/mem", child.id())).unwrap();
        let own = File::open("/proc/self/mem").unwrap();
        let [reach, own] = [memory, own].map(|file| Reach::of(file).unwrap());
        assert!(!own.has_ended());
        // The child may still be on its way to the program that it becomes: what was opened before that has ended, too.
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(reach.has_ended() && !own.has_ended());
    }

    #[test]
    fn a_guarded_file_is_read_and_written() {
        let memfd: File = rustix::fs::memfd_create("memory", rustix::fs::MemfdFlags::CLOEXEC).unwrap().into();
        memfd.set_len(4096).unwrap();
        let reach = Reach::Guarded(Guard::new(memfd).unwrap());
        reach.write(b"written", 100).unwrap();
        let mut data = [0; 7];
        reach.read(&mut data, 100).unwrap();
        assert_eq!(&data, b"written");
        let error = reach.read(&mut data, 4092).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        reach.read(&mut data, 100).unwrap();
    }

    #[test]
    fn memory_that_does_not_answer_is_given_up_and_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let (file, provider) = match fuse::open(folder.path()) {
            Ok(served) => served,
            Err(error) => return eprintln!("not tested here: no file system in user space: {error}"),
        };
        let reach = Reach::of(file).unwrap();
        assert!(matches!(reach, Reach::Guarded(_)));
        let mut data = [0; 8];
        let start = Instant::now();
        assert_eq!(reach.read(&mut data, 0).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(start.elapsed() >= PATIENCE);
        // Nobody waits for it again, whatever is asked.
        let start = Instant::now();
        for _ in 0..1000 {
            assert_eq!(reach.write(&data, 4096).unwrap_err().kind(), io::ErrorKind::TimedOut);
        }
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
        // Without its file system the file answers: with errors.
        drop(provider);
        let start = Instant::now();
        while reach.read(&mut data, 0).unwrap_err().kind() == io::ErrorKind::TimedOut {
            assert!(start.elapsed() < Duration::from_secs(20), "it does not come back");
            std::thread::sleep(Duration::from_millis(1));
        }
        // Who does that again and again is not waited for in the end.
        let Reach::Guarded(Guard(lane)) = &reach else { panic!("guarded") };
        assert_eq!(lane.lock().unwrap().patience, PATIENCE / 2);
        *lane.lock().unwrap() = Lane {
            stuck: true,
            patience: LEAST / 2,
            jobs: mpsc::sync_channel(1).0,
            answers: {
                let (sender, answers) = mpsc::channel();
                sender.send(Ok(Vec::new())).unwrap();
                answers
            },
        };
        assert!((0..3).all(|_| reach.read(&mut data, 0).unwrap_err().kind() == io::ErrorKind::TimedOut));
    }
}
