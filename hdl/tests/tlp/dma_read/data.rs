//! Data of the engine: each beat must be the next bytes.

use viaduct_hdl::bus::ReadBeat;

use super::command::Fate;
use super::host::Host;
use crate::beat::memory;
use crate::bundle::Bundle;

impl Host {
    /// A beat of data must be the next bytes of the oldest piece.
    pub fn data(&mut self) {
        let bundle = Bundle::of::<ReadBeat>("beat");
        let get = |name| bundle.get(&self.bench, name);
        let (client, user) = (get("client"), get("user"));
        let (data, start, count) = (get("data").to_le_bytes(), get("start"), get("count"));
        let [last, refused, failed] = ["last", "refused", "failed"].map(|name| get(name) == 1);
        let piece = self.pieces.front().expect("data nobody asked for").clone();
        let command = piece.command;
        assert_eq!((client, user), (command.client, command.user));
        assert_eq!(refused, command.refused);
        let fault = !command.refused && piece.fate != Fate::Good;
        let mut ends = true;
        // What had come of a read before it failed; its last row never.
        let early = fault && !failed && piece.length - self.out > 8 - start;
        self.early += u64::from(early);
        if command.refused || (fault && !early) {
            assert_eq!(count, 0);
            assert_eq!(failed, fault, "{piece:?}");
            assert_eq!(last, piece.last);
        } else {
            let at = piece.address + self.out;
            assert_eq!(start, at % 8);
            let rest = piece.length - self.out;
            let want = rest.min(8 - start);
            ends = want == rest;
            assert_eq!(last, ends && piece.last);
            assert_eq!(failed, self.spoiled && last, "a fault shows again at the end");
            assert!(!(early && last));
            if failed {
                assert_eq!(count, 0);
            } else {
                assert_eq!(count, want, "{piece:?} {}", self.out);
                for k in 0..count {
                    assert_eq!(data[(start + k) as usize], memory(at + k), "byte {:#x} of {piece:?}", at + k);
                }
            }
            self.out += want;
        }
        self.spoiled = !last && (self.spoiled || (fault && !early));
        if self.bench.get("retire_valid") == 1 {
            assert!(ends && piece.done);
            let epoch = self.bench.get("retire");
            assert_eq!(epoch, u64::from(command.epoch));
            self.retired[epoch as usize] += 1;
        } else {
            assert!(!(ends && piece.done), "a command that does not retire: {piece:?}");
        }
        if ends {
            if !command.refused && piece.fate != Fate::Open {
                let tag = self.tags.pop_front().unwrap();
                self.in_use[tag as usize] = false;
                if piece.fate == Fate::Missing {
                    self.dead[tag as usize] = true;
                }
            }
            self.pieces.pop_front();
            self.sent = self.sent.saturating_sub(1);
            self.out = 0;
        }
    }
}
