//! A connection, from the first question on until it is forgotten; and its messages.

use std::{net::Ipv4Addr, time::Duration};

use viaduct_spec::cm::{
    rdma_cm, subject, transport, MAX_DISCRIMINATOR, PERMISSIVE_LID, PORT, TCP_SERVICE, VIA_VERSION,
};

use super::{
    config::Config,
    datagram::Host,
    discriminator::Discriminator,
    end::{End, NotReady, WITHOUT_END},
    message::{Dreq, Message, Mra, Rej, Rep, Req, Rtu},
    rdma_cm::RdmaCm,
    request::{Party, Target},
    state::State,
    via::Via,
};
use crate::address::{ConnectionInfo, Mac, Mtu, Service};

/// Bytes of a REQ's private data that are VIA's.
pub(super) const REQ_ROOM: usize = 92 - rdma_cm::BYTES;
/// What most ends put into their messages: 4.3 s to answer, seven retries.
const USUAL_TIMEOUT: u8 = 20;
const USUAL_RETRIES: u8 = 7;
const HOP_LIMIT: u8 = 64;

/// How two consumers find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Model {
    /// This side asks, the other one waits.
    Client,
    /// The other side asks.
    Server,
    /// Both ask.
    Peer,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) id: u32,
    /// Whose it is.
    pub(super) party: Party,
    /// [`Connection::enter`] changes it.
    pub(super) state: State,
    pub(super) model: Model,
    /// This side asked for the connection, or is a peer that asks.
    pub(super) active: bool,
    /// The other side is a VI, and not some other program of rdma_cm's.
    pub(super) native: bool,
    /// Who listened, of one that the other side has asked for.
    pub(super) listener: Option<u64>,
    pub(super) target: Target,
    pub(super) host: Option<Host>,
    pub(super) remote_id: u32,
    pub(super) transaction: u64,
    pub(super) own: Option<End>,
    pub(super) peer: Option<End>,
    pub(super) from: Discriminator,
    pub(super) to: Discriminator,
    /// The consumer's own, that goes with this side's message.
    pub(super) data: Vec<u8>,
    /// When something is to be done, and how long after the last time.
    pub(super) timer: Option<Duration>,
    pub(super) interval: Duration,
    /// How often it was done.
    pub(super) tries: u32,
    /// When the consumer's time is over.
    pub(super) limit: Option<Duration>,
    /// When this side ended it, or it was over.
    pub(super) ended: Duration,
    /// What answers a REQ that comes late.
    pub(super) answer: Option<Message>,
}

impl Connection {
    /// Comes into another state, one that its own leads to.
    pub(super) fn enter(&mut self, next: State) {
        debug_assert!(self.state.leads_to(next), "{:?} does not lead to {next:?}", self.state);
        self.state = next;
    }

    /// This side's end. A connection has one before it sends what needs it.
    fn own(&self) -> Option<&End> {
        self.own.as_ref()
    }

    /// What stands in the way of a peer's messages being its own: another host, or another connection's number.
    pub(super) fn is_of(&self, host: Host, theirs: u32) -> bool {
        self.host.is_some_and(|own| own.ip == host.ip)
            && (self.remote_id == 0 || theirs == 0 || theirs == self.remote_id)
    }

    /// Whether the host is the one that it asks for.
    pub(super) fn asks(&self, host: Host) -> bool {
        match self.target {
            Target::Host(own) => own.ip == host.ip,
            Target::Ip(ip) => ip == host.ip,
            Target::Mac(mac) => mac == host.mac,
        }
    }

    /// Of two peers that ask each other, the one whose rank is higher is the active one.
    pub(super) fn rank(&self, own: Mac) -> (u64, u32) {
        (guid(own), self.own().map_or(0, |end| end.info.queue_pair))
    }

    /// Does something now, and again after `interval`.
    pub(super) fn begin_timer(&mut self, now: Duration, interval: Duration) {
        self.tries = 0;
        self.interval = interval;
        self.timer = Some(now + interval);
    }

    /// VIA's private data of this side.
    fn via(&self, end: &End) -> Via {
        Via {
            peer: self.model == Model::Peer,
            rdma_write: end.rdma_write,
            rdma_read: end.rdma_read,
            stays: match end.not_ready {
                NotReady::Break => None,
                NotReady::Stay { timer, .. } => Some(timer),
            },
            level: end.info.service,
            max_transfer: end.info.max_transfer,
            mtu: end.info.mtu,
            data: self.data.clone(),
            ..Via::blank()
        }
    }

