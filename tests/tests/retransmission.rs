//! The requester's rules, one at a time, on two whole NICs: what is lost, and what comes of it.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::device_protocol::rows::{self, Rights};
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{receive, table, transmit};
use viaduct_spec::wire::{opcode, syndrome};
use viaduct_tests::frame::Frame;
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi};
use viaduct_tests::scene::Scene;

const SENT: u32 = status::DONE | status::OP_SEND;
const RECEIVED: u32 = status::DONE | status::OP_RECEIVE;
/// Ticks of 1.024 us, a tenth of a millisecond; and so in cycles.
const TIMEOUT: u64 = 100;
const CYCLES: u64 = TIMEOUT * 128;
const RETRIES: u64 = 3;
const MTU: usize = 1024;

/// A reliable connection from host 0 to host 1 with little patience.
struct Connection {
    scene: Scene,
    vis: [RawVi; 2],
    /// PSN of its first packet.
    psn: u32,
    messages: usize,
    receives: usize,
}

/// A message: where its descriptors are, and its bytes at either end.
#[derive(Clone, Copy)]
struct Message {
    send: usize,
    receive: usize,
    from: usize,
    to: usize,
    length: usize,
}

impl Connection {
    fn new(psn: Option<u32>, rnr_retries: u64, bits: &[(viaduct_spec::layout::Field, u64)]) -> Self {
        let scene = Scene::new(21);
        let vis = pair(&scene.hosts, Service::ReliableDelivery, MTU as u32);
        let [peer, own] = [vis[0].vi.info(), vis[1].vi.info()];
        // Far from the next packet that asks for an acknowledgement in the middle of a message.
        let psn = psn.unwrap_or(0x12_3450);
        let mut row = rows::transmit(psn, Service::ReliableDelivery, false, 0);
        transmit::TIMEOUT.put(&mut row, TIMEOUT);
        transmit::RETRIES.put(&mut row, RETRIES);
        transmit::RNR_RETRIES.put(&mut row, rnr_retries);
        scene.world.commit(0, table::TRANSMIT, vis[0].index().into(), &row);
        let row = rows::Receive::connected(&own, &peer, scene.hosts[1].tag, Rights::default());
        let mut row = rows::Receive { psn, ..row }.words();
        bits.iter().for_each(|(field, value)| field.put(&mut row, *value));
        scene.world.commit(1, table::RECEIVE, vis[1].index().into(), &row);
        Self { scene, vis, psn, messages: 0, receives: 0 }
    }

    fn send(&mut self, length: usize) -> Message {
        let (from, to) = (0x100 + 0x2000 * self.messages, 0x2000 * self.messages);
        self.messages += 1;
        let [a, _] = &mut self.scene.hosts;
        let send = self.vis[0].send(a, &Descriptor::of(a, from, length));
        Message { send, receive: 0, from, to, length }
    }

    /// Posts a receive for the next message that has none.
    fn receive(&mut self) -> usize {
        let [_, b] = &mut self.scene.hosts;
        let receive = self.vis[1].receive(b, &Descriptor::of(b, 0x2000 * self.receives, 0x2000));
        self.receives += 1;
        receive
    }

    /// Posts messages of these lengths, receives first.
    fn post<const N: usize>(&mut self, lengths: [usize; N]) -> [Message; N] {
        let receives = lengths.map(|_| self.receive());
        self.scene.world.settle();
        let mut messages = lengths.map(|length| self.send(length));
        messages.iter_mut().zip(receives).for_each(|(message, receive)| message.receive = receive);
        messages
    }

    fn sent(&self, message: &Message) -> u32 {
        self.scene.world.complete(&self.scene.hosts[0], message.send).status
    }

    /// Both ends are well, and so is what arrived.
    fn arrives(&self, messages: &[Message]) {
        for message in messages {
            let received = self.scene.world.complete(&self.scene.hosts[1], message.receive);
            assert_eq!((received.status, received.length as usize), (RECEIVED, message.length));
            assert_eq!(self.sent(message), SENT);
            let [from, to] = [(0, message.from), (1, message.to)]
                .map(|(host, at): (usize, usize)| self.scene.hosts[host].memory.read(at, message.length));
            assert_eq!(from, to);
        }
        self.scene.world.settle();
        assert_eq!(self.vis.each_ref().map(RawVi::state), [ViState::Connected; 2]);
    }

    fn counts<const N: usize>(&self, host: usize, counters: [u64; N]) -> [u64; N] {
        counters.map(|number| self.scene.world.counter(host, number))
    }

