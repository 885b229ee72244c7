//! A child process that ends when its owner does, however that comes about.

use crate::command::Cmd;
use anyhow::{Context, Result};
use std::process::{Child, ChildStderr, ChildStdout, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a child has to end by itself.
const END: Duration = Duration::from_secs(5);

/// A child process.
pub struct Running {
    child: Child,
}

impl Running {
    /// Starts `cmd`, with pipes for its output. On Ctrl-C, or should this process be killed, the kernel
    /// ends the child; it asks for that itself, by setpriv, before it becomes the program.
    pub fn start(cmd: &Cmd) -> Result<Running> {
        let mut command = cmd.clone().tethered().command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().with_context(|| format!("cannot start {cmd}"))?;
        Ok(Running { child })
    }

    /// Its output and its errors, once.
    pub fn outputs(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        Some((self.child.stdout.take()?, self.child.stderr.take()?))
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Ends it at once, as nothing in it can prevent (SIGKILL).
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// How it ended, if it does so in a few seconds.
    pub fn wait(&mut self) -> Result<Option<ExitStatus>> {
        let start = Instant::now();
        while start.elapsed() < END {
            if let Some(status) = self.ended()? {
                return Ok(Some(status));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(None)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::path::Path;

    #[test]
    fn a_child_does_not_outlive_its_owner() {
        // The owner here is a shell that starts a child as we do and is then killed.
        let inner = Cmd::new("sleep").arg("600").tethered();
        let script = format!("{inner} & echo $!; wait");
        let mut owner = Running::start(&Cmd::new("sh").args(["-c", &script])).unwrap();
        let (mut output, _) = owner.outputs().unwrap();
        let mut digit = [0];
        let mut pid = String::new();
        while output.read(&mut digit).unwrap() == 1 && digit[0] != b'\n' {
            pid.push(char::from(digit[0]));
        }
        let sleeper = format!("/proc/{pid}/comm");
        let start = Instant::now();
        // The shell's child is a shell, then setpriv, then the sleeper.
        while std::fs::read_to_string(&sleeper).unwrap().trim() != "sleep" {
            assert!(start.elapsed() < END);
        }
        drop(owner);
        while std::fs::read_to_string(&sleeper).is_ok_and(|name| name.trim() == "sleep") && alive(&pid) {
            assert!(start.elapsed() < 2 * END, "{pid} is still there");
        }
    }

    /// Neither gone nor a zombie that nobody here can wait for.
    fn alive(pid: &str) -> bool {
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn tells_how_it_ended() {
        let mut child = Running::start(&Cmd::new("false")).unwrap();
        assert!(!child.wait().unwrap().unwrap().success());
        assert!(Running::start(&Cmd::new("sleep").arg("600")).unwrap().ended().unwrap().is_none());
    }
}
