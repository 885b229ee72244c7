//! A frame that has come: whose is it?

use viaduct_spec::handle::queue_pair;
use viaduct_spec::tables::{receive, service};
use viaduct_spec::wire::opcode;

use super::frame::{Reading, AGENT_QUEUE_PAIR};
use super::response::is_answer;
use super::tables::{is_reliable, Tables};

/// What a packet is for its VI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A packet to an unreliable VI.
    Unreliable,
    /// A request to a reliable one.
    Request,
    /// An answer to one.
    Answer,
}

/// The VI that a packet is for, if its peer has sent it and its class fits the VI's service.
pub fn receiver(reading: &Reading, tables: &Tables) -> Option<(usize, Class)> {
    let number = [reading.queue_pair.into()];
    let vi = queue_pair::VI.get(&number) as usize;
    let row = tables.receive.get(vi).filter(|_| reading.queue_pair != AGENT_QUEUE_PAIR)?;
    let code = row.get(receive::SERVICE) as u8;
    let class = match reading.packet.opcode & opcode::UC_SEND_FIRST {
        0 if is_answer(reading.packet.opcode) => Class::Answer,
        0 => Class::Request,
        _ => Class::Unreliable,
    };
    // FRAME-10: queue pair, generation, peer and service.
    let fits = match class {
        Class::Unreliable => code == service::UNRELIABLE,
        Class::Request | Class::Answer => is_reliable(code),
    };
    let peer = row.get(receive::GENERATION) == queue_pair::GENERATION.get(&number)
        && row.get(receive::PEER_IP) == u64::from(reading.source_ip);
    (fits && peer).then_some((vi, class))
}
