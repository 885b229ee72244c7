//! The registered memory of a NIC by its handles. Posts and looks find a registration here without a lock, and do not keep it alive.

use std::{
    array::from_fn,
    fmt,
    ptr::NonNull,
    sync::{
        atomic::{fence, AtomicU32, AtomicU64, AtomicUsize, Ordering},
        OnceLock,
    },
};

use viaduct_spec::{
    descriptor::{ALIGNMENT, CONTROL_SEGMENT_BYTES},
    doorbell::{self, token},
    handle::memory_handle,
};

/// Places of a chunk.
const CHUNK: usize = 256;
const CHUNKS: usize = (memory_handle::INDEX.mask() as usize + 1) / CHUNK;

/// A place for each index that a handle may name. Places stay as long as this does.
pub(crate) struct Registered([OnceLock<Box<[Place; CHUNK]>>; CHUNKS]);

/// What is registered with an index.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// Changes when memory is registered here, and when the registration ends; odd in between.
    life: AtomicU32,
    handle: AtomicU32,
    /// Address of the first descriptor that may lie there.
    first: AtomicUsize,
    /// Its token, at ring position 0.
    token: AtomicU64,
    /// How many may lie there, at [`ALIGNMENT`]; 0 where none may, as in memory that is read-only.
    room: AtomicUsize,
}

/// A registration, which may end at any time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Registration {
    place: NonNull<Place>,
    life: u32,
}

/// A registration, and which descriptors may lie in it. A queue keeps the one that its last post has found: most programs keep all descriptors
/// of a queue in one region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    handle: u32,
    /// As in [`Place`]. No room: nothing was found yet.
    first: usize,
    token: u64,
    room: usize,
    registration: Registration,
}

// SAFETY: the pointer is to atomics, and followed only while they are there: `is_live`.
unsafe impl Send for Registration {}
// SAFETY: as above.
unsafe impl Sync for Registration {}

impl Registered {
    pub(crate) fn new() -> Self {
        Self(from_fn(|_| OnceLock::new()))
    }

    fn place(&self, handle: u32) -> &Place {
        let (chunk, place) = split(handle);
        &self.0[chunk].get_or_init(|| Box::new(from_fn(|_| Place::default())))[place]
    }

    /// Memory is registered, with a handle that no other has. Descriptors may lie in it if `is_writable`.
    pub(crate) fn insert(&self, handle: u32, start: usize, length: usize, is_writable: bool) -> Registration {
        let place = self.place(handle);
        // Of more than a token can tell there is none, nor where an address may be NULL.
        let is_told = length < token::OFFSET.mask() as usize * ALIGNMENT;
        let first = start.next_multiple_of(ALIGNMENT);
        let room = if is_writable && is_told && start != 0 {
            length.saturating_sub(first - start + CONTROL_SEGMENT_BYTES - 1).div_ceil(ALIGNMENT)
        } else {
            0
        };
        // Whoever ends the one before may come late: from now on that has ended, and what is found meanwhile is nobody's.
        let life = place.life.load(Ordering::Relaxed).wrapping_add(1) & !1;
        place.life.store(life, Ordering::Relaxed);
        fence(Ordering::Release);
        place.handle.store(handle, Ordering::Relaxed);
        place.first.store(first, Ordering::Relaxed);
        // Offsets count from the multiple of the alignment that is not behind the memory's first byte.
        let offset = u64::from(first != start);
        let token = doorbell::encode((handle & memory_handle::INDEX.mask() as u32) as u16, offset, 0);
        place.token.store(token, Ordering::Relaxed);
        place.room.store(room, Ordering::Relaxed);
        let life = life | 1;
        place.life.store(life, Ordering::Release);
        Registration { place: place.into(), life }
    }

    /// The registration with a handle.
    pub(crate) fn find(&self, handle: u32) -> Option<Found> {
        let (chunk, place) = split(handle);
        let place = &self.0[chunk].get()?[place];
        let life = place.life.load(Ordering::Acquire);
        if life & 1 == 0 || place.handle.load(Ordering::Acquire) != handle {
            return None;
        }
        let (first, room) = (place.first.load(Ordering::Acquire), place.room.load(Ordering::Acquire));
        let token = place.token.load(Ordering::Acquire);
        // Unless it is another's by now.
        let is_same = place.life.load(Ordering::Relaxed) == life;
        let registration = Registration { place: place.into(), life };
        is_same.then_some(Found { handle, first, token, room, registration })
    }
}

impl Default for Found {
    /// Nothing was found yet.
    fn default() -> Self {
        let registration = Registration { place: NonNull::dangling(), life: 0 };
        Self { handle: 0, first: 0, token: 0, room: 0, registration }
    }
}

impl Found {
    /// The registration and the token, at ring position 0, of the descriptor at `address`, if the registration is the one with this handle, has not
    /// ended, and a descriptor may lie there.
    ///
    /// # Safety
    /// As [`Registration::is_live`].
    #[inline(always)]
    pub(crate) unsafe fn at(&self, handle: u32, address: usize) -> Option<(Registration, u64)> {
        // The bits of an address that is not aligned become the highest ones.
        let number = address.wrapping_sub(self.first).rotate_right(ALIGNMENT.ilog2());
        if handle != self.handle || number >= self.room {
            return None;
        }
        // SAFETY: there is room, so it was found once; and the caller's promise.
        if !unsafe { self.registration.is_live() } {
            return None;
        }
        // What is registered has less than the bytes that a token can tell: the sum does not reach the next field.
        Some((self.registration, self.token + number as u64))
    }
}

