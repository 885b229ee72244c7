//! Clients connect by their sessions alone, without the library.

use viaduct_driver::{
    cm::{CmError, ConnectionId, Discriminator, Event, Refusal, Target},
    consumer::Vi,
    kernel_agent::{
        connection_agent::{Ask, ConnectionAgent, ConnectorError},
        ErrorClass, KernelAgent,
    },
    viad::Client,
};
use viaduct_viad_tests::stage::{until, Stage, LONG};

use super::mac;

fn discriminator(text: &str) -> Discriminator {
    Discriminator::try_from(text.as_bytes()).expect("short")
}

fn event(client: &Client) -> Event {
    let client: &dyn ConnectionAgent = client;
    client.wait_event(LONG, |_| true).expect("it serves").expect("it happens")
}

#[test]
fn the_consumers_own_data_goes_both_ways_and_with_a_refusal() {
    let stage = Stage::new(2);
    let clients = [0, 1].map(|nic| Client::open(stage.socket(nic)).expect("it serves"));
    let vis = clients.each_ref().map(|client| {
        let tag = client.create_tag().expect("a tag");
        Vi::create(client.clone(), vi_attributes(tag)).expect("a VI")
    });
    let ask = |data: &[u8]| Ask {
        vi: vis[0].name(),
        target: Target::Mac(mac(1)),
        from: discriminator("from"),
        to: discriminator("to"),
        data: data.into(),
        timeout: Some(LONG),
    };
    // More than there is room for.
    let error = clients[0].connect(ask(&[1; 45])).expect_err("too long");
    assert!(matches!(error, ConnectorError::Manager(CmError::Data { .. })), "{error}");
    let incoming = |listener| match event(&clients[1]) {
        Event::Incoming { id, listener: own, request, .. } => {
            assert_eq!(
                (own, request.from, request.to),
                (listener, discriminator("from"), discriminator("to"))
            );
            assert_eq!(request.data, b"a question");
            id
        }
        other => panic!("{other:?}"),
    };
    let listener = clients[1].listen(discriminator("to")).expect("room");
    let id = clients[0].connect(ask(b"a question")).expect("an idle VI");
    let theirs = incoming(listener);
    clients[1].reject(theirs, b"because").expect("it is pending");
    let refused = Event::Refused { id, refusal: Refusal::Rejected, data: b"because".into() };
    assert_eq!(event(&clients[0]), refused);
    let listener = clients[1].listen(discriminator("to")).expect("room");
    let id = clients[0].connect(ask(b"a question")).expect("an idle VI");
    // A VI has one connection at a time.
    let error = clients[0].connect(ask(b"")).expect_err("it is being connected");
    assert!(matches!(&error, ConnectorError::Agent(error) if error.class() == ErrorClass::State), "{error}");
    let theirs = incoming(listener);
    clients[1].accept(theirs, vis[1].name(), b"an answer").expect("they fit");
    let Event::Met { id: met, data, .. } = event(&clients[0]) else { panic!("not met") };
    assert_eq!((met, &data[..]), (id, &b"an answer"[..]));
    assert_eq!(event(&clients[0]), Event::Established { id });
    assert_eq!(event(&clients[1]), Event::Established { id: theirs });
    // This one, and the one before, which the peer may still ask about.
    assert_eq!(clients.each_ref().map(|client| client.count_connections().expect("it serves")), [1, 2]);
    // Destroyed without a word: the other end hears of it.
    let [one, other] = vis;
    one.destroy().expect("it answers");
    assert_eq!(event(&clients[1]), Event::Disconnected { id: theirs });
    other.destroy().expect("it answers");
}

fn vi_attributes(tag: u16) -> viaduct_driver::kernel_agent::ViAttributes {
    viaduct_driver::kernel_agent::ViAttributes {
        tag,
        service: viaduct_driver::address::Service::ReliableDelivery,
        mtu: viaduct_driver::address::Mtu::DEFAULT,
        max_transfer: 1 << 20,
        send_log2: 3,
        receive_log2: 3,
        rdma_write: false,
        rdma_read: false,
        not_ready: viaduct_driver::cm::NotReady::Break,
        send_cq: None,
        receive_cq: None,
    }
}

