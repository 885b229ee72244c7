//! A model of what a descriptor means: the accesses and packets that must come of it.

use std::collections::VecDeque;

use viaduct_spec::descriptor::{control, control_segment, data_segment, status};

use super::descriptor::{Descriptor, Made, Segment};
use super::memory::{byte, FAILED, REFUSED};
use super::Context;
use crate::port::{fields, Fields};

/// Bytes of a packet's part: its accesses are asked for when there is room for so many.
pub const PART: u64 = 2048;

/// One access expected, and how memory will answer.
pub struct Expected {
    pub fields: Fields,
    pub data: Vec<u8>,
    pub refused: bool,
    pub failed: bool,
}

/// One packet expected.
#[derive(Default)]
pub struct Announced {
    pub fields: Fields,
    pub payload: Vec<u8>,
    pub refused: bool,
    pub failed: bool,
}

/// What must come of all descriptors, in order.
#[derive(Default)]
pub struct Expectation {
    pub accesses: VecDeque<Expected>,
    pub packets: VecDeque<Announced>,
}

impl Expectation {
    /// What must come of a descriptor.
    pub fn of(&mut self, (descriptor, segments, length): &Made, context: &Context) {
        let head = &descriptor.head;
        if head["epoch"] == 1 {
            return;
        }
        if head["lost"] == 1 {
            self.ends(descriptor, 1, 0);
        } else if !context.connected {
            self.ends(descriptor, 1, status::DESC_FLUSHED_ERROR);
        } else if let Some(errors) = self.judge(descriptor, segments, *length, context) {
            self.ends(descriptor, 1, errors);
        } else {
            self.cut(descriptor, segments, *length, context);
        }
    }

    /// It ends without another byte.
    fn ends(&mut self, descriptor: &Descriptor, first: u64, errors: u32) {
        let head = &descriptor.head;
        let fields = fields(&[
            ("vi", head["vi"]),
            ("send", 0),
            ("first", first),
            ("last", 1),
            ("region", head["region"]),
            ("offset", head["offset"]),
            ("errors", errors.into()),
            ("operation", if errors == 0 { 0 } else { operation(descriptor) }),
            ("lost", head["lost"]),
            ("restart", head["restart"]),
            ("psn", head["psn"]),
            ("epoch", head["epoch"]),
            ("reply", 0),
        ]);
        self.packets.push_back(Announced { fields, ..Default::default() });
    }

    /// What is wrong with it. Segments that did not come with the head are read on the way.
    fn judge(
        &mut self,
        descriptor: &Descriptor,
        segments: &[Segment],
        length: u64,
        context: &Context,
    ) -> Option<u32> {
        let (head, words) = (&descriptor.head, &descriptor.words);
        let flags = control_segment::CONTROL.get(words);
        let operation = operation(descriptor);
        let rdma = operation != u64::from(control::OP_SENDRECV);
        let count = control_segment::SEG_COUNT.get(words);
        if flags & u64::from(control::RESERVED) != 0
            || operation > u64::from(control::OP_RDMAREAD)
            || (rdma && (count == 0 || segments[0].length != 0))
            || control_segment::RESERVED.get(words) != 0
            || control_segment::STATUS.get(words) != 0
            || count > 252
            || descriptor.held < 4
            || (count >= 1 && descriptor.held < 6)
            || (count >= 2 && descriptor.held < 8)
        {
            return Some(status::FORMAT_ERROR);
        }
        if count > 2 {
            let held = descriptor.held.min(words.len());
            self.accesses.push_back(Expected {
                fields: fields(&[
                    ("address", head["offset"] * 64 + 64),
                    ("length", (count - 2) * 16),
                    ("region", head["region"]),
                    ("tag", context.tag),
                    ("by_offset", 1),
                    ("system", 0),
                    ("write", 0),
                    ("clip", 1),
                    ("remote", 0),
                ]),
                data: words[8..held.max(8)].iter().flat_map(|word| word.to_le_bytes()).collect(),
                refused: held <= 8,
                failed: descriptor.unread && held > 8,
            });
            if descriptor.unread && held > 8 {
                return Some(status::TRANSPORT_ERROR);
            }
            if held < words.len() {
                return Some(status::FORMAT_ERROR);
            }
        }
        // No VI of these tests may read, and what a raw frame must not have: known with the rest.
        let reads = operation == u64::from(control::OP_RDMAREAD);
        if reads || context.raw && (rdma || flags & u64::from(control::IMMEDIATE) != 0) {
            return Some(status::FORMAT_ERROR);
        }
        if segments.iter().map(|s| s.length).sum::<u64>() != length || length > context.max_transfer {
            return Some(status::LENGTH_ERROR);
        }
        if context.raw && !(14..=4200).contains(&length) {
            return Some(status::LENGTH_ERROR);
        }
        None
    }

