//! The RTL and the functional model on one wire, and two models: the messages of `messages.rs`, which are what the RTL
//! does today.

use viaduct_sim::setup::Kind::{self, Model, Rtl};
use viaduct_spec::register::nic_kind;
use viaduct_tests::traffic::{Shape, Traffic, LEVELS, MTUS};
use viaduct_tests::world::random_conditions;

fn messages_between(kinds: [Kind; 2], seeds: &[u64]) {
    for seed in seeds {
        let mut setup = random_conditions(*seed);
        setup.kinds = kinds.to_vec();
        let shape = Shape { nics: 2, pairs: 4, messages: 8, mtus: MTUS, levels: LEVELS };
        let mut traffic = Traffic::new(&setup, &shape);
        for (nic, kind) in kinds.into_iter().enumerate() {
            assert_eq!(traffic.world.is_model(nic), kind == Model, "not {}", nic_kind::CODES.name);
        }
        traffic.run();
        traffic.check();
    }
}

#[test]
fn an_rtl_nic_and_a_model_understand_each_other() {
    messages_between([Rtl, Model], &[31, 32]);
    messages_between([Model, Rtl], &[33, 34]);
}

#[test]
fn models_pass_the_same_messages() {
    messages_between([Model, Model], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
}

#[test]
fn a_model_s_run_depends_on_its_seed_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str, seed| {
        let pcap = folder.path().join(name);
        let mut setup = random_conditions(seed);
        (setup.kinds, setup.pcap) = (vec![Model], Some(pcap.clone()));
        let shape = Shape { nics: 2, pairs: 3, messages: 5, mtus: MTUS, levels: LEVELS };
        let mut traffic = Traffic::new(&setup, &shape);
        traffic.run();
        traffic.world.net.network().fabric_mut().finish_capture().expect("written");
        (std::fs::read(pcap).expect("a capture"), traffic.world.now())
    };
    let first = run("first", 11);
    assert!(first.0.len() > 10_000);
    assert!(first == run("again", 11), "the captures differ");
    assert!(first != run("other", 12));
}
