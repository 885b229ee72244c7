//! A message through the model: packets as gather gives them, and what must come of them.

use rand::seq::IndexedRandom;
use rand::Rng;
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{service, vi_states};
use viaduct_spec::wire::opcode;

use super::{Expected, Given, World};
use crate::frames;
use crate::port::fields;

impl World {
    /// One message through the model: packets as gather gives them, and what must come of them.
    pub fn message(&mut self, n: u64, lengths: &[usize], wrong: bool) {
        let (write, again) = (self.rng.random_bool(0.4), self.rng.random_bool(0.3));
        self.message_of(n, lengths, wrong, write, again && !wrong);
    }

    /// The same: an RDMA write or a send, with a rewind in between or not.
    pub fn message_of(&mut self, n: u64, lengths: &[usize], wrong: bool, write: bool, again: bool) {
        let rng = &mut self.rng;
        let vi = &mut self.vis[n as usize];
        let reliable = ![service::UNRELIABLE, service::RAW].contains(&vi.service);
        // A frame is all there is to a raw one.
        let raw = vi.service == service::RAW;
        let single = [match rng.random_range(0..4) {
            0 => rng.random_range(14..40),
            1 => rng.random_range(4090..=4200),
            _ => rng.random_range(14..400),
        }];
        let lengths = if raw { &single[..] } else { lengths };
        let write = write && !raw;
        let immediate: Option<u32> = (!raw && rng.random()).then(|| rng.random());
        let (region, offset) = (rng.random_range(0..1 << 16), rng.random_range(0..1 << 34));
        let total: usize = lengths.iter().sum();
        let (mut error, mut broken, mut left) = (0, false, 0);
        let write: Option<(u64, u32)> = write.then(|| (rng.random(), rng.random()));
        let operation = if write.is_some() { control::OP_RDMAWRITE } else { control::OP_SENDRECV };
        let mut end = fields(&[
            ("vi", n),
            ("region", region),
            ("offset", offset),
            ("lost", 0),
            ("ends", 1),
            ("operation", operation.into()),
        ]);
        // Gather ends the message instead of a packet, sometimes.
        let cut = (wrong && rng.random_bool(0.2)).then(|| rng.random_range(0..lengths.len()));
        // The packets, each by its number. A rewind cuts a message off: its other packets are of the past, and some of
        // all come again; or it was rewound to the middle of before.
        let all = lengths.len();
        let (mut order, mut stale, mut restart): (Vec<usize>, _, _) = ((0..all).collect(), 0..0, None);
        if reliable && again && vi.state == vi_states::CONNECTED {
            let turn = rng.random_range(0..=all);
            let from = rng.random_range(0..=turn.min(all - 1));
            order.extend(from..all);
            (stale, restart) = (turn..all, Some(all));
        }
        let first_psn = vi.psn;
        for (turn, k) in order.into_iter().enumerate() {
            let length = &lengths[k];
            let (first, last) = (k == 0, k + 1 == lengths.len());
            let mut packet = fields(&[
                ("vi", n),
                ("first", first.into()),
                ("region", region),
                ("offset", offset),
                ("operation", operation.into()),
                ("epoch", stale.contains(&turn).into()),
                // Only with `restart` does it count.
                ("psn", rng.random_range(0..1 << 24)),
            ]);
            if let Some((address, rkey)) = write {
                packet.extend(fields(&[("remote_address", address), ("rkey", rkey.into())]));
            }
            if restart == Some(turn) {
                vi.psn = (first_psn + k as u64) & 0xff_ffff;
                packet.extend(fields(&[("restart", 1), ("psn", vi.psn)]));
            }
            if cut == Some(k) {
                // Gather finds that it was longer before.
                let shrunk = !first && vi.state == vi_states::CONNECTED && rng.random();
                let errors = if shrunk {
                    status::TRANSPORT_ERROR
                } else if !first || vi.state != vi_states::CONNECTED {
                    status::DESC_FLUSHED_ERROR
                } else {
                    // Of these, segments that could not be read are a transport error.
                    *[
                        status::FORMAT_ERROR,
                        status::LENGTH_ERROR,
                        status::TRANSPORT_ERROR,
                        status::DESC_FLUSHED_ERROR,
                        0,
                    ]
                    .choose(rng)
                    .unwrap()
                };
                let unread = !shrunk && errors == status::TRANSPORT_ERROR;
                packet.extend(fields(&[
                    ("send", 0),
                    ("last", 1),
                    ("errors", errors.into()),
                    ("lost", (errors == 0).into()),
                    ("unread", unread.into()),
                ]));
                self.packets.push_back(Given { packet, payload: None });
                if error == 0 {
                    error = errors;
                    if errors == status::DESC_FLUSHED_ERROR && left > 0 {
                        error = status::TRANSPORT_ERROR;
                    } else if errors != status::DESC_FLUSHED_ERROR && errors != 0 {
                        broken = reliable && vi.state == vi_states::CONNECTED;
                    }
                }
                end.insert("lost".into(), (errors == 0).into());
                if broken {
                    self.faults.push_back((n, if shrunk { event_code::POST_DESC } else { 0 }));
                    vi.state = vi_states::ERROR;
                }
                end.extend(fields(&[("errors", error.into()), ("length", 0), ("acknowledged", 0)]));
                self.sent.push_back(end);
                return;
            }
            packet.extend(fields(&[("send", 1), ("last", last.into()), ("length", *length as u64)]));
            packet.insert("message_length".into(), total as u64);
            if last {
                if let Some(immediate) = immediate {
                    packet.extend(fields(&[("has_immediate", 1), ("immediate", immediate.into())]));
                }
            }
            let payload: Vec<u8> = (0..*length).map(|_| rng.random()).collect();
            let bad = wrong && *length > 0 && rng.random_bool(0.08);
            let refused = bad && rng.random();
            let failed = bad && (!refused || rng.random());
            let given = (*length > 0).then(|| {
                let kept = if bad { rng.random_range(0..=*length) } else { *length };
                (payload[..kept].to_vec(), refused, failed)
            });
            self.packets.push_back(Given { packet, payload: given });
            if error != 0 || stale.contains(&turn) {
                continue;
            }
            if vi.state != vi_states::CONNECTED {
                error = if left > 0 { status::TRANSPORT_ERROR } else { status::DESC_FLUSHED_ERROR };
                continue;
            }
            if bad {
                error = if refused { status::PROTECTION_ERROR } else { status::TRANSPORT_ERROR };
                if reliable {
                    self.faults.push_back((n, 0));
                    vi.state = vi_states::ERROR;
                }
                continue;
            }
            let extension = immediate.filter(|_| last);
            let code = match (first, last, extension) {
                (true, false, _) => opcode::UC_SEND_FIRST,
                (false, false, _) => opcode::UC_SEND_MIDDLE,
                (false, true, None) => opcode::UC_SEND_LAST,
                (false, true, Some(_)) => opcode::UC_SEND_LAST_IMMEDIATE,
                (true, true, None) => opcode::UC_SEND_ONLY,
                (true, true, Some(_)) => opcode::UC_SEND_ONLY_IMMEDIATE,
            };
            let code =
                if write.is_some() { code + opcode::UC_WRITE_FIRST - opcode::UC_SEND_FIRST } else { code };
            let frame = frames::Fields {
                opcode: if reliable { code - opcode::UC_SEND_FIRST } else { code },
                reth: write.filter(|_| first).map(|(address, rkey)| (address, rkey, total as u32)),
                ack_request: reliable && (last || vi.psn % 16 == 15),
                psn: vi.psn as u32,
                extension,
                payload,
            };
            self.frames.push_back(Expected {
                bytes: if raw { frame.payload.clone() } else { vi.headers.frame(&frame) },
                loopback: vi.loopback,
                vlan: if raw { [0; 4] } else { vi.headers.vlan },
            });
            left += 1;
            if last {
                end.insert("psn".into(), vi.psn);
                if turn + 1 == all && restart.is_some() {
                    // The first time.
                    let mut end = end.clone();
                    end.extend(fields(&[("errors", 0), ("length", total as u64), ("acknowledged", 1)]));
                    self.sent.push_back(end);
                }
            } else if reliable {
                self.sent.push_back(fields(&[
                    ("vi", n),
                    ("ends", 0),
                    ("psn", vi.psn),
                    ("length", total as u64),
                    ("operation", operation.into()),
                ]));
            }
            vi.psn = (vi.psn + 1) & 0xff_ffff;
        }
        end.extend(fields(&[
            ("errors", error.into()),
            ("length", if error == 0 { total as u64 } else { 0 }),
            ("acknowledged", (reliable && error == 0).into()),
        ]));
        self.sent.push_back(end);
    }
}
