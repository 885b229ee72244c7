//! What the NIC tells its host.

use viaduct_driver::device::Bar;
use viaduct_sim::watch::Seen;
use viaduct_spec::register::registers;
use viaduct_walk::trace::What;

use super::refused;

#[test]
fn a_state_that_is_told_wrongly_is_seen() {
    refused(&["the state of VI", "is told as"], |trace| {
        let told = trace.moments.iter_mut().rev().find_map(|moment| match &mut moment.what {
            What::Seen(Seen::Load { bar: Bar::Registers, offset: registers::RESULT, value, .. }) => {
                Some(value)
            }
            _ => None,
        });
        *told.expect("both states are asked for at the end") ^= 1;
    });
}