    fn broke(&self, code: u8) {
        let event = self.vis[0].event(code, false, true);
        assert_eq!(self.scene.events(0), [event]);
        assert_eq!(self.vis[0].state(), ViState::Error);
    }
}

/// Rule REQ-4.
#[test]
fn a_sequence_error_sends_again_what_was_lost_and_all_behind_it() {
    let mut connection = Connection::new(None, 0, &[]);
    connection.scene.world.lose([2]);
    let messages = connection.post([5000, 100]);
    connection.arrives(&messages);
    let [naks, again, timeouts] =
        connection.counts(0, [counter::NAKS_RECEIVED, counter::RETRANSMITTED, counter::TIMEOUTS]);
    assert_eq!((naks, timeouts), (1, 0));
    assert!((1..=5).contains(&again), "{again}: packets 1 to 5, as far as they had left");
    connection.scene.others_go_on();
}

#[test]
fn an_acknowledgement_lost_at_the_last_packet_is_given_again_and_nothing_delivered_twice() {
    let mut connection = Connection::new(None, 0, &[]);
    // Three packets and their acknowledgement.
    connection.scene.world.lose([4]);
    let messages = connection.post([2500]);
    let start = connection.scene.world.now();
    connection.arrives(&messages);
    assert!(connection.scene.world.now() - start > CYCLES);
    assert_eq!(connection.counts(0, [counter::TIMEOUTS, counter::RETRANSMITTED]), [1, 3]);
    assert_eq!(connection.counts(1, [counter::DUPLICATES, counter::MESSAGES_RECEIVED]), [3, 1]);
    assert_eq!(connection.counts(0, [counter::MESSAGES_SENT]), [1], "once, however often it left");
    connection.scene.others_go_on();
}

/// Rule REQ-5.
#[test]
fn a_last_packet_that_is_lost_comes_again_after_the_time_out() {
    let mut connection = Connection::new(None, 0, &[]);
    connection.scene.world.lose([3]);
    let messages = connection.post([2500]);
    let start = connection.scene.world.now();
    connection.arrives(&messages);
    let took = connection.scene.world.now() - start;
    assert!((CYCLES..CYCLES + 4000).contains(&took), "{took}");
    assert_eq!(connection.counts(0, [counter::TIMEOUTS, counter::NAKS_RECEIVED]), [1, 0]);
    connection.scene.others_go_on();
}

/// Rule REQ-5.
#[test]
fn retries_that_are_used_up_break_the_vi() {
    let mut connection = Connection::new(None, 0, &[]);
    let whole = connection.post([1500]);
    connection.arrives(&whole);
    connection.scene.world.lose(1..1000);
    let start = connection.scene.world.now();
    let messages = connection.post([1500, 100]);
    let unposted = connection.sent(&messages[0]);
    let took = connection.scene.world.now() - start;
    assert_eq!(unposted, SENT | status::TRANSPORT_ERROR);
    assert_eq!(connection.sent(&messages[1]), SENT | status::TRANSPORT_ERROR, "it went out whole too");
    assert!(took > (RETRIES + 1) * CYCLES && took < (RETRIES + 2) * CYCLES, "{took}");
    assert_eq!(connection.counts(0, [counter::TIMEOUTS, counter::RETRANSMITTED]), [RETRIES + 1, 3 * RETRIES]);
    connection.broke(event_code::CONN_LOST);
    connection.scene.world.lose([]);
    connection.scene.others_go_on();
}

#[test]
fn the_psn_wraps_in_a_message_that_is_sent_again() {
    let mut repaired = 0;
    for lost in 1..=6 {
        let mut connection = Connection::new(Some(0xFF_FFFD), 0, &[]);
        connection.scene.world.lose([lost]);
        let messages = connection.post([6000, 100]);
        connection.arrives(&messages);
        repaired += usize::from(connection.counts(0, [counter::RETRANSMITTED])[0] > 0);
        connection.scene.others_go_on();
    }
    // PSN 0xFFFFFF asks for an acknowledgement: one of the lost frames may be that, and the next one stands for it.
    assert!(repaired >= 5, "{repaired}");
}

