//! Where a viad is, as the name of its NIC says it behind `viad:`.

use std::{path::PathBuf, str::FromStr};

/// How a session reaches the program's memory (docs/viad.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// viad is handed access to all of it.
    Private,
    /// viad is handed what the library allocates, and no more: `way=pools`.
    Pools,
    /// viad trusts the program with the function, and the program maps its memory by itself: `way=trusted`.
    Trusted,
}

/// A viad's socket, the user that it may run as, and the way of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The socket.
    pub socket: PathBuf,
    /// A user that the library trusts beside root and its own: `,user=UID`.
    pub user: Option<u32>,
    /// The way: `,way=pools`, `,way=trusted`; private without.
    pub way: Way,
}

impl Place {
    /// The viad at a socket, of root or this process's user, which is handed access to all memory.
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), user: None, way: Way::Private }
    }
}

/// What is wrong with the place of a viad.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoPlace(String);

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let mut place = Self::at("");
        let mut path = text;
        // A path may have commas: options are what is behind the last ones.
        while let Some((before, option)) = path.rsplit_once(',') {
            match option.split_once('=') {
                Some(("user", user)) => {
                    let number = user.parse();
                    let number =
                        number.map_err(|_| NoPlace(format!("user={user}: a user is a number here")))?;
                    place.user = Some(number);
                }
                Some(("way", "pools")) => place.way = Way::Pools,
                Some(("way", "trusted")) => place.way = Way::Trusted,
                Some(("way", way)) => {
                    return Err(NoPlace(format!("way={way}: the ways are pools and trusted")));
                }
                _ => break,
            }
            path = before;
        }
        if path.is_empty() {
            return Err(NoPlace("no path".into()));
        }
        place.socket = path.into();
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_socket_a_user_and_a_way_if_they_are_named() {
        let place = |text: &str| text.parse::<Place>().map_err(|error| error.to_string());
        assert_eq!(place("/run/x"), Ok(Place::at("/run/x")));
        assert_eq!(place("/run/x,user=992"), Ok(Place { user: Some(992), ..Place::at("/run/x") }));
        assert_eq!(place("/run/x,way=pools"), Ok(Place { way: Way::Pools, ..Place::at("/run/x") }));
        let both = Place { user: Some(0), way: Way::Trusted, ..Place::at("/run/a,b=c") };
        assert_eq!(place("/run/a,b=c,user=0,way=trusted"), Ok(both.clone()));
        assert_eq!(place("/run/a,b=c,way=trusted,user=0"), Ok(both));
        assert_eq!(place(",user=1"), Err("no path".into()));
        assert!(place("/run/x,user=me").is_err_and(|error| error.contains("a number")));
        assert!(place("/run/x,way=any").is_err_and(|error| error.contains("pools and trusted")));
    }
}
