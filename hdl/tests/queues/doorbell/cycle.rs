//! One cycle: what goes in, what comes out, and what the contract makes of it.

use crate::bundle::Bundle;
use viaduct_hdl::bus;
use viaduct_spec::doorbell::{arm, page, token};
use viaduct_spec::profile::VIS;
use viaduct_spec::tables::{table, work_queue};

use super::{Cycle, Harness, Row, RECEIVE, SEND, TOKEN};

impl Harness {
    /// Runs one cycle and checks it. Gives which of commit, again_fetch, again_send, again_receive were taken.
    pub fn cycle(&mut self, now: Cycle) -> [bool; 4] {
        let waiting = self.waiting();
        let bench = &mut self.bench;
        bench.set("mmio_write_valid", now.store.is_some().into());
        if let Some((address, data, enables)) = now.store {
            let doorbell = 1;
            let fields = [("doorbell", doorbell), ("address", address), ("data", data), ("enables", enables)];
            self.store.set(bench, &fields);
        }
        bench.set("commit_valid", now.commit.is_some().into());
        if let Some((row, open)) = now.commit {
            let mut words = [0; 2];
            work_queue::OPEN.put(&mut words, open.into());
            let fields = [("target", table::WORK_QUEUE.into()), ("row", row), ("word0", words[0])];
            self.commit.set(bench, &fields);
        }
        bench.set("again_fetch_valid", now.again_fetch.is_some().into());
        if let Some((vi, receive)) = now.again_fetch {
            let again = [("vi", vi), ("receive", receive.into())];
            Bundle::of::<bus::QueueId>("again_fetch").set(bench, &again);
        }
        for (queue, name) in ["send", "receive"].into_iter().enumerate() {
            bench.set(&format!("again_{name}_valid"), now.again[queue].is_some().into());
            bench.set(&format!("again_{name}"), now.again[queue].unwrap_or(0));
            bench.set(&format!("{name}_ready"), now.pop[queue].into());
        }
        bench.set("row_index", now.look.0 << 1 | now.look.1 as u64);
        bench.set("posted_index", now.look_posted);
        bench.eval();

        self.counted += bench.get("count_ignored");
        assert_eq!(bench.get("busy") == 1, waiting);
        let arm = Bundle::of::<bus::Arm>("arm");
        let armed =
            (bench.get("arm_valid") == 1).then(|| (arm.get(bench, "queue"), arm.get(bench, "position")));
        assert_eq!(armed, self.armed.take());
        // A push of the cycle before that finds its VI inside changes nothing.
        let mut late = std::mem::take(&mut self.pushed);
        for (queue, name) in ["send", "receive"].into_iter().enumerate() {
            late[queue] = late[queue].filter(|vi| !self.queues[queue].contains(vi));
            let front = self.shown[queue];
            assert_eq!(bench.get(&format!("{name}_valid")) == 1, front.is_some());
            match front {
                Some(front) => {
                    assert_eq!(bench.get(name), front);
                    if now.pop[queue] {
                        self.shown[queue] = None;
                        self.seen.popped += 1;
                    }
                }
                None => self.shown[queue] = self.queues[queue].pop_front(),
            }
        }
        let commit_taken = bench.get("commit_ready") == 1;
        let ready = |name: &str, asked: bool| asked && bench.get(&format!("{name}_ready")) == 1;
        let again_fetch = ready("again_fetch", now.again_fetch.is_some());
        let again_send = ready("again_send", now.again[SEND].is_some());
        let again_receive = ready("again_receive", now.again[RECEIVE].is_some());

        // What the contract makes of it.
        self.posting.swap(0, 1);
        if let Some((vi, posted)) = self.posting[0].take() {
            self.posted[vi as usize] = Some(posted);
        }
        let mut pushed = [None; 2];
        let mut taken = false;
        // Whose requeues wait for the store, be its queue open or not.
        let mut held = [false; 2];
        if let Some((address, data, enables)) = std::mem::replace(&mut self.stored, now.store) {
            let (vi, place) = (address >> 12, address & 0xfff);
            let queue = if place == page::RECEIVE || place == page::RECEIVE_ARM { RECEIVE } else { SEND };
            let inline = enables == 0xff;
            let arms = place == page::SEND_ARM || place == page::RECEIVE_ARM;
            let known = place == page::SEND || place == page::RECEIVE || arms;
            let open = known && self.rows.get(vi as usize).is_some_and(|rows| rows[queue].open);
            let posts = !arms && (enables == 0xf0 || inline && token::REGION.get(&[data]) != 0);
            held[queue] = known && vi < VIS as u64 && posts;
            taken = open && posts;
            if taken {
                let row = &mut self.rows[vi as usize][queue];
                row.posted = (token::POSITION.get(&[data]) + 1) % (1 << 14);
                row.token = inline.then_some(data & TOKEN);
                if queue == RECEIVE {
                    self.posting[0] = Some((vi, row.posted));
                }
                pushed[queue] = Some(vi);
                self.seen.taken += 1;
                self.seen.forwarded += u64::from((vi, queue) == now.look);
            } else if open && arms && inline {
                self.armed = Some((vi << 1 | queue as u64, arm::POSITION.get(&[data])));
                self.seen.armed += 1;
            } else if vi < VIS as u64 {
                // The pages behind are the completion queues'.
                self.ignored += 1;
                self.seen.ignored += 1;
            }
        }
        assert_eq!(commit_taken, now.commit.is_some() && !taken);
        if let (true, Some((row, open))) = (commit_taken, now.commit) {
            if let Some(rows) = self.rows.get_mut(row as usize / 2) {
                rows[row as usize % 2] = Row { open, ..Default::default() };
                if row % 2 == RECEIVE as u64 {
                    self.posting[0] = Some((row / 2, 0));
                }
            }
        }
        if let Some((vi, receive)) = now.again_fetch {
            let queue = usize::from(receive);
            assert_eq!(again_fetch, !held[queue], "fetch waits for a store only");
            if again_fetch {
                (pushed[queue], held[queue]) = (Some(vi), true);
            }
        }
        for (queue, done) in [(SEND, again_send), (RECEIVE, again_receive)] {
            if let Some(vi) = now.again[queue] {
                assert_eq!(done, !held[queue], "the others wait for store and fetch");
                if done {
                    pushed[queue] = Some(vi);
                }
            }
        }
        self.pushed = pushed;
        for (queue, vi) in late.into_iter().enumerate() {
            self.queues[queue].extend(vi);
        }
        self.bench.tick();
        self.bench.eval();
        let row = self.rows[now.look.0 as usize][now.look.1];
        let shown = Bundle::of::<bus::DoorbellRow>("row_row").all(&self.bench);
        assert_eq!(shown["posted"], row.posted, "{now:?}");
        assert_eq!(shown["with_token"] == 1, row.token.is_some());
        if let Some(token) = row.token {
            for (field, value) in crate::place(token) {
                assert_eq!(shown[field], value);
            }
        }
        if let Some(posted) = self.posted[now.look_posted as usize] {
            assert_eq!(self.bench.get("posted_row"), posted, "three cycles behind the store");
        }
        [commit_taken, again_fetch, again_send, again_receive]
    }
}
