//! Much is under way at any time: RDMA of one VI's memory into another's, and back, as much as the queues hold.

use viaduct_driver::{address::Service, queues::Direction, viad::place::Place};
use viaduct_spec::descriptor::{control, status};

use crate::{
    hand::{BYTES, DATA},
    stage::{until, LONG},
};

/// Descriptors that are posted together; a ring has eight slots, and one is free.
const TOGETHER: usize = 6;

/// Each turn posts, and waits for the first of what it has posted: the rest is under way when it comes back.
pub fn flight(place: &Place) -> impl FnMut() {
    let client = super::deeds::open(place);
    let [mut one, other] = [(); 2].map(|()| super::deeds::hand(&client, place, Service::ReliableDelivery));
    one.connect(&other);
    let length = (BYTES - DATA) as u32;
    let mut posted = Vec::new();
    move || {
        let (own, theirs) = (one.own(DATA, length), other.own(DATA, length));
        while posted.len() < TOGETHER {
            let operation = [control::OP_RDMAWRITE, control::OP_RDMAREAD][posted.len() % 2];
            posted.push(one.post(Direction::Send, operation, Some(theirs), &[own]));
        }
        let first = posted.remove(0);
        assert!(until(LONG, || one.status(Direction::Send, first) != 0), "it is not complete");
        let is = one.status(Direction::Send, first);
        assert_eq!(is & status::ERROR_MASK, 0, "{is:#x}");
    }
}
