//! One thing after the other, on a network that does what it is told.

mod clients;
mod ends;
mod limits;
mod messages;
mod peers;

use std::time::Duration;

use viaduct_driver::cm::{datagram::Datagram, mad::Mad, manager::Heard, message::Message, Event, Refusal};

use super::network::{host, Network};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn is_req(message: &Message) -> bool {
    matches!(message, Message::Req(_))
}

fn is_rep(message: &Message) -> bool {
    matches!(message, Message::Rep(_))
}

fn is_rtu(message: &Message) -> bool {
    matches!(message, Message::Rtu(_))
}

fn is_rej(message: &Message) -> bool {
    matches!(message, Message::Rej(_))
}

fn is_dreq(message: &Message) -> bool {
    matches!(message, Message::Dreq(_))
}

fn is_mra(message: &Message) -> bool {
    matches!(message, Message::Mra(_))
}

fn refused(event: Event) -> Refusal {
    let Event::Refused { refusal, .. } = event else { panic!("{event:?}") };
    refusal
}

/// One host says something to another.
fn say(net: &mut Network, from: usize, to: usize, message: Message) -> Heard {
    let mad = Mad { transaction: 1, message }.encode();
    let (target, source) = (host(to), host(from));
    let datagram = Datagram { target, source, identification: 0, pkey: 0xffff, psn: 0, mad };
    let now = net.now;
    net.managers[to].frame(&datagram.encode(), now)
}
