//! Protection tags: numbers of 16 bits that a VI and the memory it may use have in common.

use std::collections::BTreeMap;

use super::AgentError;

/// The tags that exist, and how many regions and VIs use each.
#[derive(Debug)]
pub struct Tags {
    users: BTreeMap<u16, usize>,
    next: u16,
}

impl Tags {
    /// No tags yet; the first will be `start` or the one after it, so that a tag of an earlier life
    /// of the agent is not mistaken for one of this life.
    pub fn new(start: u16) -> Self {
        Self { users: BTreeMap::new(), next: start }
    }

    /// Makes a tag that nobody has. Never 0.
    pub fn create(&mut self) -> Result<u16, AgentError> {
        for _ in 0..=u16::MAX {
            let tag = self.next;
            self.next = tag.wrapping_add(1);
            if tag != 0 && !self.users.contains_key(&tag) {
                self.users.insert(tag, 0);
                return Ok(tag);
            }
        }
        Err(AgentError::NoTag)
    }

    /// Destroys a tag that nobody uses.
    pub fn destroy(&mut self, tag: u16) -> Result<(), AgentError> {
        match self.users.get(&tag) {
            None => Err(AgentError::UnknownTag(tag)),
            Some(0) => {
                self.users.remove(&tag);
                Ok(())
            }
            Some(&users) => Err(AgentError::TagInUse { tag, users }),
        }
    }

    /// Whether the tag exists.
    pub fn check(&self, tag: u16) -> Result<(), AgentError> {
        self.users.contains_key(&tag).then_some(()).ok_or(AgentError::UnknownTag(tag))
    }

    /// Counts one more user.
    pub fn take(&mut self, tag: u16) -> Result<(), AgentError> {
        *self.users.get_mut(&tag).ok_or(AgentError::UnknownTag(tag))? += 1;
        Ok(())
    }

    /// Counts one user less.
    pub fn give_back(&mut self, tag: u16) {
        if let Some(users) = self.users.get_mut(&tag) {
            *users = users.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_never_0_and_wrap() {
        let mut tags = Tags::new(0xffff);
        assert_eq!(tags.create().ok(), Some(0xffff));
        assert_eq!(tags.create().ok(), Some(1));
    }

    #[test]
    fn a_tag_in_use_stays() {
        let mut tags = Tags::new(5);
        let tag = tags.create().expect("a tag");
        tags.take(tag).expect("it exists");
        assert!(matches!(tags.destroy(tag), Err(AgentError::TagInUse { tag: 5, users: 1 })));
        tags.give_back(tag);
        assert!(tags.destroy(tag).is_ok());
        assert!(matches!(tags.destroy(tag), Err(AgentError::UnknownTag(5))));
        assert!(matches!(tags.take(tag), Err(AgentError::UnknownTag(5))));
    }

    #[test]
    fn there_are_65535_of_them() {
        let mut tags = Tags::new(300);
        for _ in 0..0xffff {
            tags.create().expect("a tag");
        }
        assert!(matches!(tags.create(), Err(AgentError::NoTag)));
        tags.destroy(77).expect("nobody uses it");
        assert_eq!(tags.create().ok(), Some(77));
    }
}
