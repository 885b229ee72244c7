//! How one sleeps until an interrupt, and misses none.

use std::time::Duration;

/// How long one sleeps before one asks whether the device still lives.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Interrupt vectors that one can sleep on.
pub trait Vectors {
    /// How often a vector was raised, as far as one can tell; None where one polls.
    fn generation(&self, vector: u8) -> Option<u64>;
    /// Sleeps until `vector` is raised again after [`Vectors::generation`] was `seen`, at most for `timeout`. Whether it was. A vector has
    /// many users, each of whom looks and asks anew behind each: [`turn`].
    fn sleep(&self, vector: u8, seen: u64, timeout: Duration) -> bool;
    /// Wakes all of this process that sleep on `vector`, as an interrupt would: what they wait for is there, or they are to wait no
    /// longer. What they find then was done before this call.
    fn wake(&self, vector: u8);
}

/// What came of one turn of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn<T> {
    /// It is there.
    Found(T),
    /// No time was left.
    Over,
    /// There are no interrupts: who waits polls.
    Polls,
    /// It slept. Whether the vector was raised, which shows that the device lives.
    Slept(bool),
}

/// Looks for something that the NIC brings, and sleeps until the next interrupt of `vector` if it is not there. Who waits for longer takes
/// one turn after the other. No interrupt is missed:
/// 1. The generation of the vector is read before `arm` stores the arm word. The interrupt that answers the arm
///    word comes later, and ends the sleep even if it comes before the sleep begins.
/// 2. The NIC raises the vector when what is looked for is there before it sees the arm word, and when it comes
///    behind it; in both cases it has written it before. So whoever is woken sees it.
/// 3. The look behind the generation finds what somebody brought without the NIC, and woke the vector for, before the generation was read. It
///    spares the sleep, too, where the NIC has brought it already. It must not come before the generation is read: then an
///    interrupt between the two would count as seen.
///
/// `left` says how long it may sleep; nothing when the wait is given up. Who gives it up, or brings what is looked for without the NIC, wakes
/// the vector after that ([`Vectors::wake`]).
///
/// # Errors
/// Those of `arm` and `look`.
pub fn turn<T, E>(
    vectors: &(impl Vectors + ?Sized),
    vector: u8,
    left: impl FnOnce() -> Duration,
    arm: impl FnOnce() -> Result<(), E>,
    look: impl FnOnce() -> Result<Option<T>, E>,
) -> Result<Turn<T>, E> {
    let seen = vectors.generation(vector);
    // Behind the generation: who gives up wakes after he has said so.
    let left = left();
    if left.is_zero() {
        return Ok(Turn::Over);
    }
    let Some(seen) = seen else { return Ok(Turn::Polls) };
    arm()?;
    Ok(match look()? {
        Some(found) => Turn::Found(found),
        None => Turn::Slept(vectors.sleep(vector, seen, left)),
    })
}
