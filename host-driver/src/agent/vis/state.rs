//! The state of a VI (VIP_VI_STATE). The NIC keeps it, in the table VI_STATE, because the NIC breaks a VI itself: so the agent
//! asks for it whenever something depends on it, and remembers none.
//!
//! | before | who changes it | after |
//! |---|---|---|
//! | idle | the agent connects the VI | connected |
//! | connected | the NIC, when something goes wrong | in error |
//! | any | the agent breaks the VI, for its owner | in error |
//! | any | the agent makes, disconnects or destroys the VI | idle |

use viaduct_spec::tables::{table, vi_state, vi_states};

use crate::{admin::Admin, kernel_agent::AgentError, queues::ViState};

const ALL: [ViState; 3] = [ViState::Idle, ViState::Connected, ViState::Error];

/// The state's number in the NIC's table.
fn number(state: ViState) -> u8 {
    match state {
        ViState::Idle => vi_states::IDLE,
        ViState::Connected => vi_states::CONNECTED,
        ViState::Error => vi_states::ERROR,
    }
}

/// Tells the NIC which state a VI is in from now on.
pub(in crate::agent) fn set_state(admin: &Admin<'_>, vi: u16, to: ViState) -> Result<(), AgentError> {
    let mut row = [0];
    vi_state::STATE.put(&mut row, number(to).into());
    admin.commit(table::VI_STATE, vi.into(), &row)
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

/// Asks the NIC whether a VI is idle.
///
/// # Errors
/// It is in another state: then the error names `rule`, which says what only an idle one can do. As [`query`].
pub(super) fn need_idle(admin: &Admin<'_>, vi: u16, rule: &'static str) -> Result<(), AgentError> {
    match query(admin, vi)? {
        ViState::Idle => Ok(()),
        now => Err(AgentError::State { vi, state: now.name(), rule }),
    }
}
