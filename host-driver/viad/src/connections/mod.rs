//! Connections of all sessions: one connection manager on the NIC's raw channel, and whose its listeners and connections are.
//!
//! Sessions ask in their own threads, [`Connections::run`] hears the wire in another; whoever has made something happen hands it out.
//! Nothing here waits for a peer.

mod names;
mod wire;

use std::{
    collections::BTreeMap,
    os::fd::OwnedFd,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Mutex, MutexGuard, PoisonError,
    },
    time::Duration,
};

use rustix::event::{eventfd, EventfdFlags};
use viaduct_driver::{
    agent::{
        connector::{Ask, Connector, ConnectorError},
        raw::Filter,
        Agent,
    },
    cm::{
        self, config, progress::Progress, CmError, Config, ConnectionId, Discriminator, Event, Host,
        ListenerId,
    },
    ethernet::Tap,
    kernel_agent::{AgentError, ViName},
};

use self::names::Names;
use crate::{
    accounts::{Accounts, Quota, Share},
    inbox::Inbox,
};

/// Requests that are not established, of all sessions: each user's are limited.
const PENDING: usize = 1024;

/// The connections of a NIC.
pub struct Connections {
    connector: Connector,
    routes: Mutex<Routes>,
    stopped: AtomicBool,
    tap: Option<Tap>,
    accounts: Arc<Accounts>,
    /// Ends the thread that looks at it.
    stop_tap: OwnedFd,
}

/// What the connection manager of a viad is set up with.
fn manager_config(own: Host, seed: u64, silence: Duration) -> Config {
    let limits = config::Limits { pending: PENDING, ..config::Limits::default() };
    let timing = config::Timing { probe: Some(silence), ..config::Timing::default() };
    Config { limits, timing, ..Config::new(own, seed) }
}

/// Who asks: a session.
#[derive(Debug, Clone)]
pub struct Party {
    /// Its user.
    pub uid: u32,
    /// Where its events go.
    pub inbox: Arc<Inbox>,
}

impl Party {
    /// All sessions of a user have one share. 0 is nobody's.
    fn share(&self) -> cm::Party {
        1 + cm::Party::from(self.uid)
    }

    fn is(&self, other: &Inbox) -> bool {
        self.inbox.session == other.session
    }
}

#[derive(Default)]
struct Routes {
    listeners: BTreeMap<ListenerId, Listener>,
    connections: BTreeMap<ConnectionId, Route>,
    names: Names,
}

struct Listener {
    party: Party,
    discriminator: Discriminator,
    share: Share,
}

struct Route {
    inbox: Arc<Inbox>,
    /// None: somebody asks, and is not decided on.
    vi: Option<ViName>,
    /// What that counts as.
    _undecided: Option<Share>,
}

impl Routes {
    fn own(&self, party: &Party, id: ConnectionId) -> Result<&Route, CmError> {
        self.connections.get(&id).filter(|route| party.is(&route.inbox)).ok_or(CmError::Gone(id.number()))
    }

    /// A VI has one connection at a time.
    fn check_free(&self, vi: ViName) -> Result<(), AgentError> {
        if self.connections.values().any(|route| route.vi == Some(vi)) {
            let (state, rule) = ("connected, or being connected", "it has one connection at a time");
            return Err(AgentError::State { vi: vi.index, state, rule });
        }
        Ok(())
    }

    fn hold(&mut self, party: &Party, name: Discriminator) -> Result<(), AgentError> {
        let listeners = &self.listeners;
        self.names.hold((party.uid, party.inbox.session), name, |held| {
            listeners.values().any(|one| party.is(&one.party.inbox) && one.discriminator == held)
        })
    }
}

impl Connections {
    /// Opens the NIC's raw channel, and shares it with the host's interface, if there is one. It answers ARP for the NIC's address. The
    /// other end of a connection is asked whether it is there after this `silence`.
    pub fn open(
        agent: &Arc<Agent>,
        (seed, silence): (u64, Duration),
        tap: Option<Tap>,
        accounts: &Arc<Accounts>,
    ) -> Result<Self, AgentError> {
        let own = Host { mac: agent.mac(), ip: agent.ip() };
        let config = Config { pkey: agent.pkey(), ..manager_config(own, seed, silence) };
        let connector = Connector::with(agent, config)?;
        if tap.is_some() {
            let filter = Filter { broadcast: true, multicast: true, ..Filter::default() };
            connector.raw().set_filter(filter)?;
        }
        let stop_tap = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let stop_tap = stop_tap.map_err(|error| AgentError::Arena(error.into()))?;
        let (routes, stopped) = (Mutex::default(), AtomicBool::new(false));
        Ok(Self { connector, routes, stopped, tap, accounts: Arc::clone(accounts), stop_tap })
    }

