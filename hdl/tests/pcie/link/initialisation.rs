//! How the link becomes active.

use viaduct_link::link::dllp::{Dllp, Flow};
use viaduct_link::tlp::Class;

use super::world::{read, seed, write, Alone, Device};

const CREDITS: [(u16, u16); 3] = [(4, 16), (2, 0), (0, 7)];
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

fn credit(flow: Flow, class: usize) -> Dllp {
    let (header, data) = CREDITS[class];
    Dllp::Credit { flow, class: Class::ALL[class], header, data }
}

/// The sets of InitFC that were said: how many of InitFC1, then how many of InitFC2. All sets are whole and in order.
fn sets(alone: &mut Alone) -> [usize; 2] {
    let mut counts = [0; 2];
    let said: Vec<_> = alone.dllps.drain(..).collect();
    let mut last = said.first().map_or(0, |first| first.0);
    // The last question may have come within a set.
    let turn = match said.first() {
        Some((_, _, Dllp::Credit { class, .. })) => class.index(),
        _ => 0,
    };
    for (at, (began, _, dllp)) in said.iter().enumerate() {
        let Dllp::Credit { flow, class, header, data } = dllp else { panic!("{dllp:?}") };
        if *flow == Flow::Update {
            continue;
        }
        assert_eq!(*class, Class::ALL[(turn + at) % 3], "sets are in order");
        assert_eq!((*header, *data), [(0, 0), (8, 8), (0, 0)][(turn + at) % 3]);
        assert!(2 * (began - last) <= 8500, "every 34 us");
        last = *began;
        let second = usize::from(*flow == Flow::Init2);
        assert!(second == 1 || counts[1] == 0, "InitFC1 behind InitFC2");
        counts[second] += 1;
    }
    counts.map(|count| count / 3)
}

fn assert_limits(device: &Device) {
    let limits = device.limits();
    for (class, (headers, data)) in ["posted", "non_posted", "completions"].iter().zip(CREDITS) {
        assert_eq!(limits[&format!("{class}.headers")], u64::from(headers));
        assert_eq!(limits[&format!("{class}.data")], u64::from(data));
        assert_eq!(limits[&format!("{class}.endless_headers")], u64::from(headers == 0));
        assert_eq!(limits[&format!("{class}.endless_data")], u64::from(data == 0));
    }
}

#[test]
fn initfc1_goes_on_until_all_three_classes_have_come_in_any_order() {
    for order in ORDERS {
        for flows in 0..8 {
            let mut alone = Alone::new(seed("orders"));
            let flow = |at: usize| if flows >> at & 1 == 1 { Flow::Init2 } else { Flow::Init1 };
            for (at, class) in order.into_iter().enumerate() {
                alone.run(150);
                let [first, second] = sets(&mut alone);
                assert!(first >= 9 && second == 0, "{first} {second}");
                alone.dllp(credit(flow(at), class));
                // The second one does not count, nor does UpdateFC.
                alone.dllp(Dllp::Credit {
                    flow: Flow::Init1,
                    class: Class::ALL[class],
                    header: 99,
                    data: 99,
                });
                if at < 2 {
                    alone.update(Class::ALL[class], 77, 77);
                }
            }
            alone.run(300);
            let [first, second] = sets(&mut alone);
            assert!(first <= 3 && second >= 15, "{first} {second}");
            assert!(!alone.device.is_active());
            assert_limits(&alone.device);
            // Nothing of that says that the other side is ready.
            alone.dllp(credit(Flow::Init1, 0));
            alone.run(300);
            assert!(!alone.device.is_active());
        }
    }
}

#[test]
fn initfc2_ends_with_initfc2_updatefc_or_a_tlp_and_eight_more_sets() {
    let ends: [fn(&mut Alone); 6] = [
        |alone| alone.dllp(credit(Flow::Init2, 0)),
        |alone| alone.dllp(credit(Flow::Init2, 1)),
        |alone| alone.dllp(credit(Flow::Init2, 2)),
        |alone| alone.update(Class::NonPosted, 3, 0),
        |alone| alone.update(Class::Posted, 5, 20),
        |alone| alone.tlp(0, &read(0)),
    ];
    for end in ends {
        let mut alone = Alone::new(seed("end of init"));
        alone.device.send(&write(0, 1));
        for class in 0..3 {
            alone.dllp(credit(Flow::Init1, class));
        }
        alone.run(500);
        sets(&mut alone);
        end(&mut alone);
        alone.run(12);
        alone.dllps.clear();
        let cycles = alone.until(1000, |alone| alone.device.is_active());
        // Nine sets of three DLLPs of four cycles.
        assert!((80..=125).contains(&cycles), "{cycles}");
        assert_eq!(alone.device.words_taken, 0, "no TLP before");
        alone.run(200);
        assert_eq!(alone.numbers(), [0]);
        alone.run(2000);
        assert!(!alone
            .dllps
            .iter()
            .any(|(_, _, dllp)| { matches!(dllp, Dllp::Credit { flow: Flow::Init1, .. }) }));
        let inits =
            alone.dllps.iter().filter(|(_, _, dllp)| matches!(dllp, Dllp::Credit { flow: Flow::Init2, .. }));
        let inits = inits.count();
        // Eight sets, the rest of one, and what was said before the DLLP was heard.
        assert!((24..=30).contains(&inits), "{inits}");
    }
}

#[test]
fn link_down_forgets_everything() {
    let mut alone = Alone::active(seed("down"), CREDITS);
    alone.device.send(&write(0, 4));
    alone.device.send(&write(1, 4));
    alone.tlp(0, &read(0));
    alone.run(35);
    alone.link_up = false;
    alone.in_l0 = false;
    alone.run(3);
    assert!(!alone.device.is_active());
    alone.run(1000);
    alone.device.forget();
    alone.device.arrived.clear();
    // As after power-up.
    alone.restart();
    alone.run(300);
    let [first, second] = sets(&mut alone);
    assert!(first > 20 && second == 0, "{first} {second}");
    alone.initialise([(0, 0); 3]);
    alone.tlp(0, &read(9));
    alone.device.send(&write(7, 2));
    alone.settle();
    assert_eq!(alone.device.arrived, [read(9)]);
    assert_eq!(alone.numbers(), [0]);
}

#[test]
fn damaged_and_unknown_initfc_mean_nothing() {
    let mut alone = Alone::new(seed("damaged init"));
    for class in 0..3 {
        let good = viaduct_link::link::frame::frame_dllp(credit(Flow::Init1, class));
        for at in 0..8 {
            let mut bad = good.clone();
            bad[at].value ^= 1;
            alone.symbols(bad);
            alone.symbols(good[..at].iter().copied());
        }
    }
    // Of another virtual channel, and of no class.
    for kind in [0x41_u8, 0x59, 0x62, 0x67, 0x70, 0xf0] {
        let content = [kind, 1, 1, 1];
        let crc = viaduct_link::link::crc::dllp_crc(content).to_le_bytes();
        let bytes = [&content[..], &crc].concat();
        let data = bytes.iter().map(|byte| viaduct_link::symbol::Symbol::data(*byte));
        let all = std::iter::once(viaduct_link::symbol::Symbol::SDP).chain(data);
        alone.symbols(all.chain([viaduct_link::symbol::Symbol::END]));
    }
    alone.settle();
    alone.run(200);
    let [first, second] = sets(&mut alone);
    assert!(first > 20 && second == 0);
    assert!(alone.device.limits().iter().all(|(_, value)| *value == 0));
}