    /// The consumer's own fits into the REQ.
    pub(super) fn room(&self) -> usize {
        REQ_ROOM - Via::blank().length() - self.from.as_bytes().len() - self.to.as_bytes().len()
    }

    pub(super) fn req(&self, config: &Config) -> Option<Message> {
        let (end, host) = (self.own()?, self.host?);
        let ConnectionInfo { queue_pair, starting_psn, mtu, service, ack_time, .. } = end.info;
        let port = |of: Discriminator| of.port().filter(|port| *port != 0).unwrap_or(PORT);
        let mut private = [0; 92];
        let (header, behind) = private.split_at_mut(rdma_cm::BYTES);
        if let Some(header) = header.first_chunk_mut() {
            RdmaCm { port: port(self.from), source: config.own.ip, target: host.ip }.encode(header);
        }
        Via { from: self.from, to: self.to, ..self.via(end) }.encode(behind);
        Some(Message::Req(Req {
            local_id: self.id,
            service: TCP_SERVICE | u64::from(port(self.to)),
            guid: guid(config.own.mac),
            queue_pair,
            responder_resources: end.reads_answered,
            initiator_depth: end.reads_asked,
            remote_timeout: USUAL_TIMEOUT,
            transport: if service.is_reliable() { transport::RC } else { transport::UC },
            psn: starting_psn,
            local_timeout: USUAL_TIMEOUT,
            retries: USUAL_RETRIES,
            pkey: config.pkey,
            mtu: mtu.wire_code(),
            rnr_retries: end.not_ready.retries(),
            max_cm_retries: config.timing.retries.min(15) as u8,
            local_lid: PERMISSIVE_LID,
            remote_lid: PERMISSIVE_LID,
            local_gid: config.own.ip.to_ipv6_mapped().octets(),
            remote_gid: host.ip.to_ipv6_mapped().octets(),
            hop_limit: HOP_LIMIT,
            ack_timeout: ack_time,
            private,
            ..Req::blank()
        }))
    }

    pub(super) fn rep(&self, config: &Config) -> Option<Message> {
        let end = self.own()?;
        let mut private = [0; 196];
        if self.native {
            self.via(end).encode(&mut private);
        }
        Some(Message::Rep(Rep {
            local_id: self.id,
            remote_id: self.remote_id,
            queue_pair: end.info.queue_pair,
            psn: end.info.starting_psn,
            responder_resources: end.reads_answered,
            initiator_depth: end.reads_asked,
            ack_delay: end.info.ack_time,
            rnr_retries: end.not_ready.retries(),
            guid: guid(config.own.mac),
            private,
            ..Rep::blank()
        }))
    }

    pub(super) fn rtu(&self, probe: bool) -> Message {
        let mut private = [0; 224];
        if probe {
            Via { probe, ..Via::blank() }.encode(&mut private);
        }
        Message::Rtu(Rtu { local_id: self.id, remote_id: self.remote_id, private })
    }

    pub(super) fn dreq(&self) -> Message {
        Message::Dreq(Dreq {
            local_id: self.id,
            remote_id: self.remote_id,
            remote_queue_pair: self.peer.map_or(0, |end| end.info.queue_pair),
            ..Dreq::blank()
        })
    }

    pub(super) fn mra(&self, about: u8, wait: Duration) -> Message {
        Message::Mra(Mra {
            local_id: self.id,
            remote_id: self.remote_id,
            subject: about,
            service_timeout: exponent(wait),
            ..Mra::blank()
        })
    }

    /// Refuses, with the consumer's own if that fits.
    pub(super) fn rej(&self, about: u8, reason: u16, data: &[u8]) -> Message {
        let mut rej = rej(self.id, self.remote_id, about, reason);
        if !data.is_empty() {
            Via { data: data.to_vec(), ..Via::blank() }.encode(&mut rej.private);
        }
        Message::Rej(rej)
    }

    /// Gives up: says who does, because the other side may not know our number yet.
    pub(super) fn give_up(&self, about: u8, own: Mac) -> Message {
        let mut rej = rej(self.id, self.remote_id, about, viaduct_spec::cm::reason::TIMEOUT);
        rej.additional_length = 8;
        rej.additional[..8].copy_from_slice(&guid(own).to_be_bytes());
        Message::Rej(rej)
    }
}

/// A REJ, without private data.
pub(super) fn rej(local_id: u32, remote_id: u32, about: u8, reason: u16) -> Rej {
    Rej { local_id, remote_id, subject: about, reason, ..Rej::blank() }
}

