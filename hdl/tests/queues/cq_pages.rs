//! Every store to every page of BAR 2: who takes it.

use viaduct_hdl::bus::{CqStore, MmioWrite};
use viaduct_hdl::doorbell::CqPages;
use viaduct_hdl::export::verilog;
use viaduct_spec::doorbell::cq_page;
use viaduct_spec::profile::{CQS, DOORBELL_SHIFT, VIS};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

#[test]
fn whole_words_to_index_and_arm_are_passed_on_and_others_counted() {
    let mut bench = Bench::new("cq_pages", &verilog(CqPages::default()));
    let (mmio, store) = (Bundle::of::<MmioWrite>("mmio_write"), Bundle::of::<CqStore>("store"));
    let (mut passed, mut ignored) = (0, 0);
    // Whole words, and what is none because it begins within one.
    let astray = [1, 2, 4, cq_page::ARM + 1, cq_page::ARM + 2, cq_page::ARM + 4];
    let places: Vec<u64> = (0..4096).step_by(8).chain(astray).collect();
    for page in 0..(VIS + CQS) as u64 {
        for &place in &places {
            // All places of some pages, some places of all.
            if place > 64 && page % 16 != 0 {
                continue;
            }
            let holes = (0..8).map(|byte| (1, 0xFF ^ 1 << byte));
            for (doorbell, enables) in [(1, 0xFF), (1, 0xF0), (0, 0xFF)].into_iter().chain(holes) {
                let word = 0xDEAD_BEEF << 32 | (page * 4096 + place) & 0x3FFFF | 0xFFFC_0000 & (page << 18);
                mmio.set(
                    &mut bench,
                    &[
                        ("doorbell", doorbell),
                        ("address", page << DOORBELL_SHIFT | place),
                        ("data", word),
                        ("enables", enables),
                    ],
                );
                bench.set("mmio_write_valid", 1);
                bench.tick();
                bench.set("mmio_write_valid", 0);
                bench.eval();
                let mine = doorbell == 1 && page >= VIS as u64;
                let sound = mine && enables == 0xFF && [cq_page::INDEX, cq_page::ARM].contains(&place);
                let seen = (bench.get("store_valid"), bench.get("count_ignored"));
                assert_eq!(seen, (sound.into(), (mine && !sound).into()), "page {page}, {place:#x}");
                if sound {
                    let get = |name| store.get(&bench, name);
                    let arm = u64::from(place == cq_page::ARM);
                    assert_eq!(
                        (get("cq"), get("index"), get("arm")),
                        (page - VIS as u64, word & 0x3_FFFF, arm)
                    );
                }
                passed += seen.0;
                ignored += seen.1;
                bench.tick();
                bench.eval();
                assert_eq!((bench.get("store_valid"), bench.get("count_ignored")), (0, 0), "a pulse");
            }
        }
    }
    assert!(passed == 2 * CQS as u64 && ignored > 1000, "{passed} {ignored}");
}
