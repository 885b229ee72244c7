//! Reliable Reception between NICs of every kind: a send is complete when its data is in the receiver's memory, and
//! what the receiver refuses completes as the table of refusals says.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::device_protocol::rows;
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_sim::fabric::Faults;
use viaduct_sim::setup::Kind::{self, Model, Rtl};
use viaduct_sim::setup::Setup;
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::refusal::REFUSALS;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{table, transmit};
use viaduct_spec::wire::syndrome;
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

const KINDS: [[Kind; 2]; 4] = [[Rtl, Rtl], [Rtl, Model], [Model, Rtl], [Model, Model]];
const DELIVERY: Service = Service::ReliableDelivery;
const RECEPTION: Service = Service::ReliableReception;
const RECEIVED: u32 = status::DONE | status::OP_RECEIVE;
/// A round trip of the bus that nobody can take for anything else.
const ROUND_TRIP: u64 = 800;

fn scene(kinds: [Kind; 2], round_trip: u64) -> Scene {
    let mut setup = Setup { kinds: kinds.to_vec(), ..quick(41) };
    setup.network.bus.conditions.round_trip = round_trip;
    Scene::on(World::new(&setup))
}

/// Whether a message is in the receiver's memory when its acknowledgement is on the wire.
fn is_received_first(kinds: [Kind; 2], service: Service, length: usize) -> bool {
    let mut scene = scene(kinds, ROUND_TRIP);
    let mut vis = pair(&scene.hosts, service, 1024);
    let [a, b] = &mut scene.hosts;
    let receive = vis[1].receive(b, &Descriptor::of(b, 0x1000, length));
    b.memory.write(0x1000, &vec![0xA5; length]);
    scene.world.settle();
    let frames = || scene.world.net.network().fabric().counters().roce_frames;
    let acknowledged = frames() + (length as u64).div_ceil(1024).max(1) + 1;
    let send = vis[0].send(a, &Descriptor::of(a, 0x100, length));
    scene.world.until("the acknowledgement", 20_000, || {
        assert!(!Completion::read(&a.memory, send).is_complete(), "it is not acknowledged yet");
        frames() == acknowledged
    });
    let data = b.memory.read(0x1000, length) == a.memory.read(0x100, length);
    let completion = Completion::read(&b.memory, receive);
    let first = data && completion.status == RECEIVED && completion.length as usize == length;
    // Later it is, whenever the acknowledgement came.
    assert_eq!(scene.world.complete(a, send).status, status::DONE | status::OP_SEND);
    scene.world.settle();
    assert_eq!(Completion::read(&b.memory, receive).status, RECEIVED);
    scene.others_go_on();
    first
}

/// Rule RSP-7.
#[test]
fn a_send_completes_when_its_data_is_in_memory() {
    for kinds in KINDS {
        for length in [0, 1, 1024, 3000] {
            assert!(is_received_first(kinds, RECEPTION, length), "{kinds:?}: {length} bytes");
        }
    }
    // Reliable Delivery does not wait for the bus: what is found here would be found if this level did not either.
    assert!(!is_received_first([Rtl, Rtl], DELIVERY, 3000));
}

/// Whether a message, a send or an RDMA write, is in the receiver's memory when it completes, with a read behind it: the read's
/// answer acknowledges it.
fn is_received_before_the_read(kinds: [Kind; 2], service: Service, write: bool, read: usize) -> bool {
    const LENGTH: usize = 3000;
    let mut scene = scene(kinds, ROUND_TRIP);
    let mut vis = scene.hosts.each_ref().map(|host| RawVi::open(host, service, 1024));
    let [first, second] = &mut vis;
    first.connect(second);
    let [a, b] = &mut scene.hosts;
    let rights = MemoryAttributes { tag: b.tag, rdma_write: true, rdma_read: true };
    let region = b.register_as(0x1000, 0x1000, rights);
    let receive = vis[1].receive(b, &Descriptor::of(b, 0x1000, LENGTH));
    b.memory.write(0x1000, &[0xA5; LENGTH]);
    scene.world.settle();
    let mut message = Descriptor::of(a, 0x100, LENGTH);
    if write {
        message = message.write_to(region.address, region.handle).immediate(7);
    }
    let message = vis[0].send(a, &message);
    let read = Descriptor::of(a, 0x2000, read).read_from(region.address, region.handle);
    let read = vis[0].send(a, &read);
    scene.world.until("the message", 20_000, || Completion::read(&a.memory, message).is_complete());
    let data = b.memory.read(0x1000, LENGTH) == a.memory.read(0x100, LENGTH);
    let first = data && Completion::read(&b.memory, receive).is_complete();
    assert_eq!(scene.world.complete(a, read).status, status::DONE | status::OP_RDMA_READ);
    scene.others_go_on();
    first
}

/// Rule RSP-7.
#[test]
fn a_read_behind_a_message_does_not_complete_it_early() {
    for kinds in KINDS {
        for write in [false, true] {
            for read in [0, 10] {
                let first = is_received_before_the_read(kinds, RECEPTION, write, read);
                assert!(first, "{kinds:?}, write {write}, a read of {read} bytes");
            }
        }
    }
    // What is found here would be found if Reliable Reception did not wait.
    assert!(!is_received_before_the_read([Model, Rtl], DELIVERY, false, 0));
}

/// What happens at the receiver of a send, or of an RDMA write, that is refused.
struct Case {
    name: &'static str,
    /// What the receiver answers; `None`: nothing.
    syndrome: Option<u8>,
    /// Whether the request is an RDMA write.
    rdma: bool,
    /// Error bits of the receive that it consumes, if there is one.
    receive: Option<u32>,
    /// The event at the receiver.
    event: Option<u8>,
}

