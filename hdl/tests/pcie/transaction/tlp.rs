//! TLPs as bytes on the wire.

/// The root complex.
pub const HOST: u16 = 0x0001;

/// A configuration request of type 0 to `target`; a write with `data`.
pub fn configuration(target: u16, register: u16, enables: u8, tag: u8, data: Option<u32>) -> Vec<u8> {
    let mut bytes = vec![if data.is_some() { 0x44 } else { 0x04 }, 0, 0, 1];
    bytes.extend(HOST.to_be_bytes());
    bytes.extend([tag, enables]);
    bytes.extend(target.to_be_bytes());
    bytes.extend([(register >> 8) as u8, register as u8 & 0xFC]);
    bytes.extend(data.into_iter().flat_map(u32::to_le_bytes));
    bytes
}

/// A memory request; a write with `data`, a read of `length` double words.
pub fn memory(address: u64, tag: u8, length: usize, data: Option<&[u8]>) -> Vec<u8> {
    let long = address >> 32 != 0;
    let kind = u8::from(long) << 5 | u8::from(data.is_some()) << 6;
    let last_enables = if length == 1 { 0 } else { 0xF0 };
    let mut bytes = vec![kind, 0, (length >> 8) as u8 & 3, length as u8];
    bytes.extend(HOST.to_be_bytes());
    bytes.extend([tag, 0xF | last_enables]);
    bytes.extend(&address.to_be_bytes()[if long { 0 } else { 4 }..]);
    bytes.extend(data.into_iter().flatten());
    bytes
}

/// A completion for the function `to`.
pub fn completion(to: u16, tag: u8, data: &[u8]) -> Vec<u8> {
    let length = data.len() / 4;
    let kind = if data.is_empty() { 0x0A } else { 0x4A };
    let mut bytes = vec![kind, 0, (length >> 8) as u8 & 3, length as u8];
    bytes.extend(HOST.to_be_bytes());
    bytes.extend([(data.len() >> 8) as u8 & 0xF, data.len() as u8]);
    bytes.extend(to.to_be_bytes());
    bytes.extend([tag, 0]);
    bytes.extend(data);
    bytes
}

/// A message with this code and routing.
pub fn message(routing: u8, code: u8, data: &[u8]) -> Vec<u8> {
    let kind = if data.is_empty() { 0x30 } else { 0x70 } | routing;
    let mut bytes = vec![kind, 0, 0, (data.len() / 4) as u8];
    bytes.extend(HOST.to_be_bytes());
    bytes.extend([0, code]);
    bytes.extend([0; 8]);
    bytes.extend(data);
    bytes
}

/// Set_Slot_Power_Limit.
pub fn slot_power() -> Vec<u8> {
    message(4, 0x50, &[0x19, 0, 0, 0])
}

/// PME_Turn_Off.
pub fn turn_off() -> Vec<u8> {
    message(3, 0x19, &[])
}

/// PME_TO_Ack of a function.
pub fn turn_off_ack(from: u16) -> Vec<u8> {
    let mut bytes = vec![0x35, 0, 0, 0];
    bytes.extend(from.to_be_bytes());
    bytes.extend([0, 0x1B]);
    bytes.extend([0; 8]);
    bytes
}

/// Byte Count, as its 12 bits have it, and Lower Address of the completion without data of this request: those of a memory read say
/// the bytes from the first that is enabled to the last one.
pub fn read_extent(request: &[u8]) -> (u16, u8) {
    if request[0] & 0x5E != 0 {
        return (4, 0);
    }
    let (first, last) = (request[7] & 15, request[7] >> 4);
    let enabled = |enables: u8| (0..4u16).filter(move |byte| enables >> byte & 1 == 1);
    let begin = enabled(first).next().unwrap_or(0);
    let end = enabled(first).chain(enabled(last)).last().unwrap_or(0);
    let address = if request[0] & 0x20 == 0 { request[11] } else { request[15] };
    let length = u16::from_be_bytes([request[2] & 3, request[3]]);
    (
        (4 * length).wrapping_sub(4).wrapping_add(end + 1).wrapping_sub(begin) & 0xFFF,
        (address & 0x7C) + begin as u8,
    )
}

/// The answer of the function `from` to a request: with these 4 bytes, without, or refused.
pub fn answer(request: &[u8], from: u16, data: Option<u32>, refused: bool) -> Vec<u8> {
    let kind = match (data.is_some(), refused && request[0] & 0x1F == 1) {
        (true, _) => 0x4A,
        (false, true) => 0x0B,
        (false, false) => 0x0A,
    };
    let mut bytes = vec![kind, request[1] & 0x70, request[2] & 0x30, u8::from(data.is_some())];
    bytes.extend(from.to_be_bytes());
    let (count, lower) = if refused { read_extent(request) } else { (4, 0) };
    bytes.extend([u8::from(refused) << 5 | (count >> 8) as u8, count as u8]);
    bytes.extend([request[4], request[5], request[6], lower]);
    bytes.extend(data.into_iter().flat_map(u32::to_le_bytes));
    bytes
}
