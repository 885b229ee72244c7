//! The states of a connection, which one comes after which, and what of it who looks on is told.

use super::progress::Phase;

/// Where a connection is. docs/connections.md has it as a diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The host's addresses are asked for.
    Resolving,
    /// Peer request: the other side has not asked yet, and is asked again later.
    Unmet,
    /// A REQ is out.
    Asked,
    /// A REP is here; the owner makes this end ready.
    Answered,
    /// A REQ is here; the consumer makes up its mind.
    Pending,
    /// Peer request: the other side's REQ is here; the owner makes this end ready.
    Matched,
    /// A REP is out.
    Replied,
    /// Both ends are ready.
    Established,
    /// A DREQ is out.
    Leaving,
    /// It is over; what comes late is answered.
    Over,
}

impl State {
    /// The states that a connection in this one may come into. One that begins is [`State::Resolving`] if this side asks, and
    /// [`State::Pending`] if the other one does. It may be forgotten in any.
    const fn successors(self) -> &'static [Self] {
        match self {
            Self::Resolving => &[Self::Asked, Self::Matched],
            // It comes into it again when its last REQ is rejected late.
            Self::Unmet => &[Self::Unmet, Self::Asked, Self::Answered, Self::Matched],
            Self::Asked => &[Self::Unmet, Self::Answered, Self::Matched],
            Self::Answered => &[Self::Established, Self::Over],
            Self::Pending | Self::Matched => &[Self::Replied, Self::Over],
            Self::Replied => &[Self::Established, Self::Leaving, Self::Over],
            Self::Established => &[Self::Leaving, Self::Over],
            Self::Leaving => &[Self::Over],
            Self::Over => &[],
        }
    }

    /// Whether a connection in this state may come into that one.
    pub(super) fn leads_to(self, next: Self) -> bool {
        self.successors().contains(&next)
    }

    /// What who looks on is told; None when it is over.
    pub(super) fn phase(self) -> Option<Phase> {
        Some(match self {
            Self::Resolving => Phase::Resolving,
            Self::Unmet => Phase::Unmet,
            Self::Asked => Phase::Asked,
            Self::Answered | Self::Matched => Phase::Met,
            Self::Pending => Phase::Pending,
            Self::Replied => Phase::Replied,
            Self::Established => Phase::Established,
            Self::Leaving => Phase::Leaving,
            Self::Over => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::State;

    const ALL: [State; 10] = [
        State::Resolving,
        State::Unmet,
        State::Asked,
        State::Answered,
        State::Pending,
        State::Matched,
        State::Replied,
        State::Established,
        State::Leaving,
        State::Over,
    ];

    /// The states that a connection may come into from one, by any way.
    fn reached(from: State) -> Vec<State> {
        let (mut found, mut at) = (vec![from], 0);
        while let Some(state) = found.get(at).copied() {
            let more = state.successors().iter().filter(|next| !found.contains(next)).copied();
            found.extend(more.collect::<Vec<_>>());
            at += 1;
        }
        found
    }

    #[test]
    fn every_state_is_reached_and_leads_to_the_end() {
        let (active, passive) = (reached(State::Resolving), reached(State::Pending));
        for state in ALL {
            assert!(active.contains(&state) || passive.contains(&state), "{state:?} is never reached");
            assert!(reached(state).contains(&State::Over), "{state:?} never ends");
        }
        assert!(!passive.contains(&State::Asked) && !passive.contains(&State::Answered), "{passive:?}");
    }

    #[test]
    fn who_looks_on_sees_every_state_but_the_end() {
        for state in ALL {
            assert_eq!(state.phase().is_none(), state == State::Over, "{state:?}");
        }
    }
}
