//! What is done to a VI in each of its states: the table in `vis/state.rs`.

use viaduct_spec::tables::{vi_state, vi_states};

use super::{
    super::vis::{Change, ViState},
    *,
};

const STATES: [(ViState, u8); 3] = [
    (ViState::Idle, vi_states::IDLE),
    (ViState::Connected, vi_states::CONNECTED),
    (ViState::Error, vi_states::ERROR),
];

/// What is done to a VI that exists.
const CHANGES: [Change; 5] =
    [Change::SetAttributes, Change::Connect, Change::Break, Change::MakeIdle, Change::Destroy];

fn make(change: Change, vi: Vi, tag: u16) -> Result<(), AgentError> {
    match change {
        Change::SetAttributes => vi.set_attributes(vi_attributes(tag), true),
        Change::Connect => {
            vi.connect(&ConnectionInfo { mac: Mac([2, 0, 0, 0, 0, 2]), queue_pair: 0x400, ..vi.info() })
        }
        Change::Break => vi.break_off(),
        Change::MakeIdle => vi.make_idle(),
        Change::Destroy => vi.destroy(),
        change => panic!("nobody does {change:?} to a VI that exists"),
    }
}

/// The state that the agent has told the NIC last.
fn told(deeds: &[Deed]) -> Option<ViState> {
    let number = deeds.iter().rev().find_map(|deed| match deed {
        Deed::Command { op: command_op::COMMIT, table: table::VI_STATE, words, .. } => {
            Some(vi_state::STATE.get(words))
        }
        _ => None,
    })?;
    STATES.into_iter().find_map(|(state, named)| (number == u64::from(named)).then_some(state))
}

#[test]
fn what_is_done_to_a_vi_needs_its_state_and_leaves_it_as_the_table_says() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    for (state, number) in STATES {
        for change in CHANGES {
            let what = format!("{change:?} of a VI that is {state:?}");
            let vi = create_vi(&agent, vi_attributes(tag)).expect("a free VI");
            let name = vi.name();
            // From now on the NIC says so of it.
            ledger.books().registers.insert(registers::RESULT, number.into());
            let refused = change.row().before.filter(|(before, _)| *before != state);
            let checked = agent.check_vi(name, change);
            assert_eq!(checked.is_err(), refused.is_some(), "{what}: {checked:?}");
            ledger.take_deeds();
            let made = make(change, vi, tag);
            let deeds = ledger.take_deeds();
            match refused {
                // That it is broken the agent takes its program's word for.
                Some((_, rule)) if change != Change::MakeIdle => {
                    let error = made.expect_err(&what).to_string();
                    assert!(error.contains(rule) && error.contains(state.name()), "{what}: {error}");
                    assert!(!deeds.iter().any(is_commit), "{what}: {deeds:?}");
                }
                _ => {
                    made.unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_eq!(told(&deeds), Some(change.row().after), "{what}");
                }
            }
            if change != Change::Destroy {
                agent.destroy_vi(name).expect("it exists");
            }
        }
    }
    ledger.take_deeds();
    create_vi(&agent, vi_attributes(tag)).expect("a free VI");
    assert_eq!(told(&ledger.take_deeds()), Some(Change::Make.row().after));
}

fn is_commit(deed: &Deed) -> bool {
    matches!(deed, Deed::Command { op: command_op::COMMIT, .. })
}