    /// Packets of the path MTU; those to skip are not asked for.
    fn cut(&mut self, descriptor: &Descriptor, segments: &[Segment], length: u64, context: &Context) {
        let (head, words) = (&descriptor.head, &descriptor.words);
        let flags = control_segment::CONTROL.get(words);
        let operation = operation(descriptor);
        let mtu = if context.raw { 4200 } else { 256 << context.mtu };
        let mut left = length;
        let mut remote = fields(&[("operation", operation)]);
        if operation != u64::from(control::OP_SENDRECV) {
            let handle = data_segment::HANDLE.get(&words[4..6]);
            remote.extend(fields(&[("remote_address", segments[0].address), ("rkey", handle)]));
        }
        let mut skip = if head["restart"] == 1 { head["skip"] } else { 0 };
        let mut restart = head["restart"];
        let mut segments = segments.iter().filter(|s| s.length > 0);
        let mut current: Option<(&Segment, u64)> = None;
        loop {
            let bytes = left.min(mtu);
            let last = left <= mtu;
            let has_immediate = last && flags & u64::from(control::IMMEDIATE) != 0;
            let mut announced = Announced {
                fields: fields(&[
                    ("vi", head["vi"]),
                    ("send", 1),
                    ("first", (left == length).into()),
                    ("last", last.into()),
                    ("length", bytes),
                    ("has_immediate", has_immediate.into()),
                    ("restart", restart),
                    ("epoch", head["epoch"]),
                    ("reply", 0),
                ]),
                payload: vec![],
                refused: false,
                failed: false,
            };
            announced.fields.extend(remote.clone());
            if restart == 1 {
                announced.fields.insert("psn".into(), head["psn"]);
            }
            if has_immediate {
                announced.fields.insert("immediate".into(), control_segment::IMMEDIATE.get(words));
            }
            if last {
                announced.fields.extend(fields(&[
                    ("region", head["region"]),
                    ("offset", head["offset"]),
                    ("message_length", length),
                    ("errors", 0),
                    ("lost", 0),
                ]));
            }
            let mut packet_left = bytes;
            while packet_left > 0 {
                let (segment, done) = current.take().unwrap_or_else(|| (segments.next().unwrap(), 0));
                // The part of 2048 bytes in which the piece begins.
                let part_left = PART - (bytes - packet_left) % PART;
                let piece = (segment.length - done).min(packet_left).min(part_left);
                let address = segment.address + done;
                let mut data: Vec<u8> = (0..piece).map(|n| byte(segment.region, address + n)).collect();
                let (refused, failed) = (segment.region == REFUSED, segment.region == FAILED);
                announced.refused |= refused;
                announced.failed |= failed;
                announced.payload.extend(&data);
                if refused {
                    data.clear();
                }
                if failed {
                    data.truncate(piece as usize / 2);
                }
                let access = Expected {
                    fields: fields(&[
                        ("address", address),
                        ("length", piece),
                        ("region", segment.region),
                        ("key", segment.key),
                        ("tag", context.tag),
                        ("by_offset", 0),
                        ("system", 0),
                        ("write", 0),
                        ("clip", 0),
                        ("remote", 0),
                    ]),
                    data,
                    refused,
                    failed,
                };
                if skip == 0 {
                    self.accesses.push_back(access);
                }
                packet_left -= piece;
                current = (done + piece < segment.length).then_some((segment, done + piece));
            }
            left -= bytes;
            if skip == 0 {
                self.packets.push_back(announced);
                restart = 0;
                if last {
                    return;
                }
            } else if last {
                // It was longer when its packets were acknowledged.
                return self.ends(descriptor, 0, status::TRANSPORT_ERROR);
            } else {
                skip -= 1;
            }
        }
    }
}

/// Words that its region does not hold read 0.
fn operation(descriptor: &Descriptor) -> u64 {
    match descriptor.held {
        0..2 => 0,
        _ => control_segment::CONTROL.get(&descriptor.words) & u64::from(control::OP_MASK),
    }
}