/// Rule REQ-2.
#[test]
fn an_answer_of_no_packet_in_flight_is_a_ghost() {
    let mut connection = Connection::new(None, 0, &[]);
    let messages = connection.post([2500]);
    connection.arrives(&messages);
    let [to, from] = [connection.vis[0].vi.info(), connection.vis[1].vi.info()];
    let answer = |psn: u32, syndrome: u8| {
        let body = (u32::from(syndrome) << 24 | 1).to_be_bytes();
        Frame::new(&from, &to, opcode::RC_ACKNOWLEDGE, psn & 0xFF_FFFF, &body).bytes()
    };
    let first = connection.psn;
    let ghosts =
        [(2, syndrome::ACK), (3, syndrome::ACK), (3, syndrome::NAK_SEQUENCE), (1, syndrome::NAK_ACCESS)];
    for (n, code) in ghosts {
        connection.scene.world.inject(0, &answer(first + n, code));
    }
    connection.scene.world.settle();
    let counters =
        [counter::DROP_RESPONSE, counter::ACKS_RECEIVED, counter::NAKS_RECEIVED, counter::RETRANSMITTED];
    assert_eq!(connection.counts(0, counters), [4, 1, 0, 0]);
    // A message that nobody has received, acknowledged beyond its end.
    connection.scene.world.lose(1..1000);
    let messages = connection.post([100]);
    connection.scene.world.run(500);
    connection.scene.world.inject(0, &answer(first + 4, syndrome::ACK));
    connection.scene.world.run(500);
    assert!(!Completion::read(&connection.scene.hosts[0].memory, messages[0].send).is_complete());
    connection.scene.world.lose([]);
    connection.arrives(&messages);
    connection.scene.others_go_on();
}

#[test]
fn what_is_sent_again_may_be_lost_again() {
    // Of the first time, of the second and of the third: by sequence errors and by time-outs.
    for lost in [&[2, 8][..], &[2, 9], &[1, 2, 3, 7, 8, 9], &[5, 10, 15], &[2, 3, 9, 10, 16, 17], &[6, 7, 8]]
    {
        let mut connection = Connection::new(None, 0, &[]);
        connection.scene.world.lose(lost.iter().copied());
        let messages = connection.post([5000, 100, 1500]);
        connection.arrives(&messages);
        let [again, naks, timeouts] =
            connection.counts(0, [counter::RETRANSMITTED, counter::NAKS_RECEIVED, counter::TIMEOUTS]);
        println!("{lost:?}: {again} again, {naks} NAKs, {timeouts} time-outs");
        assert!(again > 1 && naks + timeouts >= 1);
        connection.scene.others_go_on();
    }
}

/// Rule REQ-6.
#[test]
fn a_peer_without_a_receive_is_asked_again_after_the_time_that_it_says() {
    // 0.96 ms.
    let stay = [(receive::RNR_STAY, 1), (receive::RNR_TIMER, 13)];
    let mut connection = Connection::new(None, 2, &stay);
    let mut message = connection.send(2500);
    let start = connection.scene.world.now();
    connection
        .scene
        .world
        .until("an answer", 10_000, || connection.scene.world.counter(0, counter::RNR_RECEIVED) == 1);
    message.receive = connection.receive();
    connection.arrives(&[message]);
    let took = connection.scene.world.now() - start;
    assert!((120_000..125_000).contains(&took), "{took} cycles of 8 ns");
    assert_eq!(connection.counts(1, [counter::RNR_SENT]), [1]);
    assert_eq!(connection.counts(0, [counter::TIMEOUTS]), [0]);
    // Without any it gives up.
    let message = connection.send(100);
    connection.scene.world.until("the end", 500_000, || connection.vis[0].state() == ViState::Error);
    assert_eq!(connection.sent(&message), SENT | status::TRANSPORT_ERROR);
    assert_eq!(connection.counts(0, [counter::RNR_RECEIVED]), [1 + 3], "first time, and two again");
    connection.broke(event_code::CONN_LOST);
    assert_eq!(connection.vis[1].state(), ViState::Connected);
    connection.scene.others_go_on();
}

/// Rule REQ-7.
#[test]
fn a_descriptor_that_changes_while_it_is_in_flight_breaks_its_vi() {
    for (length, lost) in [(5001, [1, 2, 3]), (100, [3, 4, 5]), (0, [3, 4, 5])] {
        let mut connection = Connection::new(None, 0, &[]);
        connection.scene.world.lose(lost);
        let messages = connection.post([5000, 100]);
        connection.scene.world.until("all to have left", 10_000, || {
            connection.scene.world.counter(0, counter::MESSAGES_SENT) == 2
        });
        // The program writes into what is not its own any more; the time-out is yet to come.
        let host = &connection.scene.hosts[0];
        let changed = Descriptor::of(host, messages[0].from, length).encode();
        host.memory.write(messages[0].send, &changed);
        assert_eq!(connection.sent(&messages[0]), SENT | status::TRANSPORT_ERROR);
        assert_eq!(connection.sent(&messages[1]), SENT | status::TRANSPORT_ERROR);
        connection.broke(event_code::POST_DESC);
        connection.scene.others_go_on();
    }
}
