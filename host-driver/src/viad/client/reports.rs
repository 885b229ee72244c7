//! What a session asks of its viad about sessions.

use super::{
    super::{
        protocol::{Answer, Request, MOST_REPORTS},
        report::{SessionReport, Totals, ViReport},
    },
    Client,
};
use crate::kernel_agent::AgentError;

impl Client {
    /// The sessions of this viad that this user may know of, this one among them.
    ///
    /// # Errors
    /// viad is gone.
    pub fn sessions(&self) -> Result<Vec<SessionReport>, AgentError> {
        self.all(|last: Option<&SessionReport>| {
            let from = last.map_or(0, |last| last.session + 1);
            match self.call(&Request::Sessions(from))?.0 {
                Answer::Sessions(some) => Ok(some),
                other => Err(self.wrong(&other)),
            }
        })
    }

    /// What all other sessions of this viad have together. Every user may know that.
    ///
    /// # Errors
    /// viad is gone.
    pub fn totals(&self) -> Result<Totals, AgentError> {
        match self.call(&Request::Totals)?.0 {
            Answer::Totals(totals) => Ok(totals),
            other => Err(self.wrong(&other)),
        }
    }

    /// The virtual interfaces of a session.
    ///
    /// # Errors
    /// There is no such session, or this user may not know of it.
    pub fn vis(&self, session: u64) -> Result<Vec<ViReport>, AgentError> {
        self.all(|last: Option<&ViReport>| {
            let from = last.map_or(0, |last| last.name.index.saturating_add(1));
            match self.call(&Request::Vis(session, from))?.0 {
                Answer::Vis(some) => Ok(some),
                other => Err(self.wrong(&other)),
            }
        })
    }

    /// All reports, of which an answer has [`MOST_REPORTS`] at most: `behind` asks for those behind the last one so far.
    fn all<T>(
        &self,
        behind: impl Fn(Option<&T>) -> Result<Vec<T>, AgentError>,
    ) -> Result<Vec<T>, AgentError> {
        let mut all = Vec::new();
        loop {
            let some = behind(all.last())?;
            let is_last = some.len() < MOST_REPORTS;
            all.extend(some);
            if is_last {
                return Ok(all);
            }
        }
    }
}
