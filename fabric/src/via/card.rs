//! The NIC of this process.

use std::{
    env,
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
};

use viaduct_driver::fork::Birth;
use vipl::{Nic, NicAttributes};

use crate::via::error::Errno;

/// Names the NIC, in any form that `Nic::open` takes.
pub const VARIABLE: &str = "FI_VIA_NIC";
/// The NIC of who names none: viad's, unless an alias says otherwise.
const USUAL: &str = "nic0";

/// It is opened when it is first asked for, and stays open: what fi_getinfo says of it must be so when it is used.
static CARD: Mutex<Option<Arc<Card>>> = Mutex::new(None);

/// The NIC, and what one asks of it often.
#[derive(Debug)]
pub struct Card {
    /// The NIC.
    pub nic: Nic,
    /// What it can do.
    pub attributes: NicAttributes,
    /// Opened by this process, and not by one that has forked it.
    born: Birth,
}

impl Card {
    /// The NIC.
    ///
    /// # Errors
    /// It cannot be opened: the log says why.
    pub fn open() -> Result<Arc<Self>, Errno> {
        let mut place = CARD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(card) = place.take() {
            if card.born.is_here() {
                return Ok(Arc::clone(place.insert(card)));
            }
            // The parent's: its threads are not here, so that nobody may end it.
            std::mem::forget(card);
        }
        let name = match env::var(VARIABLE) {
            Ok(name) if !name.is_empty() => name,
            Ok(_) | Err(env::VarError::NotPresent) => USUAL.into(),
            Err(env::VarError::NotUnicode(_)) => {
                tracing::warn!("{VARIABLE} is not UTF-8");
                return Err(Errno::INVALID);
            }
        };
        let nic =
            Nic::open(&name).inspect_err(|error| tracing::warn!(%error, name, "the NIC cannot be opened"))?;
        let (attributes, born) = (nic.attributes(), Birth::now());
        Ok(Arc::clone(place.insert(Arc::new(Self { nic, attributes, born }))))
    }

    /// Its name: what the program calls the domain by.
    pub fn name(&self) -> &str {
        &self.attributes.name
    }

    /// Its IPv4 address.
    pub fn ip(&self) -> Ipv4Addr {
        self.attributes.ip
    }
}

/// The NIC is closed when nobody uses it any more.
pub fn close() {
    let card = CARD.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(card) = card.filter(|card| !card.born.is_here()) {
        std::mem::forget(card);
    }
}
