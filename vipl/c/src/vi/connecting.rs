//! A VI is being connected, and its connection ends.

use via::{Error, Return, ViState};

use super::{attempt::Connecting, Vi};
use crate::entry::code;

impl Vi {
    /// A call has the VI, which is idle, as long as the answer lives.
    ///
    /// # Errors
    /// It is not idle, or somebody connects it.
    pub fn begin(&self) -> Result<Connecting<'_>, Return> {
        let connecting = self.attempts.begin()?;
        match self.vi.query().map_err(code)?.state {
            ViState::Idle => Ok(connecting),
            _ => Err(Return::InvalidState),
        }
    }

    /// Ends its connection, or the attempt at one.
    pub fn disconnect(&self) -> Result<(), Error> {
        let (ended, connection) = self.attempts.end_by(|| self.vi.disconnect());
        // Of an attempt there is an event yet, of a connection none.
        if let Some(begun) = connection {
            begun.forget();
        }
        ended
    }
}
