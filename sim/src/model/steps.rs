//! The steps of a [`Driven`] model that it otherwise takes by itself, one by one: which descriptor is fetched when, which
//! answer leaves, when a timer ends. Who has a trace of another NIC tries which steps give the same.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::Write;

use viaduct_spec::profile::RECEIVE_AHEAD;
use viaduct_spec::tables::transmit;

use crate::clock::Cycle;
use crate::model::choices::{Choices, Unheard, WHEN_TOLD};
use crate::model::driven::{Driven, Sent};
use crate::model::effect::Effect;
use crate::model::host::Host;
use crate::model::responder::Reply;
use crate::model::tables::{Rows, ViState};
use crate::model::timers;

/// Something that a responder has to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pending {
    /// An acknowledgement, or a NAK that asks for more.
    Acknowledgement {
        /// Its PSN.
        psn: u32,
        /// Messages executed.
        msn: u32,
        /// What it says.
        syndrome: u8,
    },
    /// The NAK with which its VI has broken.
    Refusal {
        /// Its PSN.
        psn: u32,
        /// Messages executed.
        msn: u32,
        /// What it says.
        syndrome: u8,
    },
    /// The next packet of a read's answer.
    Response,
}

impl Choices {
    /// Nothing happens by itself.
    pub fn led() -> Self {
        Self {
            packet_cycles: 1,
            send_cycles: WHEN_TOLD,
            receive_cycles: WHEN_TOLD,
            complete_cycles: WHEN_TOLD,
            receive_ahead: 1,
            answers_apart: true,
            reads_late: true,
            sends_on: true,
            ..Self::default()
        }
    }
}

/// The answer to a read that is on its way: a request that comes meanwhile does not take its place.
#[derive(Debug, Clone)]
pub struct UnderWay(Reply);

impl<H: Host> Driven<H> {
    /// It is this cycle now, and no timer ends.
    pub fn set_time(&mut self, now: Cycle) {
        self.device.now = now;
    }

    /// Fetches one more descriptor of a queue, to flush it if the VI is in Error; whether there was one, and room for it.
    pub fn fetch(&mut self, vi: usize, receive: bool) -> bool {
        let device = &mut self.device;
        let state = device.vis[vi].state();
        if !device.serves() || !device.vis[vi].queue(receive).has_more() {
            return false;
        }
        if receive {
            let ahead = device.vis[vi].receives.fetched();
            if ahead >= RECEIVE_AHEAD && state != ViState::Error {
                return false;
            }
            device.choices.receive_ahead = ahead + 1;
            device.vis[vi].receives.postpone(None);
            device.act(vi, |_, _, effects| effects.serve(true));
            device.choices.receive_ahead = 1;
            let more = device.vis[vi].queue(true).has_more();
            device.vis[vi].receives.postpone(more.then_some(WHEN_TOLD));
            return true;
        }
        if state != ViState::Connected {
            return false;
        }
        let before = device.vis[vi].requester.fetched();
        let begins = device.vis[vi].requester.postpone(None);
        device.choices.send_ahead = before + 1;
        device.act(vi, |_, _, effects| effects.serve(false));
        device.choices.send_ahead = 1;
        device.vis[vi].requester.postpone(begins);
        device.vis[vi].requester.fetched() != before || device.vis[vi].state() != state
    }

    /// A frame has come while its VI breaks: data of a read goes to memory, what is refused has its error, or is told so. Who leads the model
    /// has the VI break next.
    pub fn frame_unheard(&mut self, frame: &[u8], what: Unheard) {
        self.device.choices.unheard = Some(what);
        self.device.take_frame(frame, false);
        self.device.choices.unheard = None;
    }

    /// The descriptor whose turn it is ends by an error of its own, while its VI breaks by something else: who leads the model has it break
    /// next. Whether it has such an error; otherwise its packet has been made.
    pub fn request_unheard(&mut self, vi: usize) -> bool {
        self.device.choices.unheard = Some(Unheard::Ends);
        let sent = self.packet(vi, false);
        self.device.choices.unheard = None;
        sent.is_none()
    }

    /// Receives of a VI that have been read and are not complete: those that wait for a message, and that of one under way.
    pub fn receives_in_use(&self, vi: usize) -> usize {
        let vi = &self.device.vis[vi];
        vi.receives.fetched() + usize::from(vi.responder.has_receive())
    }

    /// What a VI's responder has to send, in its order.
    pub fn answers(&self, vi: usize) -> Vec<Pending> {
        let responder = &self.device.vis[vi].responder;
        let kind = |reply: &Reply| match *reply {
            Reply::Acknowledge { psn, msn, syndrome } if responder.has_broken_with(psn, syndrome) => {
                Pending::Refusal { psn, msn, syndrome }
            }
            Reply::Acknowledge { psn, msn, syndrome } => Pending::Acknowledgement { psn, msn, syndrome },
            Reply::Read { .. } => Pending::Response,
        };
        responder.replies().iter().map(kind).collect()
    }

