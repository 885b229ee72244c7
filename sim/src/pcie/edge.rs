//! The rules of the core's edge, checked there: those that count the edge's own cycles would mean nothing behind a link.

use viaduct_spec::tlp::class;

use crate::clock::Cycle;
use crate::nic::{NicIn, NicOut};
use crate::root_complex::{Rules, Sizes, LAST_PACKETS, MASTER_CYCLES, MAX_PACKET_DW};
use crate::tlp::Tlp;

/// What is seen of the core.
#[derive(Debug, Default)]
pub struct CoreEdge {
    rules: Rules,
    now: Cycle,
    /// The packet under way, and what was shown when it began.
    packet: Vec<u32>,
    class: u8,
    credits: [u16; 2],
    had_master: bool,
    /// A beat is on show that was not taken: what has begun has begun.
    on_show: bool,
    master_until: Cycle,
    sizes: Option<Sizes>,
    /// Packets that have begun since a function reset was asked for.
    begun: Option<u32>,
}

impl CoreEdge {
    /// What was wrong since the last look.
    pub fn take_wrong(&mut self) -> Vec<String> {
        self.rules
            .take()
            .into_iter()
            .map(|violation| format!("at the core's edge: {}", violation.what))
            .collect()
    }

    /// A cycle: what the endpoint shows, and what the core does.
    pub fn watch(&mut self, input: &NicIn, output: &NicOut) {
        self.now += 1;
        let now = self.now;
        if input.reset || input.link_down {
            // Half a packet ends where it is.
            self.packet.clear();
            (self.on_show, self.begun) = (false, None);
            return;
        }
        if input.cfg_bus_master {
            self.master_until = now + MASTER_CYCLES;
        }
        self.resize(input);
        let begins = output.tlp_tx_valid && self.packet.is_empty() && !self.on_show;
        self.function_reset(input, output, begins);
        if begins {
            self.begin(input, output);
        }
        self.on_show = output.tlp_tx_valid && !input.tlp_tx_ready;
        if !output.tlp_tx_valid || self.on_show {
            return;
        }
        let (class, keep, last) = (output.tlp_tx_class, output.tlp_tx_keep, output.tlp_tx_last);
        self.rules.check(now, class == self.class, || "tlp_tx_class changes inside a packet".into());
        self.rules.check(now, keep == 0b11 || keep == 0b01 && last, || {
            format!("tlp_tx_keep is {keep:#04b} in the middle of a packet")
        });
        if self.packet.len() < MAX_PACKET_DW {
            self.packet.push(output.tlp_tx_data as u32);
            if keep == 0b11 {
                self.packet.push((output.tlp_tx_data >> 32) as u32);
            }
        }
        if last {
            let packet = std::mem::take(&mut self.packet);
            self.end(input, &packet);
        }
    }

    fn resize(&mut self, input: &NicIn) {
        let sizes = Sizes {
            max_payload: input.cfg_max_payload,
            max_read: input.cfg_max_read,
            extended_tag: input.cfg_extended_tag,
        };
        if let Some(before) = self.sizes.filter(|before| *before != sizes) {
            self.rules.resized(&before, &sizes);
        }
        self.sizes = Some(sizes);
    }

    fn function_reset(&mut self, input: &NicIn, output: &NicOut, begins: bool) {
        if !input.cfg_function_reset {
            self.begun = None;
            return;
        }
        let begun = self.begun.get_or_insert(0);
        *begun += u32::from(begins);
        let few = *begun <= LAST_PACKETS;
        self.rules.check(self.now, few || !begins, || "a packet begins in a function reset".into());
        let half = output.function_reset_done && (!self.packet.is_empty() || output.tlp_tx_valid);
        self.rules.check(self.now, !half, || "half a packet is out when the function's reset is done".into());
    }

    fn begin(&mut self, input: &NicIn, output: &NicOut) {
        self.class = output.tlp_tx_class;
        self.had_master = self.now <= self.master_until;
        let infinite = u16::MAX;
        self.credits = match self.class {
            class::POSTED => [input.credit_ph.into(), input.credit_pd],
            class::NON_POSTED => [input.credit_nph.into(), infinite],
            _ => [input.credit_ch.into(), input.credit_cd],
        };
    }

