//! The messages that are sent, as tshark reads them.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use pcap_file::pcap::{PcapPacket, PcapWriter};
use viaduct_driver::address::{ConnectionInfo, Mac, Mtu, Service, ACK_TIME};
use viaduct_driver::cm::config::Timing;
use viaduct_driver::cm::{Config, Discriminator, End, Event, Host, Manager, Request, Target};
use viaduct_spec::cm::{attribute, PORT, TCP_SERVICE};

use super::tshark::{self, Management};

fn host(n: u8) -> Host {
    Host { mac: Mac([2, 0, 0, 0, 0, n]), ip: Ipv4Addr::new(10, 0, 0, n) }
}

fn end(n: u8, queue_pair: u32) -> End {
    let Host { mac, ip } = host(n);
    let info = ConnectionInfo {
        mac,
        ip,
        queue_pair,
        starting_psn: 0x12_3456 + u32::from(n),
        first_psn: None,
        mtu: Mtu::DEFAULT,
        service: Service::ReliableReception,
        max_transfer: 1 << 20,
        ack_time: ACK_TIME,
    };
    End { reads_asked: 3, ..End::new(info, 4) }
}

fn name(text: &str) -> Discriminator {
    Discriminator::try_from(text.as_bytes()).expect("a short one")
}

/// Two managers and the frames between them.
struct Pair {
    managers: [Manager; 2],
    now: Duration,
    frames: Vec<Vec<u8>>,
}

impl Pair {
    /// Carries frames until there are none; the events on the way.
    fn carry(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let before = self.frames.len();
            for n in 0..2 {
                while let Some(frame) = self.managers[n].next_frame() {
                    self.managers[1 - n].frame(&frame, self.now);
                    self.frames.push(frame);
                }
                while let Some(event) = self.managers[n].next_event() {
                    events.push(event);
                }
            }
            if self.frames.len() == before {
                return events;
            }
        }
    }

    fn request(&mut self, to: &str) -> viaduct_driver::cm::ConnectionId {
        let request = Request {
            party: 0,
            own: end(1, 0x123 << 10 | 5),
            target: Target::Ip(host(2).ip),
            from: name("here"),
            to: name(to),
            data: b"client's own".to_vec(),
            timeout: Some(Duration::from_secs(10)),
        };
        self.managers[0].connect(request, self.now).expect("a request")
    }
}

/// Every kind of message that is sent, with every field that can be set.
fn conversation() -> Vec<Vec<u8>> {
    let managers = [1, 2].map(|n| Manager::new(Config::new(host(n), n.into())));
    let mut pair = Pair { managers, now: Duration::ZERO, frames: Vec::new() };
    // REJ: nobody waits. REQ, MRA, REP, RTU, a probe, its answers.
    pair.request("nobody");
    pair.carry();
    pair.managers[1].listen(name("there"), false);
    let client = pair.request("there");
    let events = pair.carry();
    let Some(Event::Incoming { id: server, .. }) = events.last() else { panic!("{events:?}") };
    let server = *server;
    pair.now += Timing::default().response;
    pair.managers[0].tick(pair.now);
    pair.carry();
    pair.managers[1].accept(server, end(2, 0x321 << 10 | 7), b"server's own", pair.now).expect("it fits");
    pair.carry();
    pair.managers[0].ready(client, pair.now).expect("it waits");
    pair.carry();
    pair.now += Duration::from_secs(11);
    pair.managers[0].tick(pair.now);
    pair.carry();
    // DREQ, DREP; the consumer's REJ; giving up.
    pair.managers[0].disconnect(client, pair.now);
    pair.carry();
    pair.request("there");
    let events = pair.carry();
    let Some(Event::Incoming { id, .. }) = events.last() else { panic!("{events:?}") };
    pair.managers[1].reject(*id, b"no", pair.now).expect("it is pending");
    pair.carry();
    pair.request("there");
    pair.carry();
    pair.now += Duration::from_secs(10);
    pair.managers[0].tick(pair.now);
    pair.carry();
    pair.frames
}

fn write(path: &Path, frames: &[Vec<u8>]) {
    let file = std::fs::File::create(path).expect("a file");
    let mut writer = PcapWriter::new(file).expect("a pcap");
    for (n, frame) in frames.iter().enumerate() {
        let time = Duration::from_micros(n as u64);
        writer.write_packet(&PcapPacket::new(time, frame.len() as u32, frame)).expect("a frame");
    }
}

#[test]
fn tshark_reads_each_message_as_it_is_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    let pcap = folder.path().join("cm.pcap");
    let frames = conversation();
    write(&pcap, &frames);
    for seen in tshark::read(&pcap) {
        assert!(!seen.malformed, "{seen:?}");
        assert_eq!((seen.queue_pair, seen.opcode), (1, 0x64));
    }
    let messages = tshark::management(&pcap);
    let attributes: Vec<u16> = messages.iter().map(|message| message.attribute).collect();
    let (req, rej, mra, rep, rtu) =
        (attribute::REQ, attribute::REJ, attribute::MRA, attribute::REP, attribute::RTU);
    let mut expected = vec![req, rej, req, req, mra, rep, rtu, rtu, rep, rtu];
    expected.extend([attribute::DREQ, attribute::DREP, req, rej, req, rej]);
    assert_eq!(attributes, expected);
    assert!(messages.iter().all(|message| message.qkey == 0x8001_0000 && message.class == 7));
    let of = |attribute: u16| -> Vec<&Management> {
        messages.iter().filter(|message| message.attribute == attribute).collect()
    };
    let transaction = messages[2].transaction;
    assert!(messages[2..10].iter().all(|message| message.transaction == transaction));
    for req in of(attribute::REQ) {
        assert_eq!(req.service, Some(TCP_SERVICE | u64::from(PORT)));
        assert_eq!((req.queue_pair, req.psn, req.mtu), (Some(0x123 << 10 | 5), Some(0x12_3457), Some(3)));
        assert_eq!((req.resources, req.depth), (Some(4), Some(3)));
        assert_eq!((req.ip_source, req.ip_target), (Some(host(1).ip), Some(host(2).ip)));
    }
    let rep = of(attribute::REP)[0];
    assert_eq!((rep.queue_pair, rep.psn), (Some(0x321 << 10 | 7), Some(0x12_3458)));
    assert_eq!((rep.resources, rep.depth), (Some(4), Some(3)));
    let reasons: Vec<Option<u16>> = of(attribute::REJ).iter().map(|rej| rej.reason).collect();
    assert_eq!(reasons, [Some(8), Some(28), Some(4)]);
    assert_eq!(of(attribute::DREQ)[0].queue_pair, Some(0x321 << 10 | 7));
}