impl Registration {
    /// The registration ends: nobody looks at descriptors in its memory any more.
    ///
    /// # Safety
    /// As [`Registration::is_live`].
    pub(crate) unsafe fn end(self) {
        // SAFETY: the caller's promise.
        let place = unsafe { self.place.as_ref() };
        let _ = place.life.compare_exchange(
            self.life,
            self.life.wrapping_add(1),
            Ordering::Release,
            Ordering::Relaxed,
        );
    }

    /// The token, at ring position 0, of the descriptor at an address in its memory. If it has ended that names no descriptor, and the NIC, which
    /// looks at what it names, says so.
    ///
    /// # Safety
    /// As [`Registration::is_live`].
    pub(crate) unsafe fn token(self, address: usize) -> u64 {
        // SAFETY: the caller's promise.
        let Place { first, token, .. } = unsafe { self.place.as_ref() };
        let number = address.wrapping_sub(first.load(Ordering::Relaxed)) / ALIGNMENT;
        let sum = token.load(Ordering::Relaxed).wrapping_add(number as u64);
        token::REGION.of(token::REGION.get(&[sum])) | token::OFFSET.of(token::OFFSET.get(&[sum]))
    }

    /// Whether it has not ended.
    ///
    /// # Safety
    /// The [`Registered`] that it is of is there.
    #[inline]
    pub(crate) unsafe fn is_live(self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.place.as_ref() }.life.load(Ordering::Acquire) == self.life
    }
}

#[inline]
fn split(handle: u32) -> (usize, usize) {
    let index = (handle & memory_handle::INDEX.mask() as u32) as usize;
    (index / CHUNK, index % CHUNK)
}

const _: () = assert!(memory_handle::INDEX.lo == 0, "the index is the handle's low bits");

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_is_found_as_long_as_it_lasts_and_where_a_descriptor_fits() {
        let all = Registered::new();
        // SAFETY: the table is there.
        let find = |handle, address| unsafe { all.find(handle)?.at(handle, address) }.map(|(_, token)| token);
        let (old, new) = (0x7777_0105, 0x8888_0105);
        assert!(find(old, 4096).is_none(), "nothing was ever registered there");
        let first = all.insert(old, 4096, 100, true);
        // SAFETY: the table is there, here and below.
        assert!(unsafe { first.is_live() });
        for (address, fits) in [
            (4095, false),
            (4096, true),
            (4096 + 64, true),
            (4096 + 4, false),
            (4096 + 128, false),
            (0, false),
        ] {
            assert_eq!(find(old, address).is_some(), fits, "{address}");
        }
        assert!(find(new, 4096).is_none(), "another key");
        // SAFETY: as above.
        unsafe { first.end() };
        // SAFETY: as above.
        assert!(!unsafe { first.is_live() } && find(old, 4096).is_none());
        let second = all.insert(new, 8192, 100, true);
        // SAFETY: as above. It ended before: that is no end of the other.
        unsafe { first.end() };
        // SAFETY: as above.
        assert!(unsafe { second.is_live() && !first.is_live() });
        let kept = all.find(new).expect("it is registered");
        // SAFETY: as above.
        assert!(unsafe { kept.at(old, 8192) }.is_none(), "another handle");
        assert_eq!(find(new, 8192 + 64), Some(doorbell::encode(0x105, 1, 0)));
        // SAFETY: as above.
        assert_eq!(unsafe { second.token(8192 + 64) }, doorbell::encode(0x105, 1, 0));
        let odd = all.insert(0x1_0108, 4097 + 64, 1000, true);
        // SAFETY: as above.
        let token = unsafe { odd.token(4096 + 128) };
        assert_eq!(token, doorbell::encode(0x108, 1, 0), "the base is rounded down");
        for (address, offset) in [(4160, None), (4224, Some(1)), (5120, Some(15)), (5184, None)] {
            let token = offset.map(|offset| doorbell::encode(0x108, offset, 0));
            assert_eq!(find(0x1_0108, address), token, "{address}");
        }
        all.insert(0x1_0106, 4096, 100, false);
        all.insert(0x1_0107, 4096, 10, true);
        assert!(find(0x1_0106, 4096).is_none(), "it is read-only");
        assert!(find(0x1_0107, 4096).is_none(), "it is too short");
    }

    #[test]
    fn who_finds_one_while_another_takes_its_place_has_all_of_one_or_nothing() {
        const TURNS: u32 = if cfg!(miri) { 100 } else { 20_000 };
        let all = Registered::new();
        // The handles of one place, and where their memory begins: far apart.
        let of = |turn: u32| (0x0001_0105 + (turn % 2) * 0x0001_0000, 4096 + (turn as usize % 2) * (1 << 40));
        let ends = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    for turn in 0..2 {
                        let (handle, start) = of(turn);
                        // SAFETY: the table is there.
                        let found =
                            all.find(handle).and_then(|found| unsafe { found.at(handle, start + 64) });
                        if let Some((_, token)) = found {
                            assert_eq!(token, doorbell::encode(0x105, 1, 0));
                        }
                    }
                }
            });
            for turn in 0..TURNS {
                let (handle, start) = of(turn);
                let made = all.insert(handle, start, 4096, true);
                // SAFETY: the table is there.
                unsafe { made.end() };
            }
            ends.store(true, Ordering::Relaxed);
        });
    }
}