    fn end(&mut self, input: &NicIn, packet: &[u32]) {
        let now = self.now;
        let packet = match Tlp::decode(packet) {
            Ok(packet) => packet,
            Err(error) => {
                let start = &packet[..packet.len().min(4)];
                let what = || format!("a packet is malformed: {error}: {start:08x?}");
                return self.rules.check(now, false, what);
            }
        };
        let (expected, data) = match &packet {
            Tlp::Write(_, data) => (class::POSTED, data.len()),
            Tlp::Read(_) => (class::NON_POSTED, 0),
            Tlp::Completion(completion) => (class::COMPLETION, completion.data.len()),
        };
        let (shown, [headers, units]) = (self.class, self.credits);
        self.rules.check(now, shown == expected, || format!("tlp_tx_class is {shown} and not {expected}"));
        self.rules.check(now, headers > 0 && usize::from(units) >= data.div_ceil(4), || {
            format!("{headers} headers and {units} units of data are shown as free for {packet:x?}")
        });
        if let (Tlp::Read(request) | Tlp::Write(request, _), Some(sizes)) = (&packet, &self.sizes) {
            let read = matches!(packet, Tlp::Read(_));
            self.rules.request(now, request, sizes, input.cfg_requester_id, read);
            let address = request.address;
            self.rules.check(now, self.had_master, || {
                format!("a request at {address:#x} while the function is no bus master")
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tlp::{beat, Request};

    /// What an endpoint shows when all is well.
    fn calm() -> NicIn {
        NicIn {
            tlp_tx_ready: true,
            credit_ph: 2,
            credit_pd: 16,
            credit_nph: 1,
            cfg_requester_id: 0x100,
            cfg_max_payload: 1,
            cfg_max_read: 2,
            cfg_bus_master: true,
            ..NicIn::default()
        }
    }

    fn write(bytes: usize) -> Vec<u32> {
        let request = Request::new(0x1000, bytes, 0, 0x100);
        Tlp::Write(request, vec![0; request.length]).encode()
    }

    /// A packet leaves, `gap` cycles behind what was before it.
    fn send(edge: &mut CoreEdge, input: &NicIn, packet: &[u32], class: u8, gap: usize) {
        for _ in 0..gap {
            edge.watch(input, &NicOut::default());
        }
        for index in 0..packet.len().div_ceil(2) {
            let (data, keep) = beat(packet, index);
            let last = index * 2 + 2 >= packet.len();
            let mut output = NicOut { tlp_tx_valid: true, tlp_tx_data: data, ..NicOut::default() };
            (output.tlp_tx_keep, output.tlp_tx_last, output.tlp_tx_class) = (keep, last, class);
            edge.watch(input, &output);
        }
    }

    /// What is found when a packet leaves under these conditions, behind a good one.
    fn found(change: impl FnOnce(&mut NicIn), packet: &[u32], class: u8, gap: usize) -> Vec<String> {
        let (mut edge, mut input) = (CoreEdge::default(), calm());
        send(&mut edge, &input, &write(64), class::POSTED, 1);
        change(&mut input);
        send(&mut edge, &input, packet, class, gap);
        edge.take_wrong()
    }

    #[test]
    fn what_keeps_the_rules_is_no_violation() {
        let read = Tlp::Read(Request::new(0x2000, 512, 3, 0x100)).encode();
        assert_eq!(found(|_| {}, &write(256), class::POSTED, 0), [""; 0]);
        assert_eq!(found(|_| {}, &read, class::NON_POSTED, 0), [""; 0]);
        // What was cut before, or begins within some cycles.
        assert_eq!(found(|input| input.cfg_max_payload = 0, &write(256), class::POSTED, 0), [""; 0]);
        assert_eq!(found(|input| input.cfg_bus_master = false, &write(64), class::POSTED, 8), [""; 0]);
    }

    #[test]
    fn each_rule_that_is_broken_is_found() {
        let read = Tlp::Read(Request::new(0x2000, 512, 3, 0x100)).encode();
        let other = Tlp::Read(Request::new(0x2000, 64, 3, 0x500)).encode();
        let many_tags = Tlp::Read(Request::new(0x2000, 64, 40, 0x100)).encode();
        let long = Tlp::Read(Request::new(0x2000, 1024, 3, 0x100)).encode();
        type Case<'a> = (&'a str, fn(&mut NicIn), Vec<u32>, u8, usize);
        let cases: [Case; 9] = [
            ("no bus master", |input| input.cfg_bus_master = false, write(64), class::POSTED, 40),
            ("2 headers and 3 units", |input| input.credit_pd = 3, write(64), class::POSTED, 0),
            ("0 headers", |input| input.credit_nph = 0, read, class::NON_POSTED, 0),
            ("a write of 512 bytes", |_| {}, write(512), class::POSTED, 0),
            ("a read of 1024 bytes", |_| {}, long, class::NON_POSTED, 0),
            ("tlp_tx_class is 0 and not 1", |_| {}, other.clone(), class::POSTED, 0),
            ("of requester 0x0500", |_| {}, other, class::NON_POSTED, 0),
            ("tag 0x28", |_| {}, many_tags, class::NON_POSTED, 0),
            ("malformed", |_| {}, vec![0x4000_0002, 0xF, 0x1000, 1], class::POSTED, 0),
        ];
        for (what, change, packet, class, gap) in cases {
            let found = found(change, &packet, class, gap);
            assert!(found.iter().any(|found| found.contains(what)), "{what}: {found:?}");
        }
    }

    #[test]
    fn two_packets_begin_in_a_function_reset_and_no_third() {
        let (mut edge, mut input) = (CoreEdge::default(), calm());
        input.cfg_function_reset = true;
        for _ in 0..LAST_PACKETS {
            send(&mut edge, &input, &write(64), class::POSTED, 1);
        }
        assert_eq!(edge.take_wrong(), [""; 0]);
        send(&mut edge, &input, &write(64), class::POSTED, 1);
        assert_eq!(edge.take_wrong(), ["at the core's edge: a packet begins in a function reset"]);
    }

    #[test]
    fn half_a_packet_ends_where_the_link_does() {
        let (mut edge, mut input) = (CoreEdge::default(), calm());
        let half = NicOut { tlp_tx_valid: true, tlp_tx_keep: 3, ..NicOut::default() };
        edge.watch(&input, &half);
        input.link_down = true;
        edge.watch(&input, &half);
        input.link_down = false;
        send(&mut edge, &input, &write(64), class::POSTED, 1);
        assert_eq!(edge.take_wrong(), [""; 0]);
    }
}
