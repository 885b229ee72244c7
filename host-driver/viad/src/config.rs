//! The configuration file: TOML. `viad.toml` beside the sources holds the defaults, each with its meaning.

use std::path::PathBuf;

use anyhow::{ensure, Result};
use serde::{Deserialize, Serialize};

/// What viad does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The NIC: `vfio:ADDRESS` or `vfio-user:PATH`, and after commas `mac=`, `ip=`, `seed=`.
    pub nic: String,
    /// Path of the Unix socket.
    pub socket: PathBuf,
    /// Its permissions: who may write the socket may use the NIC.
    pub mode: u32,
    /// The group that owns it, by number; viad's own if there is none.
    pub group: Option<u32>,
    /// The host's network interface on the NIC's wire; none without a name.
    pub tap: Option<String>,
    /// How long the forwarder looks for doorbells before it sleeps, in microseconds.
    pub poll_us: u64,
    /// How long an interrupt vector rests after each interrupt, in microseconds.
    pub holdoff_us: u64,
    /// How long the other end of a connection may be silent before it is asked whether it is there, in milliseconds. The end that
    /// was asked for the connection waits longer by half.
    pub silence_ms: u64,
    /// The hosts file, for the name service of clients.
    pub hosts: PathBuf,
    /// What one client may do.
    pub client: Client,
    /// What all clients of one user may have.
    pub user: Limits,
    /// Users whose programs get the function itself.
    pub trusted: Trusted,
}

/// Users whose programs get the function itself, and what each of their sessions has of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Trusted {
    /// The users, by number.
    pub users: Vec<u32>,
    /// DMA addresses of a session, in bytes.
    pub addresses: u64,
    /// DMA maps of a session.
    pub maps: u32,
}

/// What one client may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Client {
    /// VIs: its arena has room for their rings.
    pub vis: u16,
}

/// What all clients of one user may have at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Sessions.
    pub sessions: u64,
    /// Virtual interfaces; half of the NIC's if it is not said.
    pub vis: Option<u64>,
    /// Completion queues; half of the NIC's if it is not said.
    pub cqs: Option<u64>,
    /// Regions; half of the NIC's if it is not said.
    pub regions: Option<u64>,
    /// Rows of the NIC's region table: those of regions, and one each session's arena and completion queue's ring. A third of them if it is
    /// not said, or what `regions`, `cqs` and `sessions` come to.
    pub rows: Option<u64>,
    /// Rows of the NIC's page table; a third of them, or two for each of `rows`, if it is not said.
    pub pages: Option<u64>,
    /// Protection tags.
    pub tags: u64,
    /// Bytes in regions, whole pages; half of the machine's memory if it is not said.
    pub bytes: Option<u64>,
    /// Bytes that viad has in common with the user: arenas, rings of completion queues, pools. Half of the machine's memory if it is not said.
    pub shared: Option<u64>,
    /// Pools: memory that the library has allocated, in pieces of 1 MiB or more.
    pub pools: u64,
    /// Who waits for connections, and who has asked for one and is not decided on.
    pub listeners: u64,
    /// Requests a second; more of them wait.
    pub requests: u32,
    /// Requests at once, after a time without.
    pub burst: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            nic: String::new(),
            socket: "/run/viad.sock".into(),
            mode: 0o660,
            group: None,
            tap: None,
            poll_us: 50,
            holdoff_us: 0,
            silence_ms: 10_000,
            hosts: "/etc/vip_hosts".into(),
            client: Client::default(),
            user: Limits::default(),
            trusted: Trusted::default(),
        }
    }
}

impl Default for Trusted {
    fn default() -> Self {
        Self { users: Vec::new(), addresses: 16 << 30, maps: 1024 }
    }
}

impl Default for Client {
    fn default() -> Self {
        Self { vis: 64 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 64,
            vis: None,
            cqs: None,
            regions: None,
            rows: None,
            pages: None,
            tags: 1024,
            bytes: None,
            shared: None,
            pools: 256,
            listeners: 128,
            requests: 20_000,
            burst: 2000,
        }
    }
}

impl Config {
    /// Whether it makes sense.
    pub fn check(&self) -> Result<()> {
        ensure!(!self.nic.is_empty(), "no NIC is named: `nic` in the configuration, or --nic");
        ensure!(self.mode <= 0o777, "mode {:o} is no file's", self.mode);
        ensure!((1..=1024).contains(&self.client.vis), "client.vis is 1 to 1024");
        ensure!(
            self.user.requests > 0 && self.user.burst > 0,
            "user.requests and user.burst are more than 0"
        );
        ensure!(self.holdoff_us <= 33_000, "holdoff_us is at most 33000");
        ensure!((100..=3_600_000).contains(&self.silence_ms), "silence_ms is 100 to 3600000");
        let Trusted { addresses, maps, .. } = self.trusted;
        ensure!(
            addresses > 0 && addresses % 4096 == 0 && addresses <= 1 << 56,
            "trusted.addresses is whole pages of 4096 bytes, up to 2^56"
        );
        ensure!(maps > 0, "trusted.maps is more than 0");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_file_holds_the_defaults() {
        let text = include_str!("../viad.toml");
        let documented: Config = toml::from_str(text).expect("it is TOML");
        assert_eq!(documented, Config { nic: documented.nic.clone(), ..Config::default() });
        documented.check().expect("it makes sense");
        // Every key is there, if only in a comment.
        let one = Some(1);
        let user = Limits { vis: one, cqs: one, regions: one, ..Limits::default() };
        let user = Limits { rows: one, pages: one, bytes: one, shared: one, ..user };
        let all =
            toml::to_string(&Config { group: Some(0), tap: Some(String::new()), user, ..Config::default() })
                .expect("TOML");
        for key in all.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key) {
            assert!(text.contains(&format!("{key} = ")), "{key} is not documented");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(toml::from_str::<Config>("nick = 1").is_err(), "an unknown key");
        for text in [
            "",
            "nic = 'x'\nmode = 0o7777",
            "nic = 'x'\nclient.vis = 0",
            "nic = 'x'\nholdoff_us = 40000",
            "nic = 'x'\nsilence_ms = 99",
            "nic = 'x'\nsilence_ms = 3600001",
            "nic = 'x'\ntrusted.addresses = 5000",
            "nic = 'x'\ntrusted.maps = 0",
        ] {
            assert!(toml::from_str::<Config>(text).expect("TOML").check().is_err(), "{text}");
        }
    }
}
