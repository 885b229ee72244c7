//! Where a PCI function sits: domain, bus, device, function.

use std::{fmt, str::FromStr};

/// A PCI address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

/// A text that is no PCI address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no PCI address: one has the form 0000:01:00.0 or 01:00.0")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        parse(text).ok_or_else(|| AddressError(text.into()))
    }
}

fn parse(text: &str) -> Option<Address> {
    let (front, function) = text.split_once('.')?;
    let mut parts = front.rsplit(':');
    let (device, bus) = (parts.next()?, parts.next()?);
    let domain = parts.next().unwrap_or("0000");
    if parts.next().is_some() || domain.len() < 4 || domain.len() > 8 {
        return None;
    }
    let hex = |text: &str, digits: usize, most: u32| {
        let is_hex = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(text, 16).ok().filter(|number| is_hex && *number <= most)
    };
    Some(Address {
        domain: hex(domain, domain.len(), u32::MAX)?,
        bus: hex(bus, 2, 0xff)? as u8,
        device: hex(device, 2, 0x1f)? as u8,
        function: hex(function, 1, 7)? as u8,
    })
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{}", self.domain, self.bus, self.device, self.function)
    }
}

impl serde::Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        let text = |address: &str| address.parse::<Address>().map(|address| address.to_string());
        assert_eq!(text("0000:01:00.0").as_deref(), Ok("0000:01:00.0"));
        assert_eq!(text("a1:1F.7").as_deref(), Ok("0000:a1:1f.7"));
        assert_eq!(
            text("10000:e1:00.0").as_deref(),
            Ok("10000:e1:00.0"),
            "a bridge of its own has five digits"
        );
        for wrong in [
            "",
            "1:0.0",
            "0000:01:00",
            "0000:01:20.0",
            "0000:01:00.8",
            "000:01:00.0",
            "0:0000:01:00.0",
            "0000:+1:00.0",
            "../01:00.0",
            "0000:01:00.0/",
            "123456789:01:00.0",
        ] {
            assert_eq!(text(wrong), Err(AddressError(wrong.into())));
        }
    }
}
