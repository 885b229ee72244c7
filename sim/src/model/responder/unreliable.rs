//! What an unreliable VI receives: no answer of any kind, and a message that is not whole is none.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};

use super::inbound::{Inbound, Refusal};
use super::payload::deliver;
use super::request::Request;
use super::Responder;
use crate::model::choices::{Mutant, Unheard};
use crate::model::context::Context;
use crate::model::effect::{Effect, Effects};
use crate::model::event::Event;
use crate::model::psn;
use crate::model::receives::Receives;

impl Responder {
    /// A packet of the peer's to an unreliable VI: whether it is taken by its PSN and its place, which ends what it does not follow.
    pub fn admit(
        &mut self,
        number: u32,
        request: &Request<'_>,
        vi: usize,
        context: &Context<'_>,
        effects: &mut Effects,
    ) -> bool {
        let distance = psn::ahead(number, self.expected);
        let twice = context.breaks(Mutant::Twice) && request.is_first();
        // UNR-2: what lies just behind is a duplicate.
        if psn::just_behind(number, self.expected) && !twice {
            effects.count(counter::DROP_PSN);
            return false;
        }
        if !request.is_first() {
            // UNR-2: MIDDLE and LAST at the expected PSN only. UNR-3: otherwise there is a gap.
            if distance != 0 {
                self.cut_off(vi, context, effects);
                effects.count(counter::DROP_PARTIAL);
                return false;
            }
            let follows = matches!(
                (request, &self.inbound),
                (Request::Send(_), Some(Inbound::Send { .. }))
                    | (Request::Write(..), Some(Inbound::Write { .. }))
            );
            if !follows {
                self.cut_off(vi, context, effects);
                self.expected = psn::add(number, 1);
                effects.count(counter::DROP_PARTIAL);
                return false;
            }
        } else {
            self.cut_off(vi, context, effects);
        }
        self.expected = psn::add(number, 1);
        true
    }

    /// The packet that was admitted does what it asks for.
    pub fn take_unreliable(
        &mut self,
        request: &Request<'_>,
        vi: usize,
        receives: &mut Receives,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) {
        if context.choices.unheard == Some(Unheard::Cuts) {
            return;
        }
        match self.take_payload(request, receives, context, effects) {
            Ok(inbound) if request.is_last() => {
                let done = deliver(inbound, request.immediate(), effects);
                effects.extend(done.map(Effect::Complete));
            }
            Ok(inbound) => self.inbound = Some(inbound),
            Err(refusal) => {
                self.refuse_unreliable(refusal, vi, context, effects);
                if !request.is_last() {
                    self.inbound = Some(Inbound::Dropped);
                }
            }
        }
    }

    /// A message that cannot be taken: reported, and the connection stays.
    fn refuse_unreliable(
        &mut self,
        refusal: Refusal,
        vi: usize,
        context: &Context<'_>,
        effects: &mut Effects,
    ) {
        let code = match refusal {
            Refusal::NotReady => {
                effects.count(counter::DROP_NO_RECEIVE);
                // An RDMA write's data is there all the same.
                self.inbound = None;
                // UNR-4: no receive is posted.
                event_code::RECVQ_EMPTY
            }
            // UNR-4: the receive says why.
            Refusal::Break { ending: Some(bits), .. } => return self.abandon(bits, effects),
            Refusal::Break { event: event_code::CONN_LOST, .. } => {
                // A packet that does not fit into its message.
                effects.count(counter::DROP_PARTIAL);
                return self.cut_off(vi, context, effects);
            }
            Refusal::Break { event, .. } => {
                self.inbound = None;
                event
            }
            Refusal::Lost | Refusal::Broken => return,
        };
        effects.push(Effect::Report(Event { code, index: vi, receive: true, broke: false }));
    }

    /// The message under way will not be whole.
    fn cut_off(&mut self, vi: usize, context: &Context<'_>, effects: &mut Effects) {
        // UNR-3: RDMAW_ABORT, or PARTIAL_ERROR in the receive.
        if matches!(self.inbound, Some(Inbound::Write { .. })) {
            self.inbound = None;
            let code = event_code::RDMAW_ABORT;
            effects.push(Effect::Report(Event { code, index: vi, receive: true, broke: false }));
        }
        self.abandon(if context.breaks(Mutant::SilentLoss) { 0 } else { status::PARTIAL_ERROR }, effects);
    }
}
