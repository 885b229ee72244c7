//! What an unreliable VI receives: no answer of any kind, and a message that is not whole is none.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::receive;

use super::choices::Mutant;
use super::device::Device;
use super::events::Event;
use super::frame::Packet;
use super::message::{Inbound, Refusal, Request};
use super::psn;
use super::tables::Tables;

impl Device {
    /// A packet of the peer's to an unreliable VI.
    pub fn take_unreliable(&mut self, vi: usize, packet: &Packet) {
        let Some(request) = Request::of(packet) else { return };
        let responder = &self.vis[vi].responder;
        let distance = psn::ahead(packet.psn, responder.expected);
        let twice = self.choices.mutant == Some(Mutant::Twice) && request.is_first();
        if distance >= psn::HALF && !twice {
            return self.counters.count(counter::DROP_PSN);
        }
        if !request.is_first() {
            if distance != 0 {
                self.cut_off(vi);
                return self.counters.count(counter::DROP_PARTIAL);
            }
            let under_way = self.vis[vi].responder.inbound.as_ref();
            let follows = matches!(
                (request, under_way),
                (Request::Send(_), Some(Inbound::Send { .. }))
                    | (Request::Write(..), Some(Inbound::Write { .. }))
            );
            if !follows {
                self.cut_off(vi);
                self.vis[vi].responder.expected = psn::add(packet.psn, 1);
                return self.counters.count(counter::DROP_PARTIAL);
            }
        } else {
            self.cut_off(vi);
        }
        self.vis[vi].responder.expected = psn::add(packet.psn, 1);
        self.take_message(vi, &request);
    }

    fn take_message(&mut self, vi: usize, request: &Request<'_>) {
        let mtu = Tables::mtu(self.tables.receive[vi].get(receive::MTU));
        let immediate = request.immediate();
        match self.take_payload(vi, request, mtu) {
            Ok(inbound) if request.is_last() => {
                self.deliver(vi, inbound, immediate);
            }
            Ok(inbound) => self.vis[vi].responder.inbound = Some(inbound),
            Err(refusal) => {
                self.refuse_unreliable(vi, refusal);
                if !request.is_last() {
                    self.vis[vi].responder.inbound = Some(Inbound::Dropped);
                }
            }
        }
    }

    /// A message that cannot be taken: reported, and the connection stays.
    fn refuse_unreliable(&mut self, vi: usize, refusal: Refusal) {
        let code = match refusal {
            Refusal::NotReady => {
                self.counters.count(counter::DROP_NO_RECEIVE);
                // An RDMA write's data is there all the same.
                self.vis[vi].responder.inbound = None;
                event_code::RECVQ_EMPTY
            }
            Refusal::Break { ending: Some(bits), .. } => return self.abandon_receive(vi, bits),
            Refusal::Break { event: event_code::CONN_LOST, .. } => {
                // A packet that does not fit into its message.
                self.counters.count(counter::DROP_PARTIAL);
                return self.cut_off(vi);
            }
            Refusal::Break { event, .. } => {
                self.vis[vi].responder.inbound = None;
                event
            }
            Refusal::Broken => return,
        };
        self.report(Event { code, index: vi, receive: true, broke: false });
    }

    /// The message under way will not be whole.
    fn cut_off(&mut self, vi: usize) {
        if matches!(self.vis[vi].responder.inbound, Some(Inbound::Write { .. })) {
            self.vis[vi].responder.inbound = None;
            self.report(Event { code: event_code::RDMAW_ABORT, index: vi, receive: true, broke: false });
        }
        let silent = self.choices.mutant == Some(Mutant::SilentLoss);
        self.abandon_receive(vi, if silent { 0 } else { status::PARTIAL_ERROR });
    }
}
