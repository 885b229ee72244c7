//! Names of devices: `vfio:ADDRESS`, `vfio-user:PATH`, and how the NIC there is to be set up.

use std::{fmt, net::Ipv4Addr, str::FromStr, sync::Arc};

use crate::{
    address::{Mac, ACK_TIMES},
    agent::Options,
    device::{DeviceError, PciDevice},
    pci::{Address, AddressError},
    vfio::Vfio,
    vfio_user::VfioUser,
};

/// The name of a device, taken apart.
#[derive(Debug, Clone)]
pub struct DeviceName {
    /// Where it is.
    pub place: Place,
    /// How the NIC is set up: MAC and IP address are random where the name does not say.
    pub options: Options,
}

/// Where a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Behind the kernel's VFIO, at a PCI address.
    Vfio(Address),
    /// Behind a vfio-user socket, at a path.
    VfioUser(String),
}

/// What is wrong with a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoName(String);

impl FromStr for DeviceName {
    type Err = NoName;

    fn from_str(name: &str) -> Result<Self, NoName> {
        let mut parts = name.split(',');
        let place = place(parts.next().unwrap_or_default()).map_err(NoName)?;
        let [a, b, c]: [u8; 3] = rand::random();
        // Locally administered; host part neither all zeros nor all ones.
        let mut options = Options::new(Mac([2, 0, 0, a, b, c | 1]), Ipv4Addr::new(10, a, b, c.clamp(1, 254)));
        for part in parts {
            set(&mut options, part).map_err(|reason| NoName(format!("{part:?}: {reason}")))?;
        }
        Ok(Self { place, options })
    }
}

impl DeviceName {
    /// Opens the device.
    pub fn open(&self) -> Result<Arc<dyn PciDevice>, DeviceError> {
        Ok(match &self.place {
            Place::Vfio(address) => Arc::new(Vfio::open(&address.to_string())?),
            Place::VfioUser(path) => Arc::new(VfioUser::open(path)?),
        })
    }
}

/// What a name begins with.
fn place(text: &str) -> Result<Place, String> {
    match text.split_once(':') {
        Some(("vfio", address)) => {
            address.parse().map(Place::Vfio).map_err(|error: AddressError| error.to_string())
        }
        Some(("vfio-user", "")) => Err("no path".into()),
        Some(("vfio-user", path)) => Ok(Place::VfioUser(path.into())),
        _ => Err("it begins with neither vfio: nor vfio-user:".into()),
    }
}

/// Sets the option that `part`, `KEY=VALUE`, names.
fn set(options: &mut Options, part: &str) -> Result<(), String> {
    fn value<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
        text.parse().map_err(|error: T::Err| error.to_string())
    }
    match part.split_once('=') {
        Some(("mac", text)) => options.mac = value(text)?,
        Some(("ip", text)) => options.ip = value(text)?,
        Some(("ack_time", text)) => options.ack_time = ack_time(text)?,
        Some(("seed", text)) => options.seed = Some(value(text)?),
        _ => return Err("the options are mac=, ip=, ack_time= and seed=".into()),
    }
    Ok(())
}

/// A time to acknowledge, by its exponent.
fn ack_time(text: &str) -> Result<u8, String> {
    let exponent = text.parse().ok().filter(|exponent| ACK_TIMES.contains(exponent));
    exponent.ok_or_else(|| "a time is n, from 0 to 31, of 4.096 us * 2^n".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::ACK_TIME;

    fn parse(name: &str) -> Result<DeviceName, NoName> {
        name.parse()
    }

    #[test]
    fn names_are_parsed() {
        let name = parse("vfio-user:/a:b.sock,mac=02:00:00:00:00:07,ip=10.0.0.7,seed=5").expect("a name");
        assert_eq!(name.place, Place::VfioUser("/a:b.sock".into()));
        assert_eq!(name.options.mac, Mac([2, 0, 0, 0, 0, 7]));
        assert_eq!(name.options.ip, Ipv4Addr::new(10, 0, 0, 7));
        assert_eq!((name.options.seed, name.options.ack_time), (Some(5), ACK_TIME));
        for time in [0, 31] {
            assert_eq!(
                parse(&format!("vfio-user:x,ack_time={time}")).expect("a name").options.ack_time,
                time
            );
        }
        for _ in 0..100 {
            let options = parse("vfio-user:x").expect("a name").options;
            assert!(options.mac.is_unicast() && options.ip.octets()[0] == 10);
        }
        let name = parse("vfio:0001:02:03.4,seed=6").expect("a name");
        let Place::Vfio(address) = name.place else { panic!("{:?}", name.place) };
        assert_eq!((address.to_string().as_str(), name.options.seed), ("0001:02:03.4", Some(6)));
    }

    #[test]
    fn what_is_wrong_with_a_name_is_named() {
        let wrongs = [
            ("", "neither vfio: nor vfio-user:"),
            ("eth0", "neither vfio: nor vfio-user:"),
            ("vfio", "neither vfio: nor vfio-user:"),
            ("vfio-user:", "no path"),
            ("vfio-user:,ip=10.0.0.1", "no path"),
            ("vfio:", "no PCI address"),
            ("vfio:../0000:01:00.0", "no PCI address"),
            ("vfio:0000:01:00.0,fast", "\"fast\": the options are"),
            ("vfio-user:x,ip=1", "\"ip=1\": "),
            ("vfio-user:x,ack_time=32", "\"ack_time=32\": a time is n, from 0 to 31"),
            ("vfio-user:x,ack_time=-1", "\"ack_time=-1\": a time is n, from 0 to 31"),
            ("vfio-user:x,a=b", "\"a=b\": the options are"),
        ];
        for (name, reason) in wrongs {
            let error = parse(name).expect_err("no name").to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
