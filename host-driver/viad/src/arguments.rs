//! The command line.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;

use crate::config::Config;

/// VIA's Kernel Agent as a service: owns one NIC, and serves a Unix socket to the processes that share it.
///
/// Programs open the NIC `viad:SOCKET`. Options go before the configuration file, which goes before the defaults. It logs to
/// stderr; the variable VIADUCT_LOG says how much, by levels, and levels of parts: info (the default), debug,
/// warn,viaduct_driver::vfio=trace.
#[derive(Debug, Clone, Parser)]
#[command(name = "viad", version)]
pub struct Arguments {
    /// Configuration file (TOML); share/doc/viaduct/viad.toml, which is installed, documents it
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The NIC: vfio:ADDRESS or vfio-user:PATH, and after commas mac=, ip=, seed=
    #[arg(short, long, value_name = "NAME")]
    pub nic: Option<String>,
    /// Path of the Unix socket
    #[arg(short, long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// A network interface of the host's on the NIC's wire, by this name; it needs CAP_NET_ADMIN
    #[arg(short, long, value_name = "NAME")]
    pub tap: Option<String>,
    /// Read the configuration, say what is in force, and end
    #[arg(long)]
    pub check: bool,
}

impl Arguments {
    /// What is in force.
    pub fn config(&self) -> Result<Config> {
        let mut config = match &self.config {
            None => Config::default(),
            Some(path) => {
                let place = || path.display().to_string();
                let text = std::fs::read_to_string(path).with_context(place)?;
                toml::from_str(&text).with_context(place)?
            }
        };
        if let Some(nic) = &self.nic {
            config.nic.clone_from(nic);
        }
        if let Some(socket) = &self.socket {
            config.socket.clone_from(socket);
        }
        if let Some(tap) = &self.tap {
            config.tap = Some(tap.clone());
        }
        config.check()?;
        if self.check {
            print!("{}", toml::to_string(&config)?);
            std::process::exit(0);
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    /// `VIAD_MANUAL=write cargo test -p viad manual` writes it anew.
    #[test]
    fn the_manual_is_that_of_the_command_line() {
        let mut page = Vec::new();
        // An empty date would be written as nothing, and what comes behind it would be the date.
        let manual = clap_mangen::Man::new(Arguments::command()).section("8").date("\"\"").manual("Viaduct");
        manual.render(&mut page).expect("into memory");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/viad.8");
        if std::env::var_os("VIAD_MANUAL").is_some_and(|what| what == "write") {
            std::fs::write(path, &page).expect("writable");
        }
        let written = std::fs::read(path).expect("it is there");
        assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&page));
    }
}
