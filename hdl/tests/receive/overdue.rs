//! Store: a frame that is set aside, and keeps so much that others wait for it, is overdue after 2^14 cycles.

use viaduct_hdl::receive::Fate;

use super::shown::{decide, Info};
use super::store::{free, Rig};

/// How long others wait.
const PATIENCE: u64 = 1 << 14;
/// Cycles to pass over every place, and to notice.
const SCAN: u64 = 24;

impl Rig {
    /// This becomes of the frame on show.
    fn say(&mut self, fate: Fate) {
        self.bench.eval();
        assert_eq!(self.bench.get("show_valid"), 1);
        decide(&mut self.bench, Some(fate));
        self.bench.tick();
        decide(&mut self.bench, None);
        self.bench.eval();
    }

    /// Writes a large frame's words; from which cycle on half of the ring is in use.
    fn fill(&mut self, decide: Option<bool>) -> u64 {
        let (bytes, info) = self.frame(4100);
        let mut since = None;
        for word in bytes.chunks(8) {
            self.bench.set("store_valid", 1);
            self.bench.set("store", u64::from_le_bytes(word.try_into().unwrap()));
            self.bench.tick();
            self.bench.eval();
            since = since.or((self.bench.get("level") >= 1024).then(|| self.bench.cycles()));
        }
        self.bench.set("store_valid", 0);
        if let Some(keep) = decide {
            self.finish(keep, &bytes, &info);
        }
        since.unwrap_or(0)
    }

    /// The frames on show are set aside until none is left.
    fn set_aside(&mut self, frames: usize) {
        for _ in 0..frames {
            while self.bench.get("show_valid") == 0 {
                self.bench.tick();
            }
            self.say(Fate::Aside);
        }
    }

    /// Cycles until a frame is on show; none if that takes longer than `most`.
    fn shown(&mut self, most: u64) -> Option<u64> {
        let begin = self.bench.cycles();
        loop {
            self.bench.eval();
            let passed = self.bench.cycles() - begin;
            if self.bench.get("show_valid") == 1 {
                return Some(passed);
            }
            if passed > most {
                return None;
            }
            assert_eq!(self.bench.get("show_overdue"), 0);
            self.bench.tick();
        }
    }
}

/// That long after this cycle the oldest frame is overdue.
#[track_caller]
fn overdue(rig: &mut Rig, since: u64) {
    let begin = rig.bench.cycles() - since;
    let passed = rig.shown(2 * PATIENCE).expect("it is never shown again") + begin;
    assert!((PATIENCE..PATIENCE + SCAN).contains(&passed), "after {passed} cycles");
    assert_eq!(rig.bench.get("show_overdue"), 1);
}

/// Rule FRAME-12.
#[test]
fn who_crowds_the_store_is_overdue_in_time() {
    // Two frames fill half of it.
    let mut rig = Rig::new();
    rig.fill(Some(true));
    rig.set_aside(1);
    let since = rig.fill(Some(true));
    rig.set_aside(1);
    overdue(&mut rig, since);

    // Nine are more than half of the places.
    let (mut rig, mut since, frames) = (Rig::new(), 0, 11);
    for frame in 1..=frames {
        assert!(rig.write(8, true));
        if frame == 9 {
            since = rig.bench.cycles();
        }
        rig.set_aside(1);
    }
    overdue(&mut rig, since);
    // It stays so as long as it stays.
    for _ in 0..2 {
        rig.say(Fate::Left);
        assert_eq!((rig.bench.get("show_valid"), rig.bench.get("show_overdue")), (1, 1));
    }
    // The next one gets its time.
    let since = rig.bench.cycles();
    rig.say(Fate::Dropped);
    assert_eq!((rig.bench.get("show_valid"), rig.bench.get("show_overdue")), (1, 0));
    rig.set_aside(frames - 1);
    overdue(&mut rig, since);
}

#[test]
fn who_leaves_room_is_never_overdue() {
    // Half of the places, and less than half of the words.
    let mut rig = Rig::new();
    for _ in 0..8 {
        assert!(rig.write(900, true));
        rig.set_aside(1);
    }
    assert_eq!(rig.shown(2 * PATIENCE), None);
}

/// Words that are taken back do not count any more, nor does the time that they were there.
#[test]
fn time_counts_while_the_store_is_crowded() {
    let mut rig = Rig::new();
    rig.fill(Some(true));
    rig.set_aside(1);
    for keep in [false, true] {
        // Too many words, for less than the time.
        let since = rig.fill(None);
        if keep {
            overdue(&mut rig, since);
        } else {
            assert_eq!(rig.shown(PATIENCE * 3 / 4), None);
            rig.bench.set("drop", 1);
            rig.bench.tick();
            rig.bench.set("drop", 0);
            assert_eq!(rig.shown(100), None);
        }
    }
}

/// Two frames: the older is in delivery, the younger is dropped. When the older is done all is free, whenever that is: also in the cycle
/// in which a scan passes the younger.
#[test]
fn what_is_done_is_free_whenever_it_is_done() {
    for gap in 0..8 {
        let mut rig = Rig::new();
        assert!(rig.write(100, true) && rig.write(100, true));
        rig.bench.tick();
        rig.bench.eval();
        let place = Info::get(&rig.bench, "show_info").place;
        rig.say(Fate::Taken);
        while rig.bench.get("show_valid") == 0 {
            rig.bench.tick();
        }
        rig.say(Fate::Dropped);
        (0..10).for_each(|_| rig.bench.tick());
        // A scan begins; the older one's delivery ends so many cycles later.
        for cycle in 0..=gap {
            rig.bench.set("resume", (cycle == 0).into());
            if cycle == gap {
                free(&mut rig.bench, place);
            }
            rig.bench.tick();
        }
        rig.bench.set("resume", 0);
        rig.bench.set("free_valid", 0);
        (0..100).for_each(|_| rig.bench.tick());
        rig.bench.eval();
        assert_eq!((rig.bench.get("holds"), rig.bench.get("level")), (0, 0), "{gap} cycles behind resume");
    }
}
