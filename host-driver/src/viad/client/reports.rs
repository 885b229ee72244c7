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
        let mut all: Vec<SessionReport> = Vec::new();
        loop {
            let from = all.last().map_or(0, |last| last.session + 1);
            match self.call(&Request::Sessions(from))?.0 {
                Answer::Sessions(some) => {
                    let last = some.len() < MOST_REPORTS;
                    all.extend(some);
                    if last {
                        return Ok(all);
                    }
                }
                other => return Err(self.wrong(&other)),
            }
        }
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
        let mut all: Vec<ViReport> = Vec::new();
        loop {
            let from = all.last().map_or(0, |last| last.name.index.saturating_add(1));
            match self.call(&Request::Vis(session, from))?.0 {
                Answer::Vis(some) => {
                    let last = some.len() < MOST_REPORTS;
                    all.extend(some);
                    if last {
                        return Ok(all);
                    }
                }
                other => return Err(self.wrong(&other)),
            }
        }
    }
}
