//! Where a viad is, as the name of its NIC says it behind `viad:`.

use std::{path::PathBuf, str::FromStr};

/// A viad's socket, and the user that it may run as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The socket.
    pub socket: PathBuf,
    /// A user that the library trusts beside root and its own: `,user=UID`.
    pub user: Option<u32>,
}

/// What is wrong with the place of a viad.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoPlace(String);

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let (path, user) = match text.rsplit_once(",user=") {
            Some((path, user)) => {
                let user =
                    user.parse().map_err(|_| NoPlace(format!("user={user}: a user is a number here")))?;
                (path, Some(user))
            }
            None => (text, None),
        };
        if path.is_empty() {
            return Err(NoPlace("no path".into()));
        }
        Ok(Self { socket: path.into(), user })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_socket_and_a_user_if_one_is_named() {
        let place = |text: &str| text.parse::<Place>().map_err(|error| error.to_string());
        assert_eq!(place("/run/x"), Ok(Place { socket: "/run/x".into(), user: None }));
        assert_eq!(place("/run/x,user=992"), Ok(Place { socket: "/run/x".into(), user: Some(992) }));
        assert_eq!(place(",user=1"), Err("no path".into()));
        assert!(place("/run/x,user=me").is_err_and(|error| error.contains("a number")));
    }
}