#[test]
fn connections_of_others_do_not_exist_and_what_is_too_much_is_refused() {
    let stage = Stage::with(1, "[user]\nlisteners = 20\n");
    let open = || Client::open(stage.socket(0)).expect("it serves");
    let (owner, thief, asker) = (open(), open(), open());
    let vi = |client: &std::sync::Arc<Client>| {
        let tag = client.create_tag().expect("a tag");
        Vi::create(client.clone(), vi_attributes(tag)).expect("a VI")
    };
    let vis = [&owner, &thief, &asker].map(vi);
    let ask = |client: usize, to: &str| Ask {
        vi: vis[client].name(),
        target: Target::Mac(mac(0)),
        from: discriminator("from"),
        to: discriminator(to),
        data: Vec::new(),
        timeout: Some(LONG),
    };
    let listener = owner.listen(discriminator("mine")).expect("room");
    // Another's listener is not to be stopped.
    thief.unlisten(listener).expect("it is not there for it");
    let asked = asker.connect(ask(2, "mine")).expect("idle");
    let Event::Incoming { id, .. } = event(&owner) else { panic!("nobody asks") };
    let gone = |result: Result<(), ConnectorError>| match result {
        Err(ConnectorError::Manager(CmError::Gone(_))) => true,
        other => panic!("{other:?}"),
    };
    for id in [id, asked] {
        assert!(gone(thief.accept(id, vis[1].name(), b"")));
        assert!(gone(thief.reject(id, b"")));
        thief.disconnect(id).expect("it is not there for it");
    }
    // With another's VI neither.
    let error = owner.accept(id, vis[1].name(), b"").expect_err("not its own");
    assert!(
        matches!(&error, ConnectorError::Agent(error) if error.class() == ErrorClass::Parameter),
        "{error}"
    );
    let error = thief.connect(ask(2, "x")).expect_err("not its own");
    assert!(
        matches!(&error, ConnectorError::Agent(error) if error.class() == ErrorClass::Parameter),
        "{error}"
    );
    owner.accept(id, vis[0].name(), b"").expect("it is all as it was");
    assert!(gone(owner.accept(id, vis[0].name(), b"")), "it is accepted already");
    assert!(matches!(event(&asker), Event::Met { .. }));
    assert_eq!(event(&asker), Event::Established { id: asked });
    assert_eq!(event(&owner), Event::Established { id });
    asker.disconnect(asked).expect("it answers");
    assert_eq!(event(&owner), Event::Disconnected { id });

    // Listeners, and those who ask and are left without an answer, are counted.
    let most = (0..25).map(|n| thief.listen(discriminator(&format!("flood {n}")))).take_while(Result::is_ok);
    let listeners: Vec<_> = most.map(|made| made.expect("looked at")).collect();
    assert_eq!(listeners.len(), 20);
    let error = owner.listen(discriminator("mine")).expect_err("the same user").to_string();
    assert!(error.contains("listeners") && error.contains("limit is 20"), "{error}");
    vis[2].break_off().expect("it answers");
    vis[2].make_idle().expect("broken");
    let asked: ConnectionId = asker.connect(ask(2, "flood 3")).expect("idle");
    assert!(matches!(event(&thief), Event::Incoming { .. }));
    assert!(owner.listen(discriminator("mine")).is_err(), "an undecided request counts as well");
    asker.disconnect(asked).expect("it answers");
    assert!(until(LONG, || owner.listen(discriminator("mine")).is_ok()), "it was withdrawn");
    for listener in listeners {
        thief.unlisten(listener).expect("it answers");
    }
    for _ in 0..19 {
        owner.listen(discriminator("mine")).expect("room");
    }
    // Its VI holds it, too.
    drop((owner, vis));
    assert!(until(LONG, || thief.listen(discriminator("mine")).is_ok()), "all of it came back");
    assert!(!stage.log(0).contains("panicked"), "{}", stage.log(0));
}
