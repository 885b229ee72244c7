//! The NIC's edge: a beat a cycle each way, and the rules that each packet of the NIC's is held against.

use viaduct_spec::tlp::class;

use super::credit::Cost;
use super::{Kind, RootComplex, NIC_ID};
use crate::clock::Cycle;
use crate::nic::{NicIn, NicOut};
use crate::tlp::{beat, Malformed, Tlp};

/// Cycles after a read to the NIC before its `np_ready` is believed again.
const READ_SPACING: u64 = 4;
/// Cycles that the NIC may take to see that it is no bus master any more.
pub const MASTER_CYCLES: u64 = 16;
/// Longest packet that the NIC may send, in double words; what is longer is dropped.
pub const MAX_PACKET_DW: usize = 4 + crate::tlp::MAX_PAYLOAD_DW;

impl RootComplex {
    /// Sets the NIC's inputs for this cycle.
    pub fn drive(&mut self, now: Cycle, input: &mut NicIn) {
        self.rules.tick(now);
        while self.up.front().is_some_and(|(when, _)| *when <= now) {
            if let Some((_, packet)) = self.up.pop_front() {
                self.arrive(now, packet);
            }
        }
        self.serve_late(now);
        if !self.arrivals.is_empty() {
            self.serve_arrivals(now);
        }
        while let Some(entry) = self.delayed.first_entry().filter(|entry| entry.key().0 <= now) {
            self.arrived.push_back(entry.remove());
        }
        if now & 0xFF == 0 {
            self.loads.expire(now);
        }
        self.change_settings(now);
        let config = &self.config;
        let bus_master = config.bus_master() && !self.settings.master_off;
        // It was Bus Master until now, in cycles that were skipped as well.
        let was_master = std::mem::replace(&mut self.shown_master, bus_master);
        if bus_master || was_master {
            self.master_until = now + MASTER_CYCLES + self.options.latency;
        }
        input.cfg_requester_id = NIC_ID;
        input.cfg_max_payload = config.max_payload();
        input.cfg_max_read = config.max_read();
        input.cfg_rcb = self.settings.rcb == 128;
        input.cfg_extended_tag = config.extended_tag();
        input.cfg_bus_master = bus_master;
        input.cfg_msix_enable = config.msix_enable();
        input.cfg_msix_mask = config.msix_mask();
        self.drive_resets(now, input);
        self.credits.drive(now, input);
        self.drive_withheld(now, input);
        let stall = self.options.conditions.stall;
        input.tlp_tx_ready = stall == 0 || !self.chance(stall);
        self.present(now, input);
    }

    /// Looks at what the NIC did in this cycle.
    pub fn observe(&mut self, now: Cycle, input: &NicIn, output: &NicOut) {
        self.np_ready = output.tlp_rx_np_ready;
        if !self.observe_resets(now, input, output) {
            return;
        }
        if !output.tlp_tx_valid || !input.tlp_tx_ready {
            // What is on show has begun.
            self.master_until += u64::from(output.tlp_tx_valid);
            return;
        }
        if self.receiving.is_empty() {
            self.received_class = output.tlp_tx_class;
            self.received_master = now <= self.master_until;
        }
        self.rules.check(now, output.tlp_tx_class == self.received_class, || {
            "tlp_tx_class changes inside a packet".into()
        });
        if self.receiving.len() < MAX_PACKET_DW {
            self.receiving.push(output.tlp_tx_data as u32);
            if output.tlp_tx_keep == 0b11 {
                self.receiving.push((output.tlp_tx_data >> 32) as u32);
            }
        }
        let keep = output.tlp_tx_keep;
        self.rules.check(now, keep == 0b11 || keep == 0b01 && output.tlp_tx_last, || {
            format!("tlp_tx_keep is {keep:#04b} in the middle of a packet")
        });
        if output.tlp_tx_last {
            let packet = std::mem::take(&mut self.receiving);
            self.accept(now, &packet);
        }
    }

    /// Puts the next beat onto `tlp_rx`.
    fn present(&mut self, now: Cycle, input: &mut NicIn) {
        input.tlp_rx_valid = false;
        if self.sending.is_none() && !self.resetting.is_down(now) {
            let stores = !self.resetting.holds(now);
            let reads = stores && self.np_ready && now >= self.reads_from;
            // A read that has to wait is passed by what stands behind it: nothing waits for it.
            let next = self.arrived.iter().position(|outgoing| match outgoing.kind {
                Kind::Posted => stores,
                Kind::NonPosted => reads,
                Kind::Completion { .. } => true,
            });
            self.sending = next.and_then(|next| self.arrived.remove(next)).map(|outgoing| (outgoing, 0));
        }
        let gap = self.options.conditions.gap;
        if gap != 0 && self.chance(gap) {
            return;
        }
        let Some((outgoing, sent)) = &mut self.sending else { return };
        let (data, keep) = beat(&outgoing.packet, *sent);
        *sent += 1;
        input.tlp_rx_valid = true;
        input.tlp_rx_data = data;
        input.tlp_rx_keep = keep;
        input.tlp_rx_bar = outgoing.bar;
        input.tlp_rx_last = *sent * 2 >= outgoing.packet.len();
        if input.tlp_rx_last {
            match outgoing.kind {
                Kind::NonPosted => self.reads_from = now + READ_SPACING,
                Kind::Completion { frees: Some(tag) } => {
                    self.tags.remove(&tag);
                }
                _ => {}
            }
            self.sending = None;
        }
    }

    /// A whole packet has left the NIC.
    fn accept(&mut self, now: Cycle, packet: &[u32]) {
        let packet = match Tlp::decode(packet) {
            Ok(packet) => packet,
            Err(error) => return self.malformed(now, packet, error),
        };
        let expected = match packet {
            Tlp::Write(..) => class::POSTED,
            Tlp::Read(_) => class::NON_POSTED,
            Tlp::Completion(_) => class::COMPLETION,
        };
        let shown = self.received_class;
        self.rules.check(now, shown == expected, || format!("tlp_tx_class is {shown} and not {expected}"));
        let credit = self.credits.charge(&packet);
        self.rules.check(now, credit, || format!("no credit for {packet:x?}"));
        if let Tlp::Read(request) | Tlp::Write(request, _) = &packet {
            let read = matches!(packet, Tlp::Read(_));
            let sizes = self.config.sizes();
            self.rules.request(now, request, &sizes, NIC_ID, read);
            let (master, address) = (self.received_master, request.address);
            self.rules.check(now, master, || {
                format!("a request at {address:#x} while the function is no bus master")
            });
            if !master {
                // It must reach nothing, whatever the NIC does.
                self.counters.unsupported += 1;
                return self.credits.release(Cost::of(&packet), now);
            }
        }
        if let Tlp::Read(request) = &packet {
            let fresh = self.tags.insert(request.tag);
            self.rules.check(now, fresh, || format!("tag {:#x} is used again while in flight", request.tag));
        }
        self.up.push_back((self.there(now), packet));
    }

    fn malformed(&mut self, now: Cycle, packet: &[u32], error: Malformed) {
        self.rules.check(now, false, || {
            let start = &packet[..packet.len().min(4)];
            format!("a packet of {} double words is malformed: {error}: {start:08x?}", packet.len())
        });
    }
}