    /// Ends [`Connections::run`] and [`Connections::run_tap`] soon.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        // A counter that starts at 0 takes a 1.
        let _ = rustix::io::write(&self.stop_tap, &1u64.to_ne_bytes());
    }

    /// Whether a user may use a discriminator.
    ///
    /// # Errors
    /// It is another user's.
    pub fn check_name(&self, uid: u32, name: Discriminator) -> Result<(), AgentError> {
        self.routes().names.check(uid, name)
    }

    /// Waits for the next who asks for a discriminator, or for all, of whom `backlog` may wait to be decided on. `share` is the listener's.
    pub fn listen(
        &self,
        party: &Party,
        name: Discriminator,
        backlog: Option<u32>,
        share: Share,
    ) -> Result<ListenerId, AgentError> {
        let mut routes = self.routes();
        routes.hold(party, name)?;
        let id = self.connector.listen_for(party.share(), name, backlog.map(|most| most as usize));
        let listener = Listener { party: party.clone(), discriminator: name, share };
        routes.listeners.insert(id, listener);
        Ok(id)
    }

    /// Waits no longer, and refuses those who have asked and were not fetched. One that is not there is no error: it has got its request.
    pub fn unlisten(&self, party: &Party, id: ListenerId) -> Result<(), AgentError> {
        let mut routes = self.routes();
        if routes.listeners.get(&id).is_some_and(|one| party.is(&one.party.inbox)) {
            routes.listeners.remove(&id);
            self.connector.unlisten(id)?;
        }
        while let Some(asked) = party.inbox.take_request(id) {
            self.leave_connection(&mut routes, party, asked)?;
        }
        self.hand_out(&mut routes)
    }

    /// How many connections the manager has for a session's user.
    pub fn count(&self, party: &Party) -> Result<u32, AgentError> {
        let mut routes = self.routes();
        let count = self.connector.connections_of(party.share())?;
        self.hand_out(&mut routes)?;
        Ok(count)
    }

    /// Asks who listens.
    pub fn connect(&self, party: &Party, ask: Ask) -> Result<ConnectionId, ConnectorError> {
        let mut routes = self.routes();
        self.ask(&mut routes, party, ask, Connector::connect_for)
    }

    /// Asks who asks us.
    pub fn peer_request(&self, party: &Party, ask: Ask) -> Result<ConnectionId, ConnectorError> {
        let mut routes = self.routes();
        routes.hold(party, ask.from)?;
        self.ask(&mut routes, party, ask, Connector::peer_request_for)
    }

    fn ask(
        &self,
        routes: &mut Routes,
        party: &Party,
        ask: Ask,
        how: fn(&Connector, cm::Party, Ask) -> Result<ConnectionId, ConnectorError>,
    ) -> Result<ConnectionId, ConnectorError> {
        let vi = ask.vi;
        routes.check_free(vi)?;
        let id = how(&self.connector, party.share(), ask)?;
        let route = Route { inbox: Arc::clone(&party.inbox), vi: Some(vi), _undecided: None };
        routes.connections.insert(id, route);
        self.hand_out(routes)?;
        Ok(id)
    }

    /// Accepts a request with an idle VI.
    pub fn accept(
        &self,
        party: &Party,
        id: ConnectionId,
        vi: ViName,
        data: &[u8],
    ) -> Result<(), ConnectorError> {
        let mut routes = self.routes();
        if routes.own(party, id)?.vi.is_some() {
            return Err(CmError::Gone(id.number()).into());
        }
        routes.check_free(vi)?;
        let accepted = self.connector.accept(id, vi, data);
        self.decided(&mut routes, party, id, Some(vi), &accepted)?;
        accepted
    }

    /// Refuses a request.
    pub fn reject(&self, party: &Party, id: ConnectionId, data: &[u8]) -> Result<(), ConnectorError> {
        let mut routes = self.routes();
        if routes.own(party, id)?.vi.is_some() {
            return Err(CmError::Gone(id.number()).into());
        }
        let rejected = self.connector.reject(id, data);
        self.decided(&mut routes, party, id, None, &rejected)?;
        rejected
    }

    /// What becomes of a request: it is a VI's connection, or over, or still to be decided on.
    fn decided(
        &self,
        routes: &mut Routes,
        party: &Party,
        id: ConnectionId,
        vi: Option<ViName>,
        how: &Result<(), ConnectorError>,
    ) -> Result<(), AgentError> {
        let over = match how {
            Ok(()) => vi.is_none(),
            Err(ConnectorError::Manager(error)) => error.is_gone(),
            Err(ConnectorError::Agent(_)) => false,
        };
        if over {
            routes.connections.remove(&id);
            party.inbox.forget(id);
        } else if how.is_ok() {
            let route = Route { inbox: Arc::clone(&party.inbox), vi, _undecided: None };
            routes.connections.insert(id, route);
        }
        self.hand_out(routes)
    }

    /// Ends a connection, an attempt at one, or a request. One that is gone already is no error.
    pub fn disconnect(&self, party: &Party, id: ConnectionId) -> Result<(), AgentError> {
        let mut routes = self.routes();
        self.leave_connection(&mut routes, party, id)
    }

    fn leave_connection(
        &self,
        routes: &mut Routes,
        party: &Party,
        id: ConnectionId,
    ) -> Result<(), AgentError> {
        if routes.own(party, id).is_ok() {
            routes.connections.remove(&id);
            self.connector.disconnect(id)?;
        }
        party.inbox.forget(id);
        self.hand_out(routes)
    }

    /// How far the connection of a VI is.
    pub fn progress(&self, vi: ViName) -> Option<Progress> {
        let routes = self.routes();
        let id = routes.connections.iter().find(|(_, route)| route.vi == Some(vi)).map(|(id, _)| *id);
        self.connector.progress(id?)
    }

    /// A VI is to have no connection.
    pub fn leave_vi(&self, party: &Party, vi: ViName) -> Result<(), AgentError> {
        let mut routes = self.routes();
        let its = |(id, route): (&ConnectionId, &Route)| (route.vi == Some(vi)).then_some(*id);
        match routes.connections.iter().find_map(its) {
            Some(id) => self.leave_connection(&mut routes, party, id),
            None => Ok(()),
        }
    }

    /// A session ends: so do its listeners and connections. All of them, whatever the first error is.
    pub fn leave(&self, party: &Party) -> Result<(), AgentError> {
        let mut routes = self.routes();
        let mut result = Ok(());
        let listeners = routes.listeners.iter().filter(|(_, one)| party.is(&one.party.inbox));
        for id in listeners.map(|(id, _)| *id).collect::<Vec<_>>() {
            routes.listeners.remove(&id);
            result = result.and(self.connector.unlisten(id));
        }
        let connections = routes.connections.iter().filter(|(_, one)| party.is(&one.inbox));
        for id in connections.map(|(id, _)| *id).collect::<Vec<_>>() {
            result = result.and(self.leave_connection(&mut routes, party, id));
        }
        routes.names.leave(party.inbox.session);
        result.and(self.hand_out(&mut routes))
    }

    /// Puts events into the inboxes of those whose they are.
    fn hand_out(&self, routes: &mut Routes) -> Result<(), AgentError> {
        while let Some(event) = self.connector.take_event(|_| true) {
            let id = event.id();
            if let Event::Incoming { listener, once, .. } = &event {
                let listener = match once {
                    true => routes.listeners.remove(listener).map(|one| (one.party.inbox, one.share)),
                    false => routes.listeners.get(listener).and_then(|Listener { party, .. }| {
                        let share = self.accounts.take(party.uid, Quota::Listener, 1).ok()?;
                        Some((Arc::clone(&party.inbox), share))
                    }),
                };
                let Some((inbox, share)) = listener else {
                    // It has just left; or as many ask its user as may.
                    self.connector.disconnect(id)?;
                    continue;
                };
                routes.connections.insert(id, Route { inbox, vi: None, _undecided: Some(share) });
            }
            let over = matches!(
                event,
                Event::Withdrawn { .. }
                    | Event::Refused { .. }
                    | Event::Disconnected { .. }
                    | Event::Lost { .. }
            );
            if let Some(route) = routes.connections.get(&id) {
                route.inbox.put_connection_event(event);
            }
            if over {
                routes.connections.remove(&id);
            }
        }
        Ok(())
    }

    fn routes(&self) -> MutexGuard<'_, Routes> {
        // A thread that panicked with the lock held has left nothing half changed.
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_other_end_is_asked_after_the_silence_that_is_configured() {
        let own = Host { mac: viaduct_driver::address::Mac([2, 0, 0, 0, 0, 1]), ip: Ipv4Addr::LOCALHOST };
        let configured = |millis| manager_config(own, 7, Duration::from_millis(millis)).timing;
        assert_eq!(configured(600).probe, Some(Duration::from_millis(600)));
        let default = crate::config::Config::default().silence_ms;
        assert_eq!(configured(default), config::Timing::default(), "viad's default is the manager's");
    }
}
