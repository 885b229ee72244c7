//! What is encoded is decoded as it was, and nothing else is.

use proptest::prelude::*;

use super::*;
use crate::{
    address::{Mtu, Service},
    cm::{end::End, event::Incoming, Host, NotReady, Target},
};
use std::time::Duration;

/// Names are numbers.
fn connection() -> ConnectionId {
    postcard::from_bytes(&[7]).expect("a number")
}

fn samples() -> Vec<Request> {
    let attributes = MemoryAttributes { tag: 5, rdma_write: true, rdma_read: false };
    let vi = ViName { index: 3, life: 9 };
    let cq = CqName { index: 1, life: 1 << 40 };
    let info = ConnectionInfo {
        mac: Mac([2, 0, 0, 0, 0, 1]),
        ip: Ipv4Addr::new(10, 0, 0, 1),
        queue_pair: 0x123,
        starting_psn: 7,
        first_psn: None,
        mtu: Mtu::DEFAULT,
        service: Service::ReliableDelivery,
        max_transfer: 1 << 20,
        ack_time: 10,
    };
    let vi_attributes = ViAttributes {
        tag: 5,
        service: Service::ReliableReception,
        mtu: Mtu::MAX,
        max_transfer: 77,
        send_log2: 3,
        receive_log2: 10,
        rdma_write: true,
        rdma_read: true,
        not_ready: NotReady::Stay { timer: 12, retries: 7 },
        send_cq: Some(4),
        receive_cq: None,
    };
    let discriminator = Discriminator::try_from(&b"service"[..]).expect("short");
    let ask = Ask {
        vi,
        target: Target::Host(Host { mac: info.mac, ip: info.ip }),
        from: discriminator,
        to: Discriminator::of_port(7),
        data: vec![1, 2, 3],
        timeout: Some(Duration::from_millis(1)),
    };
    vec![
        Request::Hello { magic: MAGIC, version: VERSION },
        Request::CreateTag,
        Request::DestroyTag(5),
        Request::Register(u64::MAX, 1, attributes),
        Request::Deregister(9),
        Request::SetMemoryAttributes(9, attributes),
        Request::MemoryAttributes(9),
        Request::CreateVi(vi_attributes),
        Request::SetViAttributes(vi, vi_attributes, true),
        Request::ConnectVi(vi, info),
        Request::BreakVi(vi),
        Request::IdleVi(vi),
        Request::ViState(vi),
        Request::DestroyVi(vi),
        Request::CreateCq(100),
        Request::ResizeCq(cq, 200),
        Request::DestroyCq(cq),
        Request::TakeEvents,
        Request::Check,
        Request::Time,
        Request::Counters,
        Request::Listen(discriminator),
        Request::ListenForAll(discriminator, u32::MAX),
        Request::Unlisten(postcard::from_bytes(&[7]).expect("a number")),
        Request::Connect(ask.clone()),
        Request::PeerRequest(Ask { target: Target::Mac(info.mac), timeout: None, ..ask }),
        Request::Disconnect(connection()),
        Request::Reject(connection(), vec![1; 136]),
        Request::Accept(connection(), vi, Vec::new()),
        Request::TakeConnectionEvents,
        Request::Hosts(1 << 20),
        Request::Watch,
        Request::Sessions(u64::MAX),
        Request::Vis(1, 2),
        Request::Totals,
        Request::SharePool(1 << 20),
        Request::DropPool(7),
        Request::RegisterShared(7, 4096, u64::MAX, 1, attributes),
        Request::Function,
        Request::RegisterLeased(1 << 38, 5, 1, true, attributes),
        Request::EndLease,
        Request::CountConnections,
    ]
}

/// The rows of the table, and which one a request is of.
macro_rules! rows {
    (() $(
        $(#[$doc:meta])*
        $trait:ident fn $method:ident $(($($argument:ident: $type:ty),+))? $(-> $result:ty)?
            as $request:ident => $answer:ident $(and $files:ident)? $(, with $sent:ident)?
            $(, of [$($object:ident $(($value:expr))?),+])? $(, costs [$($quota:ident),+])?;
    )*) => {
        const ROWS: &[&str] = &[$(stringify!($request)),*];

        fn row(request: &Request) -> &'static str {
            match request {
                Request::Hello { .. } => "Hello",
                $(Request::$request { .. } => stringify!($request),)*
            }
        }
    };
}

control_calls!(rows);

#[test]
fn requests_are_numbered_by_the_order_of_the_rows() {
    let samples = samples();
    for (number, name) in ["Hello"].iter().chain(ROWS).enumerate() {
        let sample = samples.iter().find(|sample| row(sample) == *name);
        let sample = sample.unwrap_or_else(|| panic!("{name} has no sample: no test sends it"));
        assert_eq!(usize::from(encode(sample).expect("short")[0]), number, "{name}");
    }
}

#[test]
fn what_is_encoded_is_decoded() {
    for request in samples() {
        let bytes = encode(&request).expect("short");
        assert_eq!(decode::<Request>(&bytes).expect("it was encoded"), request);
        // Nothing more, nothing less.
        assert!(decode::<Request>(&bytes[..bytes.len() - 1]).is_err(), "{request:?}");
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert!(matches!(decode::<Request>(&longer), Err(Malformed::Trailing(1))), "{request:?}");
    }
    let long = "ä".repeat(2000);
    let refusal = Refusal::from(AgentError::Command(long));
    assert!(refusal.text.len() <= 1024 && refusal.class == ErrorClass::Resource);
    let reply: Reply = Err(refusal);
    assert_eq!(decode::<Reply>(&encode(&reply).expect("short")).expect("it was encoded"), reply);
}

#[test]
fn the_most_connection_events_fit_a_message() {
    let discriminator = Discriminator::try_from(&[0xff; 22][..]).expect("the longest");
    let info = ConnectionInfo {
        mac: Mac([0xff; 6]),
        ip: Ipv4Addr::BROADCAST,
        queue_pair: u32::MAX,
        starting_psn: u32::MAX,
        first_psn: None,
        mtu: Mtu::MAX,
        service: Service::ReliableReception,
        max_transfer: u32::MAX,
        ack_time: u8::MAX,
    };
    let event = cm::Event::Incoming {
        id: connection(),
        listener: postcard::from_bytes(&[7]).expect("a number"),
        once: true,
        request: Incoming {
            host: Host { mac: info.mac, ip: info.ip },
            from: discriminator,
            to: discriminator,
            peer: End::new(info, u8::MAX),
            // More than any message has.
            data: vec![0xff; 196],
        },
    };
    let events: Reply = Ok(Answer::ConnectionEvents(vec![event; MOST_CONNECTION_EVENTS]));
    assert_eq!(decode::<Reply>(&encode(&events).expect("short")).expect("it was encoded"), events);
    // A discriminator that is too long is none.
    let bytes: Vec<u8> =
        [&encode(&Request::Listen(discriminator)).expect("short")[..1], &[23], &[1; 23]].concat();
    assert!(decode::<Request>(&bytes).is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(request) = decode::<Request>(&bytes) {
            prop_assert_eq!(decode::<Request>(&encode(&request).expect("short")).expect("it was encoded"), request);
        }
        let _ = decode::<Reply>(&bytes);
    }

    #[test]
    fn a_message_with_changed_bytes_is_a_message_or_an_error(
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let samples = samples();
        let mut bytes = encode(which.get(&samples)).expect("short");
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = decode::<Request>(&bytes);
        let _ = decode::<Reply>(&bytes);
    }
}
