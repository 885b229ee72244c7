//! Opcodes of requests: which part of a message a packet is.

use viaduct_spec::wire::opcode;

/// It is of an RDMA write.
pub fn is_write(part: u8) -> bool {
    (opcode::RC_WRITE_FIRST..=opcode::RC_WRITE_ONLY_IMMEDIATE).contains(&part)
}

/// It carries immediate data.
pub fn has_immediate(part: u8) -> bool {
    [
        opcode::RC_SEND_LAST_IMMEDIATE,
        opcode::RC_SEND_ONLY_IMMEDIATE,
        opcode::RC_WRITE_LAST_IMMEDIATE,
        opcode::RC_WRITE_ONLY_IMMEDIATE,
    ]
    .contains(&part)
}

/// A message begins with it.
pub fn begins(part: u8) -> bool {
    [
        opcode::RC_SEND_FIRST,
        opcode::RC_SEND_ONLY,
        opcode::RC_SEND_ONLY_IMMEDIATE,
        opcode::RC_WRITE_FIRST,
        opcode::RC_WRITE_ONLY,
        opcode::RC_WRITE_ONLY_IMMEDIATE,
        opcode::RC_READ_REQUEST,
    ]
    .contains(&part)
}

/// It names memory of the peer's.
pub fn has_reth(part: u8) -> bool {
    begins(part) && part >= opcode::RC_WRITE_FIRST
}

/// Address, key and bytes that it names.
pub fn reth(body: &[u8]) -> (u64, u32, usize) {
    let be = |at: usize| u32::from_be_bytes(body[at..at + 4].try_into().expect("four bytes"));
    (u64::from(be(0)) << 32 | u64::from(be(4)), be(8), be(12) as usize)
}
