//! What is wrong with some of the descriptors.

use rand::Rng;
use viaduct_spec::descriptor::{control, status};

use super::Generator;
use crate::memory::SLOTS;
use crate::operation::{Flaw, Post, Request};

impl Generator {
    /// Makes something wrong with one descriptor in 20.
    pub(super) fn flaw(&mut self, post: &mut Post) {
        if self.flawless || !self.chance(20) {
            return;
        }
        let segment = match post.pieces.len() {
            0 => None,
            count => Some(self.random.random_range(0..count)),
        };
        let rdma = post.request != Request::Message;
        let reserved = control::RESERVED & (1 << self.random.random_range(4..16));
        post.flaw = match (self.random.random_range(0..18), segment) {
            (0, _) => Flaw::Length(self.random.random_range(1..100)),
            (1, _) => Flaw::Length(0u32.wrapping_sub(self.random.random_range(1..20))),
            (2, _) => Flaw::Status(status::DONE | self.random.random::<u32>()),
            (3, _) => Flaw::Reserved(1 << self.random.random_range(0..32)),
            (4, _) if post.request == Request::Read => Flaw::Control(control::IMMEDIATE),
            (4, _) => Flaw::Control(reserved),
            (5, _) if !rdma => Flaw::Control(control::OP_MASK),
            (5, _) => Flaw::RemoteKey,
            (6, _) => Flaw::Count(self.random.random_range(253..=u16::MAX)),
            (7, Some(segment)) => Flaw::Key(segment),
            (8, Some(segment)) => Flaw::Dead(segment),
            (9, Some(segment)) => Flaw::Zero(segment),
            (10, Some(segment)) => Flaw::Arena(segment),
            (14..=16, _) if rdma => Flaw::RemoteBehind([1, 1, 21][self.random.random_range(0..3)]),
            (11 | 14..=17, Some(segment)) => {
                // Behind a region that ends inside a page there is something.
                let made: Vec<usize> =
                    (1..SLOTS).filter(|slot| self.slots[post.end][*slot].is_some()).collect();
                if !made.is_empty() {
                    post.pieces[segment].slot = made[self.random.random_range(0..made.len())];
                }
                let by = [1, 1, 21][self.random.random_range(0..3)];
                let piece = &post.pieces[segment];
                // All of an end's memory ends with its descriptors: data there looks like a status, so none may come there.
                let whole = if piece.slot == 0 { piece.length.max(1) } else { 0 };
                Flaw::Behind(segment, by.max(whole))
            }
            (12, _) => Flaw::Foreign,
            (13, _) => Flaw::Nowhere,
            _ => Flaw::None,
        };
        if !self.may_lie_behind(post) {
            post.flaw = Flaw::None;
        }
    }

    /// What ends behind a region lies at its end. There an end's memory is either read or written: if one descriptor said this and another
    /// that, what is read would depend on which of them is first.
    fn may_lie_behind(&mut self, post: &Post) -> bool {
        let (end, written) = match post.flaw {
            Flaw::Behind(..) => (post.end, post.receive || post.request == Request::Read),
            Flaw::RemoteBehind(_) => (post.end ^ 1, post.request == Request::Write),
            _ => return true,
        };
        *self.behind[end].get_or_insert(written) == written
    }
}
