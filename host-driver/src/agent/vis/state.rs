//! The state of a VI (VIP_VI_STATE), and the one table of what changes it. The NIC keeps the state, in its own table VI_STATE, because the NIC breaks a
//! VI itself: so the agent asks for it whenever something depends on it, and remembers none. That a call is about to connect an idle VI is no state of
//! the NIC's: the library knows that, which begins at most one attempt at a time.

use viaduct_spec::tables::{table, vi_state, vi_states};

use crate::{device_protocol::commands::Admin, kernel_agent::AgentError, queues::ViState};

const ALL: [ViState; 3] = [ViState::Idle, ViState::Connected, ViState::Error];

/// What the agent does that changes a VI's state, or for which the state matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// It makes the VI, of whatever the last one of this index has left.
    Make,
    /// It gives it other attributes.
    SetAttributes,
    /// It connects it.
    Connect,
    /// It breaks it, for its owner.
    Break,
    /// It makes it idle, when its owner disconnects it.
    MakeIdle,
    /// It destroys it.
    Destroy,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) struct Row {
    /// The state that the VI must be in before, and what is said of one in another; None: any.
    pub before: Option<(ViState, &'static str)>,
    /// The state behind it.
    pub after: ViState,
}

impl Change {
    /// The table. docs/software.md shows it, with what the NIC itself does beside it.
    pub(in crate::agent) const fn row(self) -> Row {
        use ViState::{Connected, Error, Idle};
        let (before, after) = match self {
            Self::Make | Self::Destroy => (None, Idle),
            Self::SetAttributes => (Some((Idle, "only an idle one can have other attributes")), Idle),
            Self::Connect => (Some((Idle, "only an idle one can be connected")), Connected),
            Self::Break => (None, Error),
            Self::MakeIdle => (Some((Error, "only a broken one is made idle")), Idle),
        };
        Row { before, after }
    }
}

/// The state's number in the NIC's table.
fn number(state: ViState) -> u8 {
    match state {
        ViState::Idle => vi_states::IDLE,
        ViState::Connected => vi_states::CONNECTED,
        ViState::Error => vi_states::ERROR,
    }
}

/// Tells the NIC which state a VI is in behind a change.
pub(in crate::agent) fn enter(admin: &Admin<'_>, vi: u16, change: Change) -> Result<(), AgentError> {
    let mut row = [0];
    vi_state::STATE.put(&mut row, number(change.row().after).into());
    Ok(admin.commit(table::VI_STATE, vi.into(), &row)?)
}

/// Asks the NIC which state a VI is in.
///
/// # Errors
/// The NIC names no state; the device's.
pub(super) fn query(admin: &Admin<'_>, vi: u16) -> Result<ViState, AgentError> {
    let result = admin.query_state(vi)?;
    let found = ALL.into_iter().find(|state| u64::from(number(*state)) == result);
    found.ok_or(AgentError::Limits { what: "the state of a virtual interface", value: result as u32 })
}

/// Asks the NIC whether a VI is in a state in which this may be done to it.
///
/// # Errors
/// It is in another one: the error names the rule. As [`query`].
pub(super) fn check(admin: &Admin<'_>, vi: u16, change: Change) -> Result<(), AgentError> {
    let Some((before, rule)) = change.row().before else { return Ok(()) };
    match query(admin, vi)? {
        state if state == before => Ok(()),
        state => Err(AgentError::State { vi, state: state.name(), rule }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, ViState};

    /// A row of the page for each change.
    const PAGE: [(Change, &str); 6] = [
        (Change::Make, "the agent makes it"),
        (Change::SetAttributes, "the agent gives it other attributes"),
        (Change::Connect, "the agent connects it"),
        (Change::Break, "the agent breaks it, for its owner"),
        (Change::MakeIdle, "the agent makes it idle"),
        (Change::Destroy, "the agent destroys it"),
    ];

    #[test]
    fn the_page_has_the_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/software.md");
        let page = std::fs::read_to_string(page).expect("it is there");
        let rows = PAGE.map(|(change, what)| {
            let row = change.row();
            let before = row.before.map_or("any", |(state, _)| ViState::name(state));
            format!("| {what} | {before} | {} |\n", row.after.name())
        });
        let rows = rows.concat();
        assert!(page.contains(&rows), "docs/software.md must have these rows:\n{rows}");
    }
}
