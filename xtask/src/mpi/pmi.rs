//! PMI: what the ranks of a job ask their launcher, for ranks in machines that have nothing in common but a serial line each to here. The
//! protocol is its version 1: lines of words `name=value`, a question and its answer.

use anyhow::{bail, ensure, Context, Result};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The name of the space in which ranks put what others get.
const SPACE: &str = "job";
/// What a rank asks last.
const LAST: &str = "finalize";

/// What the ranks of a job have in common.
pub struct Job {
    ranks: usize,
    board: Mutex<Board>,
    changed: Condvar,
}

struct Board {
    pairs: BTreeMap<String, String>,
    /// Ranks that wait for the others.
    waiting: usize,
    /// How often all have met.
    meetings: u64,
    /// A rank is gone, for which others may wait.
    is_broken: bool,
}

impl Job {
    /// A job of so many ranks, each on a node of its own.
    pub fn new(ranks: usize) -> Job {
        let nodes = ("PMI_process_mapping".to_string(), format!("(vector,(0,{ranks},1))"));
        let board = Board { pairs: BTreeMap::from([nodes]), waiting: 0, meetings: 0, is_broken: false };
        Job { ranks, board: Mutex::new(board), changed: Condvar::new() }
    }

    /// Answers a rank, until it has said that it is done and its end of the line is closed. QEMU drops what it has not handed to the guest yet when
    /// this end closes first: the last answer among it.
    pub fn serve(&self, line: &UnixStream) -> Result<()> {
        let served = self.talk(line);
        if served.is_err() {
            self.lock().is_broken = true;
            self.changed.notify_all();
        }
        served
    }

    fn talk(&self, line: &UnixStream) -> Result<()> {
        let (questions, mut answers) = (BufReader::new(line).lines(), line);
        let mut is_done = false;
        for question in questions {
            let question = question?;
            let words = words(&question);
            let answer = self.answer(&words).with_context(|| format!("a rank asks {question:?}"))?;
            writeln!(answers, "{answer}")?;
            is_done = words.get("cmd") == Some(&LAST);
        }
        ensure!(is_done, "a rank has ended before it was done");
        Ok(())
    }

    fn answer(&self, words: &BTreeMap<&str, &str>) -> Result<String> {
        let word =
            |name: &str| words.get(name).copied().with_context(|| format!("it does not say its {name}"));
        Ok(match word("cmd")? {
            "init" => "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1".into(),
            "get_maxes" => "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024".into(),
            "get_universe_size" => format!("cmd=universe_size rc=0 size={}", self.ranks),
            "get_appnum" => "cmd=appnum rc=0 appnum=0".into(),
            "get_my_kvsname" => format!("cmd=my_kvsname rc=0 kvsname={SPACE}"),
            "put" => {
                self.lock().pairs.insert(word("key")?.into(), word("value")?.into());
                "cmd=put_result rc=0 msg=success".into()
            }
            "get" => match self.lock().pairs.get(word("key")?) {
                Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
                None => "cmd=get_result rc=-1 msg=key_not_found value=unknown".into(),
            },
            "barrier_in" => {
                self.meet()?;
                "cmd=barrier_out rc=0 msg=success".into()
            }
            LAST => "cmd=finalize_ack rc=0 msg=success".into(),
            _ => bail!("nobody here knows what that is"),
        })
    }

    /// Waits until all ranks are here.
    fn meet(&self) -> Result<()> {
        let mut board = self.lock();
        board.waiting += 1;
        if board.waiting == self.ranks {
            board.waiting = 0;
            board.meetings += 1;
            self.changed.notify_all();
            return Ok(());
        }
        let before = board.meetings;
        let is_alone = |board: &mut Board| board.meetings == before && !board.is_broken;
        let board = self.changed.wait_while(board, is_alone).unwrap_or_else(PoisonError::into_inner);
        ensure!(board.meetings != before, "another rank is gone");
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The words of a line, by their names.
fn words(line: &str) -> BTreeMap<&str, &str> {
    line.split_whitespace().filter_map(|word| word.split_once('=')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks, and waits for the answer.
    fn ask(line: &UnixStream, question: &str) -> String {
        let mut line = line;
        writeln!(line, "{question}").unwrap();
        let mut answer = String::new();
        BufReader::new(line).read_line(&mut answer).unwrap();
        answer.trim_end().to_string()
    }

    #[test]
    fn what_one_rank_puts_the_other_one_gets_when_they_have_met() {
        let job = Job::new(2);
        std::thread::scope(|scope| {
            for rank in 0..2 {
                let (ours, its) = UnixStream::pair().unwrap();
                let job = &job;
                scope.spawn(move || job.serve(&its).unwrap());
                scope.spawn(move || {
                    assert!(ask(&ours, "cmd=init pmi_version=1 pmi_subversion=1").contains("rc=0"));
                    assert_eq!(ask(&ours, "cmd=get_universe_size"), "cmd=universe_size rc=0 size=2");
                    let put = format!("cmd=put kvsname=job key=address-{rank} value=10.0.0.{rank}");
                    assert!(ask(&ours, &put).contains("rc=0"));
                    assert!(ask(&ours, "cmd=barrier_in").starts_with("cmd=barrier_out"));
                    let other = 1 - rank;
                    let got = ask(&ours, &format!("cmd=get kvsname=job key=address-{other}"));
                    assert!(got.ends_with(&format!(" value=10.0.0.{other}")), "{got}");
                    assert!(ask(&ours, "cmd=get kvsname=job key=nothing").contains("rc=-1"));
                    assert!(ask(&ours, "cmd=finalize").starts_with("cmd=finalize_ack"));
                });
            }
        });
    }

    #[test]
    fn the_line_stays_open_behind_the_last_answer_until_the_rank_closes_it() {
        let job = Job::new(1);
        let (ours, its) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            // As a guest's line is: closed when nobody serves it any more.
            let serves = scope.spawn(|| job.serve(&{ its }));
            assert!(ask(&ours, "cmd=finalize").starts_with("cmd=finalize_ack"));
            // One that has closed its end would answer no more.
            assert!(ask(&ours, "cmd=get_appnum").starts_with("cmd=appnum"));
            assert!(ask(&ours, "cmd=finalize").starts_with("cmd=finalize_ack"));
            drop(ours);
            serves.join().unwrap().unwrap();
        });
    }

    #[test]
    fn who_waits_for_a_rank_that_is_gone_hears_of_it() {
        let job = Job::new(2);
        let (ours, its) = UnixStream::pair().unwrap();
        let (gone, nobody) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| job.serve(&its));
            writeln!(&ours, "cmd=barrier_in").unwrap();
            drop(gone);
            assert!(job.serve(&nobody).unwrap_err().to_string().contains("before it was done"));
            let error = waits.join().unwrap().unwrap_err();
            assert!(format!("{error:#}").contains("another rank is gone"), "{error:#}");
        });
    }

    #[test]
    fn what_is_not_known_is_an_error_with_the_question() {
        for question in ["cmd=spawn nprocs=2", "key=x", ""] {
            let (ours, its) = UnixStream::pair().unwrap();
            writeln!(&ours, "{question}").unwrap();
            let error = Job::new(1).serve(&its).unwrap_err().to_string();
            assert!(error.contains(question), "{error}");
        }
    }
}
