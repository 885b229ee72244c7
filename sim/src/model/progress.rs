//! Progress of a reliable requester: what is acknowledged, what is sent again, and when it gives up.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{service, transmit};

use super::device::Device;
use super::psn;
use super::timers;
use crate::clock::Cycle;

impl Device {
    /// Everything before `to` is acknowledged, but an unanswered read and what is behind it. Whether that
    /// stopped it.
    pub fn acknowledge(&mut self, vi: usize, to: u32) -> bool {
        let requester = &mut self.vis[vi].requester;
        let read = requester.messages.iter().find(|message| message.is_open_read());
        let limit = read.map(|read| psn::later(read.first, requester.oldest));
        let stopped =
            limit.filter(|limit| psn::ahead(to, requester.oldest) > psn::ahead(*limit, requester.oldest));
        self.advance(vi, stopped.unwrap_or(to));
        stopped.is_some()
    }

    /// The oldest PSN moves forward: progress.
    pub fn advance(&mut self, vi: usize, to: u32) {
        let ticks = self.tables.transmit[vi].get(transmit::TIMEOUT);
        let timer = timers::timeout(self.now, ticks);
        let requester = &mut self.vis[vi].requester;
        if requester.oldest != to {
            requester.oldest = to;
            (requester.retries, requester.rnr_retries, requester.implied) = (0, 0, None);
            requester.timer = timer.filter(|_| to != requester.sent_to);
            // What was acknowledged meanwhile is not sent again.
            if psn::ahead(requester.cursor_psn(), to) >= psn::HALF {
                requester.seek(to);
            }
        }
        self.settle_sends(vi);
    }

    /// The packet at the oldest PSN is missing: everything from there on is sent again.
    pub fn go_back(&mut self, vi: usize) {
        self.vis[vi].requester.rewind();
    }

    /// An answer that stands behind an unanswered read says that the read or its answer was lost. Once is
    /// enough: what was under way then may say it again.
    pub fn implied_nak(&mut self, vi: usize) {
        let requester = &mut self.vis[vi].requester;
        if requester.implied != Some(requester.oldest) {
            requester.implied = Some(requester.oldest);
            requester.rewind();
        }
    }

    /// The receiver is not ready: from the oldest PSN again after the time of its code.
    pub fn not_ready(&mut self, vi: usize, number: u32, code: u8) {
        let limit = self.tables.transmit[vi].get(transmit::RNR_RETRIES);
        let now = self.now;
        let requester = &mut self.vis[vi].requester;
        if requester.rnr_retries >= limit {
            let bits = self.remote_error(vi);
            return self.refused(vi, number, bits, event_code::CONN_LOST);
        }
        requester.rnr_retries += 1;
        requester.rewind();
        requester.pause = Some(now + timers::receiver_not_ready(code));
        requester.timer = None;
    }

    /// How a send ends that its receiver could not take.
    pub fn remote_error(&self, vi: usize) -> u32 {
        match self.tables.send_service(vi) {
            service::RELIABLE_RECEPTION => status::REMOTE_DESC_ERROR,
            _ => status::TRANSPORT_ERROR,
        }
    }

    /// The message that holds a PSN ends with this error, and the VI breaks.
    pub fn refused(&mut self, vi: usize, number: u32, bits: u32, code: u8) {
        if let Some(message) = self.vis[vi].requester.holder(number) {
            message.outcome = Some(bits);
        }
        self.break_vi(vi, Some((code, false)));
    }

    /// What happens by itself at this time.
    pub fn serve_timer(&mut self, vi: usize) {
        let row = self.tables.transmit[vi];
        let now = self.now;
        if self.vis[vi].refills.take_if(|when| *when <= now).is_some() {
            return self.serve_queue(vi, true);
        }
        let requester = &mut self.vis[vi].requester;
        if requester.begins.take_if(|when| *when <= now).is_some() {
            return self.serve_queue(vi, false);
        }
        if requester.completes.is_some_and(|when| when <= now) {
            return self.settle_sends(vi);
        }
        let due = |timer: &mut Option<Cycle>| timer.take_if(|when| *when <= now).is_some();
        if due(&mut requester.pause) {
            requester.timer = timers::timeout(now, row.get(transmit::TIMEOUT));
            return;
        }
        if requester.pause.is_some() || !due(&mut requester.timer) {
            return;
        }
        self.counters.count(counter::TIMEOUTS);
        let requester = &mut self.vis[vi].requester;
        if requester.retries >= row.get(transmit::RETRIES) {
            let oldest = requester.oldest;
            let read = requester.holder(oldest).is_some_and(|message| message.is_open_read());
            let code = if read { event_code::RDMA_TRANSPORT } else { event_code::CONN_LOST };
            return self.refused(vi, oldest, status::TRANSPORT_ERROR, code);
        }
        requester.retries += 1;
        requester.implied = None;
        requester.rewind();
        requester.timer = timers::timeout(now, row.get(transmit::TIMEOUT));
    }
}
