//! Discriminators belong to users, for as long as their sessions hold them.

use std::collections::{HashMap, VecDeque};

use viaduct_driver::{
    cm::Discriminator,
    kernel_agent::{AgentError, ErrorClass},
};

/// Discriminators that are kept for a session that does not listen on them now.
const NAMES: usize = 256;

/// Whose discriminators are.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// User, and how many of its sessions have it.
    owners: HashMap<Discriminator, (u32, usize)>,
    /// By session, the one used last at the end.
    of: HashMap<u64, VecDeque<Discriminator>>,
}

impl Names {
    /// Whether a user may use a discriminator.
    pub(super) fn check(&self, uid: u32, name: Discriminator) -> Result<(), AgentError> {
        match self.owners.get(&name) {
            Some((owner, _)) if *owner != uid => {
                let text = format!("the discriminator {name:?} is that of another user");
                Err(AgentError::Remote { class: ErrorClass::Resource, text })
            }
            _ => Ok(()),
        }
    }

    /// From now on it is this user's, until `session` leaves. `is_used` says which ones it needs now.
    pub(super) fn hold(
        &mut self,
        (uid, session): (u32, u64),
        name: Discriminator,
        is_used: impl Fn(Discriminator) -> bool,
    ) -> Result<(), AgentError> {
        self.check(uid, name)?;
        let own = self.of.entry(session).or_default();
        if let Some(at) = own.iter().position(|held| *held == name) {
            own.remove(at);
        } else {
            self.owners.entry(name).or_insert((uid, 0)).1 += 1;
        }
        own.push_back(name);
        if own.len() > NAMES {
            let idle = own.iter().position(|held| *held != name && !is_used(*held));
            if let Some(name) = idle.and_then(|at| own.remove(at)) {
                self.release(name);
            }
        }
        Ok(())
    }

    fn release(&mut self, name: Discriminator) {
        if let Some((_, sessions)) = self.owners.get_mut(&name) {
            *sessions -= 1;
            if *sessions == 0 {
                self.owners.remove(&name);
            }
        }
    }

    pub(super) fn leave(&mut self, session: u64) {
        for name in self.of.remove(&session).unwrap_or_default() {
            self.release(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u16) -> Discriminator {
        Discriminator::of_port(number)
    }

    #[test]
    fn a_discriminator_is_one_users_until_its_last_session_leaves() {
        let mut names = Names::default();
        let never = |_| false;
        names.hold((7, 1), name(1), never).expect("nobody's");
        names.hold((7, 2), name(1), never).expect("the same user's");
        names.hold((7, 2), name(1), never).expect("again");
        let error = names.hold((8, 3), name(1), never).expect_err("another user's").to_string();
        assert!(error.contains("another user"), "{error}");
        names.hold((8, 3), name(2), never).expect("nobody's");
        // Nor is the one without bytes everybody's to listen on.
        let empty = Discriminator::try_from(&[][..]).expect("it is short");
        names.hold((7, 1), empty, never).expect("nobody's");
        assert!(names.hold((8, 3), empty, never).is_err());
        names.leave(1);
        assert!(names.check(8, name(1)).is_err());
        names.leave(2);
        assert!(names.check(8, name(1)).is_ok());
        names.leave(3);
        assert!(names.owners.is_empty() && names.of.is_empty());
    }

    #[test]
    fn a_session_keeps_so_many_and_those_that_it_uses() {
        let mut names = Names::default();
        for number in 0..10 * NAMES as u16 {
            names.hold((7, 1), name(number), |held| held == name(3)).expect("nobody's");
        }
        assert_eq!(names.owners.len(), NAMES);
        assert!(names.check(8, name(3)).is_err() && names.check(8, name(4)).is_ok());
    }
}
