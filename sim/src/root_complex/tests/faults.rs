//! Faults of the root complex, and rules that the NIC breaks.

use viaduct_spec::tlp::completion_status;

use super::*;
use crate::tlp::Completion;

#[test]
fn faults_hit_the_reads_they_name() {
    let faults = BTreeMap::from([
        (0, ReadFault::Poisoned),
        (1, ReadFault::Missing),
        (2, ReadFault::Aborted),
        (3, ReadFault::Cut),
        (4, ReadFault::Late(500)),
    ]);
    let mut edge = Edge::new(Options { faults, ..Options::default() });
    (0..6).for_each(|tag| edge.queue(&read(0, 512, tag)));
    edge.run(2000);
    let completions = edge.completions();
    let of = |tag| completions.iter().filter(|c| c.tag == tag).collect::<Vec<_>>();
    assert!(of(0)[0].poisoned && !of(0)[1].poisoned);
    assert!(of(1).is_empty());
    assert_eq!(of(2)[0].status, completion_status::ABORT);
    assert_eq!((of(3).len(), of(3)[0].data.len()), (1, 64));
    assert_eq!(completions.last().unwrap().tag, 4);
    assert_eq!(of(5).len(), 2);
    assert_eq!(edge.complex.violations(), []);
    // A tag whose read was lost must not be used again.
    edge.queue(&read(0, 4, 1));
    edge.queue(&read(0, 4, 5));
    edge.run(200);
    assert_eq!(edge.complex.counters().violations, 1);
}

#[test]
fn every_broken_rule_is_seen() {
    let broken = |options: &Options, packet: Tlp| {
        let mut edge = Edge::new(options.clone());
        edge.queue(&packet);
        edge.run(300);
        edge.complex.violations().iter().map(|v| v.what.clone()).collect::<Vec<_>>().join("; ")
    };
    let options = Options::default();
    let small = Options {
        conditions: Conditions { max_payload: 0, extended_tag: false, ..Conditions::default() },
        ..Options::default()
    };
    assert!(broken(&options, read(0, 1024, 0)).contains("1024 bytes; 512 are allowed"));
    assert!(broken(&small, write(0, 256, 0)).contains("256 bytes; 128 are allowed"));
    assert!(broken(&options, read(4096 - 4, 8, 0)).contains("crosses"));
    assert!(broken(&small, read(0, 4, 32)).contains("without extended tags"));
    let stranger = Request { requester: 0x200, ..Request::new(BASE, 4, 0, NIC_ID) };
    assert!(broken(&options, Tlp::Read(stranger)).contains("requester"));
    let credits = Limits { posted_data: Some(3), ..Limits::default() };
    let poor = Options { conditions: Conditions { credits, ..Conditions::default() }, ..Options::default() };
    assert!(broken(&poor, write(0, 64, 0)).contains("no credit"));
    assert_eq!(broken(&poor, write(0, 48, 0)), "");
    let nobody = Completion {
        status: 0,
        byte_count: 4,
        lower_address: 0,
        tag: 9,
        requester: HOST_ID,
        completer: NIC_ID,
        poisoned: false,
        data: vec![0],
    };
    assert!(broken(&options, Tlp::Completion(nobody)).contains("no load"));
    let mut edge = Edge::new(options);
    edge.run(1);
    edge.complex.config_write(edge.now, 4, &[2, 0]);
    edge.run(20);
    edge.queue(&write(0, 4, 0x1234_5678));
    edge.queue.push_back(vec![0x4000_0002, 0x0100_000F, 0x1000, 0]);
    edge.run(100);
    let violations = edge.complex.violations();
    assert!(violations[0].what.contains("no bus master"));
    assert!(violations[1].what.contains("malformed"));
    assert_eq!(edge.memory(BASE, 4), [0, 1, 2, 3], "it reached nothing");
}
