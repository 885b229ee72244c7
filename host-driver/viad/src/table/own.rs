//! Who may: the rule of each object that a row of the table of control calls names. What is a session's own, no other names; some things are a user's.

use std::sync::Arc;

use viaduct_driver::{
    address::ConnectionInfo,
    cm::Discriminator,
    kernel_agent::{AgentError, CqName, ErrorClass, ViName},
};
use viaduct_spec::handle::queue_pair;

use super::Table;
use crate::record::Record;

/// What a request names.
pub(super) enum Object {
    /// A protection tag of the session's.
    Tag(u16),
    /// A region of the session's, by its handle.
    Region(u32),
    /// A VI of the session's.
    Vi(ViName),
    /// A completion queue of the session's.
    Cq(CqName),
    /// The same by its index, or none.
    CqAt(Option<u16>),
    /// A pool of the session's.
    Pool(u32),
    /// Private memory at this address: of a session that has handed over its own.
    Private(u64),
    /// The session's lease of DMA addresses, which it has not ended.
    Lease,
    /// The function itself: of a user whom viad trusts.
    Function,
    /// The other end of a connection that nobody is asked for. If it is a VI of this NIC it is the user's.
    Peer(ConnectionInfo),
    /// A discriminator that is no other user's.
    Name(Discriminator),
    /// The same, or the one without bytes, which whoever needs no name has.
    NameIfAny(Discriminator),
    /// A session that the user may know of.
    Session(u64),
}

impl Table {
    /// Whether the session may name something.
    pub(super) fn check_own(&self, object: Object) -> Result<(), AgentError> {
        match object {
            Object::Tag(tag) if self.tags.contains_key(&tag) => Ok(()),
            Object::Tag(tag) => Err(AgentError::UnknownTag(tag)),
            Object::Region(handle) if self.regions.contains_key(&handle) => Ok(()),
            Object::Region(handle) => Err(AgentError::UnknownHandle(handle)),
            Object::Vi(vi) => self.vi(vi).map(drop),
            Object::Cq(cq) => self.cq(cq).map(drop),
            Object::CqAt(None) => Ok(()),
            Object::CqAt(Some(index)) if self.cqs.keys().any(|name| name.index == index) => Ok(()),
            Object::CqAt(Some(index)) => Err(AgentError::UnknownCq(index)),
            Object::Pool(pool) => self.pool(pool).map(drop),
            Object::Private(address) => self.memories(address).map(drop),
            Object::Lease => self.lease().map(drop),
            Object::Function => self.nic.trust.check(self.peer.uid),
            Object::Peer(peer) => self.check_peer(&peer),
            Object::NameIfAny(name) if name.as_bytes().is_empty() => Ok(()),
            Object::Name(name) | Object::NameIfAny(name) => {
                self.nic.connections.check_name(self.peer.uid, name)
            }
            Object::Session(session) => self.record_of(session).map(drop),
        }
    }

    /// A VI of this NIC is somebody's, and frames from this NIC are its peer's to it: only its own user connects with it without its being asked.
    fn check_peer(&self, peer: &ConnectionInfo) -> Result<(), AgentError> {
        let index = queue_pair::VI.get(&[peer.queue_pair.into()]) as u16;
        if peer.ip != self.nic.agent.ip() || self.nic.records.owner(index) == Some(self.peer.uid) {
            return Ok(());
        }
        let text = format!(
            "virtual interface {index} of this NIC is not this user's: connect with it by its discriminator, so that it is asked"
        );
        Err(AgentError::Remote { class: ErrorClass::Reject, text })
    }

    /// What is written down of a session that the user may know of.
    pub(super) fn record_of(&self, session: u64) -> Result<Arc<Record>, AgentError> {
        self.nic.records.find(self.peer.uid, session).ok_or_else(|| AgentError::Remote {
            class: ErrorClass::Parameter,
            text: format!("there is no session {session}, or it is another user's"),
        })
    }
}