const CASES: [Case; 7] = [
    Case {
        name: "no receive",
        syndrome: Some(syndrome::RNR_NAK),
        rdma: false,
        receive: None,
        event: Some(event_code::RECVQ_EMPTY),
    },
    Case {
        name: "a receive that is too short",
        syndrome: Some(syndrome::NAK_INVALID),
        rdma: false,
        receive: Some(status::LENGTH_ERROR),
        event: Some(event_code::CONN_LOST),
    },
    Case {
        name: "a malformed receive",
        syndrome: Some(syndrome::NAK_OPERATIONAL),
        rdma: false,
        receive: Some(status::FORMAT_ERROR),
        event: Some(event_code::CONN_LOST),
    },
    Case {
        name: "a receive of another tag's memory",
        syndrome: Some(syndrome::NAK_OPERATIONAL),
        rdma: false,
        receive: Some(status::PROTECTION_ERROR),
        event: Some(event_code::CONN_LOST),
    },
    Case {
        name: "a write without the right",
        syndrome: Some(syndrome::NAK_INVALID),
        rdma: true,
        receive: None,
        event: Some(event_code::RDMAW_PROT),
    },
    Case {
        name: "a write with another key",
        syndrome: Some(syndrome::NAK_ACCESS),
        rdma: true,
        receive: None,
        event: Some(event_code::RDMAW_PROT),
    },
    Case { name: "no answer", syndrome: None, rdma: false, receive: None, event: None },
];

/// The row of the table of refusals.
fn error(case: &Case) -> u32 {
    let fits = |rdma: Option<bool>| rdma.is_none_or(|rdma| rdma == case.rdma);
    let row = REFUSALS.iter().find(|row| row.syndrome == case.syndrome && fits(row.rdma));
    row.expect("it is in the table").reception
}

/// The receiver's receive, posted if the case has one.
fn post(scene: &mut Scene, vi: &mut RawVi, case: &Case) -> Option<usize> {
    let [_, b] = &mut scene.hosts;
    let good = Descriptor::of(b, 0x1000, 2000);
    let descriptor = match case.receive? {
        status::LENGTH_ERROR => Descriptor::of(b, 0x1000, 1999),
        status::FORMAT_ERROR => Descriptor { control: control::OP_MASK, ..good },
        _ => {
            let foreign = b.register(0x1000, 4096, b.agent.create_tag().expect("a tag"));
            Descriptor::new().segment(foreign.address, foreign.handle, 2000)
        }
    };
    Some(vi.receive(b, &descriptor))
}

/// Rule REQ-4.
#[test]
fn what_the_receiver_refuses_completes_as_the_table_says() {
    for kinds in KINDS {
        let mut scene = scene(kinds, 16);
        for case in &CASES {
            println!("{kinds:?}: {}", case.name);
            let mut vis = pair(&scene.hosts, RECEPTION, 1024);
            let [peer, own] = [vis[0].vi.info(), vis[1].vi.info()];
            let [a, b] = &scene.hosts;
            let mut row = rows::transmit(own.starting_psn, RECEPTION, false, 0);
            transmit::TIMEOUT.put(&mut row, 50);
            transmit::RETRIES.put(&mut row, 2);
            scene.world.commit(0, table::TRANSMIT, vis[0].index().into(), &row);
            let write = case.syndrome == Some(syndrome::NAK_ACCESS);
            let rights = rows::Rights { write, ..rows::Rights::default() };
            let row = rows::Receive::connected(&own, &peer, b.tag, rights).words();
            scene.world.commit(1, table::RECEIVE, vis[1].index().into(), &row);
            let attributes = MemoryAttributes { tag: b.tag, rdma_write: true, rdma_read: false };
            let region = b.register_as(0x1000, 4096, attributes);
            let mut send = Descriptor::of(a, 0x100, 2000);
            if case.rdma {
                send = send.write_to(region.address, region.handle ^ 0x1_0000);
            }
            let receive = post(&mut scene, &mut vis[1], case);
            scene.world.settle();
            let faults = match case.syndrome {
                None => Faults { drop: (0..1 << 16).collect(), ..Faults::default() },
                Some(_) => Faults::default(),
            };
            scene.world.net.network().fabric_mut().set_faults(faults);
            let before = scene.hosts[1].memory.read(0x1000, 2000);

            let place = vis[0].send(&mut scene.hosts[0], &send);
            let sent = scene.world.complete(&scene.hosts[0], place);
            let operation = if case.rdma { status::OP_RDMA_WRITE } else { status::OP_SEND };
            assert_eq!((sent.status, sent.length), (status::DONE | operation | error(case), 0));
            scene.world.settle();
            scene.world.net.network().fabric_mut().set_faults(Faults::default());
            if let Some((place, bits)) = receive.zip(case.receive) {
                assert_eq!(Completion::read(&scene.hosts[1].memory, place).status, RECEIVED | bits);
            }
            if case.receive != Some(status::LENGTH_ERROR) {
                assert_eq!(scene.hosts[1].memory.read(0x1000, 2000), before);
            }
            let codes: [Vec<u8>; 2] =
                [0, 1].map(|host| scene.events(host).iter().map(|event| event.code).collect());
            let expected = [vec![event_code::CONN_LOST], case.event.into_iter().collect()];
            assert_eq!(codes, expected);
            assert_eq!(vis[0].state(), ViState::Error);
            assert_eq!(vis[1].state() == ViState::Error, case.event.is_some());
            vis.into_iter().for_each(|vi| vi.retire(&scene.world));
            let _ = [scene.events(0), scene.events(1)];
        }
        scene.others_go_on();
    }
}
