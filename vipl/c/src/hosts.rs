//! The hosts file of the name service: `VIPL_HOSTS`, else that of the NIC's viad, else /etc/vip_hosts. One NIC a line: its Ethernet address and the names of its
//! host, in any order; an IPv4 address among them is the NIC's. `#` begins a comment.

use std::{env, fs, net::Ipv4Addr};

use via::{Mac, Nic};

/// Where it is, unless `VIPL_HOSTS` says otherwise.
const FILE: &str = "/etc/vip_hosts";
/// The variable that names the hosts file.
const VARIABLE: &str = "VIPL_HOSTS";

/// What the file says.
#[derive(Debug)]
pub struct Hosts {
    /// Where it is.
    pub place: String,
    hosts: Vec<Host>,
}

/// A line of it.
#[derive(Debug)]
pub struct Host {
    pub mac: Mac,
    pub ip: Option<Ipv4Addr>,
    names: Vec<String>,
}

impl Hosts {
    /// Reads the file that `VIPL_HOSTS` names, else that of the NIC's viad, else [`FILE`]. Lines that are none are left out, and `say` is
    /// told of each.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(nic: &Nic, mut say: impl FnMut(String)) -> Result<Self, String> {
        let open = |file: String| match fs::read_to_string(&file) {
            Ok(text) => Ok((file, text)),
            Err(error) => Err(format!("{file}: {error} (the variable {VARIABLE} names another file)")),
        };
        let (place, text) = match env::var(VARIABLE) {
            Ok(file) => open(file)?,
            Err(env::VarError::NotUnicode(_)) => return Err(format!("{VARIABLE} is not UTF-8")),
            Err(env::VarError::NotPresent) => match nic.hosts().map_err(|error| error.to_string())? {
                Some(text) => ("viad's hosts file".into(), text),
                None => open(FILE.into())?,
            },
        };
        let (hosts, wrong) = Self::parse(&text);
        for (line, rule) in wrong {
            say(format!("{place}, line {line}: {rule}; the line is left out"));
        }
        Ok(Self { place, hosts })
    }

    /// The lines that are a NIC's, and what is wrong with the others, by their numbers.
    fn parse(text: &str) -> (Vec<Host>, Vec<(usize, String)>) {
        let (mut hosts, mut wrong) = (Vec::new(), Vec::new());
        for (line, number) in text.lines().zip(1..) {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            match Host::of(&words) {
                Ok(host) => hosts.push(host),
                Err(rule) => wrong.push((number, rule)),
            }
        }
        (hosts, wrong)
    }

    pub fn all(&self) -> &[Host] {
        &self.hosts
    }

    /// The `index`-th NIC of the host of this name. A name without a domain stands for one with any.
    pub fn by_name(&self, name: &str, index: usize) -> Option<&Host> {
        self.hosts.iter().filter(|host| host.names.iter().any(|known| same(known, name))).nth(index)
    }

    /// The name of the host with this NIC.
    pub fn by_address(&self, mac: Mac) -> Option<&str> {
        self.hosts.iter().find(|host| host.mac == mac)?.names.first().map(String::as_str)
    }
}

impl Host {
    fn of(words: &[&str]) -> Result<Self, String> {
        let (mut macs, mut ips, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for word in words {
            match (word.parse(), word.parse()) {
                (Ok(mac), _) => macs.push(mac),
                (_, Ok(ip)) => ips.push(ip),
                _ if word.contains(':') => return Err(format!("{word:?} is no Ethernet address")),
                _ => names.push(word.to_string()),
            }
        }
        match (&macs[..], &ips[..]) {
            (&[mac], _) if mac == Mac([0; 6]) => Err(format!("{mac} is no NIC's Ethernet address")),
            (_, [_, _, ..]) => Err("it has more than one IPv4 address: a line is one NIC's".into()),
            (&[mac], ip) if !names.is_empty() => Ok(Self { mac, ip: ip.first().copied(), names }),
            ([_], _) => Err("it has no name of a host".into()),
            ([], _) => Err("it has no Ethernet address (02:00:00:00:00:01)".into()),
            _ => Err("it has more than one Ethernet address: a line is one NIC's".into()),
        }
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
        let (hosts, wrong) = Hosts::parse(
            "# name address\n\
             node1.cluster node1 02:00:00:00:00:01 10.0.0.1\n\
             02:00:00:00:00:02 node2.cluster # comment\n\
             02:00:00:00:00:03 10.0.0.3 node1\n\
             nonsense\n\
             \n\
             node4 02:00:00:00:04\n\
             node5 02:00:00:00:00:05 02:00:00:00:00:06\n\
             node6 02:00:00:00:00:06 10.0.0.6 10.0.0.7\n\
             02:00:00:00:00:07\n\
             node8 00:00:00:00:00:00\n",
        );
        let hosts = Hosts { place: "a file".into(), hosts };
        let lines: Vec<usize> = wrong.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [5, 7, 8, 9, 10, 11]);
        let rules = ["no Ethernet", "\"02:00:00:00:04\"", "one Ethernet", "one IPv4", "no name", "no NIC's"];
        for ((_, rule), expected) in wrong.iter().zip(rules) {
            assert!(rule.contains(expected), "{rule}");
        }
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