    /// The oldest of them is not sent: another says what it would.
    pub fn omit_answer(&mut self, vi: usize) {
        self.device.vis[vi].responder.replies_mut().set_aside(1);
    }

    /// Sends one of them ahead of those before it. `None` if its turn breaks the VI.
    pub fn answer(&mut self, vi: usize, index: usize) -> Option<Sent> {
        let before = self.device.vis[vi].responder.replies_mut().set_aside(index);
        let sent = self.packet(vi, true);
        let replies = self.device.vis[vi].responder.replies_mut();
        before.into_iter().rev().for_each(|reply| replies.put_back(reply));
        sent
    }

    /// The oldest answer to a read that a VI's responder has to send is on its way.
    pub fn start_response(&mut self, vi: usize) -> Option<UnderWay> {
        self.device.vis[vi].responder.replies_mut().take_read().map(UnderWay)
    }

    /// It comes next.
    pub fn end_response(&mut self, vi: usize, response: UnderWay) {
        self.device.vis[vi].responder.replies_mut().put_back(response.0);
    }

    /// The descriptor whose turn had come when a VI began to send again is wrong, and breaks the VI; whether there is one.
    pub fn fail_ahead(&mut self, vi: usize) -> bool {
        let mut found = false;
        self.device.act(vi, |part, context, effects| found = part.requester.fail_ahead(context, effects));
        found
    }

    /// An implied NAK is taken again that has come again when what is missing had been asked for; whether there is one.
    pub fn take_again(&mut self, vi: usize) -> bool {
        self.device.vis[vi].requester.take_again()
    }

    /// An answer of this PSN stands behind a read of a VI's that is not answered.
    pub fn is_behind_read(&self, vi: usize, psn: u32) -> bool {
        self.device.vis[vi].requester.is_behind_read(psn)
    }

    /// The next request of a VI's asks for a read from this packet, whose data has come while it was made; whether it can.
    pub fn ask_from(&mut self, vi: usize, psn: u32) -> bool {
        self.device.vis[vi].requester.ask_from(psn)
    }

    /// Completes the oldest send of a VI, if it is done; whether it is.
    pub fn complete(&mut self, vi: usize) -> bool {
        let done = self.device.vis[vi].requester.completes_now();
        if done {
            self.device.act(vi, |_, _, effects| effects.push(Effect::Settle { waited: true }));
        }
        done
    }

    /// The same while its VI breaks by something else: if its entry is lost, it does not break it.
    pub fn complete_unheard(&mut self, vi: usize) -> bool {
        self.device.choices.unheard = Some(Unheard::Receives);
        let done = self.complete(vi);
        self.device.choices.unheard = None;
        done
    }

    /// When the timer of a VI's requester ends: of its pause if there is one, otherwise its time-out.
    pub fn timer(&self, vi: usize) -> Option<Cycle> {
        self.device.vis[vi].requester.timer()
    }

    /// Cycles of its time-out, if it has one and does not pause.
    pub fn timeout(&self, vi: usize) -> Option<Cycle> {
        if self.device.vis[vi].requester.is_paused() {
            return None;
        }
        timers::timeout(0, Rows::new(&self.device.tables, vi).transmit().get(transmit::TIMEOUT))
    }

    /// It ends: at its time, from which on the next one runs, however late it is noticed what came of it.
    pub fn expire(&mut self, vi: usize) {
        if let Some(when) = self.timer(vi) {
            let now = std::mem::replace(&mut self.device.now, when);
            self.device.act(vi, |part, context, effects| part.serve_timer(context, effects));
            self.device.now = self.device.now.max(now);
        }
    }

    /// The consumer of a completion queue has taken all of it.
    pub fn drain(&mut self, queue: usize) {
        self.device.cqs.drain(queue);
    }

    /// Whether a VI is in Error.
    pub fn is_broken(&self, vi: usize) -> bool {
        self.device.vis[vi].state() == ViState::Error
    }

    /// A VI's state in words.
    pub fn describe(&self, vi: usize) -> String {
        format!("{:x?}", self.device.vis[vi])
    }

    /// The state of some VIs and of all completion queues, as a number; tables and registers are not in it.
    pub fn fingerprint(&self, vis: &[usize]) -> u64 {
        let mut sink = Sink(DefaultHasher::new());
        for vi in vis {
            // A hasher takes everything.
            let _ = write!(sink, "{:?}", self.device.vis[*vi]);
        }
        let _ = write!(sink, "{:?}", self.device.cqs);
        sink.0.finish()
    }
}

/// Text that is only hashed.
struct Sink(DefaultHasher);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        bytes.hash(&mut self.0);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
