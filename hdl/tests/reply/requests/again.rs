//! Requests that come again: the answer is made anew, from the request itself.

use super::{pieces, read, Read, World};

/// Rule RSP-1.
#[test]
fn a_request_that_comes_again_is_answered_from_itself() {
    let mut world = World::new();
    world.open(2, 0, 4);
    let original = read(2, 100, 1000); // PSNs 100 to 103
    let later = Read { msn: 8, ..read(2, 110, 600) }; // 110 to 112
    assert_eq!(world.ask(original), Some(4));
    assert_eq!(world.ask(later), Some(3));
    for piece in &pieces(original, 256)[..2] {
        assert_eq!(world.take(), Some(*piece));
    }
    // The rest of it, in the midst of its answer: what is behind it waits to be asked for again. One packet may be on show.
    let rest = Read { again: true, address: original.address + 256, length: 744, psn: 101, ..original };
    assert_eq!(world.ask(rest), Some(3));
    let mut seen = Vec::new();
    while let Some(piece) = world.take() {
        seen.push(piece);
    }
    if seen[0] == pieces(original, 256)[2] {
        seen.remove(0);
    }
    assert_eq!(seen, pieces(rest, 256));
    // And the later one, twice.
    for _ in 0..2 {
        let again = Read { again: true, ..later };
        assert_eq!(world.ask(again), Some(3));
        for piece in pieces(again, 256) {
            assert_eq!(world.take(), Some(piece));
        }
    }
    // Not of these: before, between, too long, behind.
    for (psn, length) in [(99, 1), (99, 300), (104, 1), (103, 300), (110, 1000), (113, 1)] {
        let strange = Read { again: true, ..read(2, psn, length) };
        assert_eq!(world.ask(strange), None, "{psn}, {length}");
    }
    // Three more: the original's slot is the oldest still. One more: it is not known any more.
    for n in 0..2 {
        assert_eq!(world.ask(read(2, 200 + n, 1)), Some(1));
        assert!(world.take().is_some());
    }
    assert_eq!(world.ask(rest), Some(3));
    for piece in pieces(rest, 256) {
        assert_eq!(world.take(), Some(piece));
    }
    assert_eq!(world.ask(read(2, 210, 1)), Some(1));
    assert!(world.take().is_some());
    assert_eq!(world.ask(rest), None);
    // A read of no bytes has a packet as well, before and after its answer.
    assert_eq!(world.ask(read(2, 220, 0)), Some(1));
    assert_eq!(world.take().map(|piece| (piece.psn, piece.length)), Some((220, 0)));
    assert_eq!(world.ask(Read { again: true, ..read(2, 220, 0) }), Some(1));
    assert_eq!(world.take().map(|piece| (piece.psn, piece.length)), Some((220, 0)));
}

/// What waits behind a read that comes again is forgotten, for it is asked for again: a read of no bytes, too.
#[test]
fn a_read_of_no_bytes_that_was_forgotten_is_answered_when_it_comes_again() {
    let mut world = World::new();
    world.open(2, 0, 4);
    assert_eq!(world.ask(read(2, 100, 1000)), Some(4));
    assert_eq!(world.ask(read(2, 104, 0)), Some(1));
    assert_eq!(world.ask(Read { again: true, ..read(2, 100, 1000) }), Some(4));
    assert_eq!(world.ask(Read { again: true, ..read(2, 104, 0) }), Some(1));
}