/// A REJ of private data of VIA's that cannot be read. It tells the version that can.
pub(super) fn unreadable(local_id: u32, remote_id: u32, about: u8) -> Message {
    let mut rej = rej(local_id, remote_id, about, viaduct_spec::cm::reason::UNSUPPORTED);
    rej.additional_length = 1;
    rej.additional[0] = VIA_VERSION;
    Message::Rej(rej)
}

/// A REJ of something that no connection is known of.
pub(super) fn unknown(local_id: u32, remote_id: u32, about: u8, reason: u16) -> Message {
    Message::Rej(rej(local_id, remote_id, about, reason))
}

/// The end that a REQ describes; else the reason to refuse it.
pub(super) fn asking(req: &Req, via: Option<&Via>, host: Host) -> Result<End, u16> {
    use viaduct_spec::cm::reason;
    let level = via.map(|via| via.level);
    let service = match (req.extended_transport, req.transport) {
        (0, transport::RC) => level.unwrap_or(Service::ReliableDelivery),
        (0, transport::UC) => level.unwrap_or(Service::UnreliableDelivery),
        _ => return Err(reason::INVALID_TRANSPORT),
    };
    if service.is_reliable() != (req.transport == transport::RC) {
        return Err(reason::UNSUPPORTED);
    }
    let mtu = Mtu::from_wire_code(req.mtu).ok_or(reason::INVALID_MTU)?;
    let told = Told {
        service,
        mtu,
        queue_pair: req.queue_pair,
        starting_psn: req.psn,
        host,
        via,
        ack_time: req.ack_timeout,
        retries: req.rnr_retries,
    };
    Ok(told.end(req.responder_resources, req.initiator_depth))
}

/// The end that a REP describes.
pub(super) fn answering(rep: &Rep, via: Option<&Via>, host: Host, own: &End) -> End {
    let service = via.map_or(own.info.service, |via| via.level);
    let Rep { queue_pair, psn: starting_psn, ack_delay: ack_time, rnr_retries: retries, .. } = *rep;
    let told = Told { service, mtu: own.info.mtu, queue_pair, starting_psn, host, via, ack_time, retries };
    told.end(rep.responder_resources, rep.initiator_depth)
}

/// What REQ and REP have in common.
struct Told<'a> {
    service: Service,
    mtu: Mtu,
    queue_pair: u32,
    starting_psn: u32,
    host: Host,
    via: Option<&'a Via>,
    ack_time: u8,
    retries: u8,
}

impl Told<'_> {
    fn end(&self, reads_answered: u8, reads_asked: u8) -> End {
        let Self { service, queue_pair, starting_psn, host, via, ack_time, retries, .. } = *self;
        End {
            info: ConnectionInfo {
                mac: host.mac,
                ip: host.ip,
                queue_pair,
                starting_psn,
                first_psn: None,
                mtu: via.map_or(self.mtu, |via| via.mtu),
                service,
                max_transfer: via.map_or(0, |via| via.max_transfer),
                ack_time,
            },
            rdma_write: via.is_some_and(|via| via.rdma_write),
            rdma_read: via.is_some_and(|via| via.rdma_read),
            reads_answered,
            reads_asked,
            // What is no VI stays: that is InfiniBand's way. How long it asks one to wait is its own affair.
            not_ready: match via.map_or(Some(0), |via| via.stays) {
                None => NotReady::Break,
                Some(timer) => NotReady::Stay { timer, retries: retries.min(WITHOUT_END) },
            },
        }
    }
}

/// What a NIC is called in messages: EUI-64 of its MAC address.
pub(super) fn guid(mac: Mac) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f])
}

/// The smallest n with 4.096 us * 2^n not less than `time`; 31 at most.
pub(super) fn exponent(time: Duration) -> u8 {
    (0..31).find(|n| 4096u128 << n >= time.as_nanos()).unwrap_or(31)
}

/// 4.096 us * 2^n.
pub(super) fn power(n: u8) -> Duration {
    Duration::from_nanos(4096 << n.min(31))
}

/// What a REJ is about when it is about no message.
pub(super) const NO_MESSAGE: u8 = subject::OTHER;

/// A REQ has room for two of the longest discriminators.
const _: () = assert!(REQ_ROOM >= viaduct_spec::cm::via::BYTES + 2 * MAX_DISCRIMINATOR);

/// No address: of a passive connection before its host is known.
pub(super) const NOWHERE: Target = Target::Ip(Ipv4Addr::UNSPECIFIED);
