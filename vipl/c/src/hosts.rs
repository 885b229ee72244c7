//! The hosts file of the name service: `VIPL_HOSTS`, else that of the NIC's viad, else /etc/vip_hosts. One NIC a line: its Ethernet address and the names of its
//! host, in any order; an IPv4 address among them is the NIC's. `#` begins a comment.

use std::{env, fs, net::Ipv4Addr};

use via::{Mac, Nic};

/// Where it is, unless `VIPL_HOSTS` says otherwise.
const FILE: &str = "/etc/vip_hosts";

/// What the file says.
#[derive(Debug)]
pub struct Hosts(Vec<Host>);

/// A line of it.
#[derive(Debug)]
pub struct Host {
    pub mac: Mac,
    pub ip: Option<Ipv4Addr>,
    names: Vec<String>,
}

impl Hosts {
    /// Reads the file that `VIPL_HOSTS` names, else that of the NIC's viad, else [`FILE`].
    pub fn read(nic: &Nic) -> Option<Self> {
        let text = match env::var("VIPL_HOSTS") {
            Ok(file) => fs::read_to_string(file).ok()?,
            Err(_) => match nic.hosts().ok()? {
                Some(text) => text,
                None => fs::read_to_string(FILE).ok()?,
            },
        };
        Some(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let host = |line: &str| {
            let mut host = Host { mac: Mac([0; 6]), ip: None, names: Vec::new() };
            for word in line.split('#').next().unwrap_or_default().split_whitespace() {
                if let Ok(mac) = word.parse() {
                    host.mac = mac;
                } else if let Ok(ip) = word.parse() {
                    host.ip = Some(ip);
                } else {
                    host.names.push(word.into());
                }
            }
            (host.mac != Mac([0; 6])).then_some(host)
        };
        Self(text.lines().filter_map(host).collect())
    }

    pub fn all(&self) -> &[Host] {
        &self.0
    }

    /// The `index`-th NIC of the host of this name. A name without a domain stands for one with any.
    pub fn by_name(&self, name: &str, index: usize) -> Option<&Host> {
        self.0.iter().filter(|host| host.names.iter().any(|known| same(known, name))).nth(index)
    }

    /// The name of the host with this NIC.
    pub fn by_address(&self, mac: Mac) -> Option<&str> {
        self.0.iter().find(|host| host.mac == mac)?.names.first().map(String::as_str)
    }
}

fn same(one: &str, other: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let either_is_short = !one.contains('.') || !other.contains('.');
    one.eq_ignore_ascii_case(other) || (either_is_short && short(one) == short(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_names_and_addresses() {
        let hosts = Hosts::parse(
            "# name address\n\
             node1.cluster node1 02:00:00:00:00:01 10.0.0.1\n\
             02:00:00:00:00:02 node2.cluster # comment\n\
             02:00:00:00:00:03 10.0.0.3 node1\n\
             nonsense\n",
        );
        let mac = |name, index| hosts.by_name(name, index).map(|host| host.mac.0[5]);
        assert_eq!(mac("node1", 0), Some(1));
        assert_eq!(mac("NODE1.cluster", 0), Some(1));
        assert_eq!(mac("node1", 1), Some(3));
        assert_eq!(mac("node1", 2), None);
        assert_eq!(mac("node2", 0), Some(2));
        assert_eq!(mac("node2.elsewhere", 0), None);
        assert_eq!(mac("nonsense", 0), None);
        assert_eq!(hosts.by_address(Mac([2, 0, 0, 0, 0, 2])), Some("node2.cluster"));
        assert_eq!(hosts.by_name("node1", 1).and_then(|host| host.ip), Some(Ipv4Addr::new(10, 0, 0, 3)));
    }
}
