//! Opcodes of what answers a request, at either end.

use viaduct_spec::wire::opcode;

/// Whether an opcode answers a request.
pub fn is_answer(code: u8) -> bool {
    (opcode::RC_READ_RESPONSE_FIRST..=opcode::RC_ACKNOWLEDGE).contains(&code)
}

/// The opcode of packet `number` of the answer, of `packets`, to an RDMA read.
pub fn response_opcode(number: u32, packets: u32) -> u8 {
    match (number == 0, number + 1 == packets) {
        (true, true) => opcode::RC_READ_RESPONSE_ONLY,
        (true, false) => opcode::RC_READ_RESPONSE_FIRST,
        (false, false) => opcode::RC_READ_RESPONSE_MIDDLE,
        (false, true) => opcode::RC_READ_RESPONSE_LAST,
    }
}
