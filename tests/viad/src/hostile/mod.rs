//! What hostile users of a viad do, over any NIC: each deed is a turn that is done again and again.

mod deeds;
mod flight;
mod pools;
mod told;

use std::{
    io::Write,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_driver::{
    kernel_agent::ErrorClass,
    viad::{
        place::Place,
        protocol::{Answer, Welcome},
    },
};

use crate::{raw::Raw, stage::LONG};

pub use self::{pools::bad_pools, told::Told};

/// The deeds, by their names.
pub const DEEDS: [&str; 7] = ["handles", "numbers", "rings", "requests", "messages", "connections", "pools"];
/// One more: much is under way all the time. Who is killed there has DMA in flight.
pub const FLIGHT: &str = "flight";
/// What [`go_on`] says when its first turn is done.
pub const HOSTILE: &str = "hostile";

/// The turn of a deed, against the viad at a place and one of its users of whom this was told.
///
/// # Panics
/// There is no such deed; the turn itself panics where viad lets it have what it is not to have.
pub fn turn(deed: &str, place: &Place, told: Told) -> Box<dyn FnMut()> {
    let seed: u64 = rand::random();
    println!("\n{deed}: seed {seed:#x}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let at = place.clone();
    match deed {
        "handles" => Box::new(deeds::handles(place, told)),
        "numbers" => Box::new(deeds::numbers(place, told, random)),
        "rings" => Box::new(move || deeds::rings(&at, &mut random)),
        "requests" => Box::new(deeds::requests(place, random)),
        "messages" => Box::new(deeds::messages(place)),
        "connections" => Box::new(deeds::connections(place, told, random)),
        "pools" => Box::new(move || pools::turn(&at)),
        FLIGHT => Box::new(flight::flight(place)),
        _ => panic!("{deed}: there is no such deed"),
    }
}

/// Does these by turns until it is killed. When each has had its first, it says [`HOSTILE`].
///
/// # Panics
/// As a turn does.
pub fn go_on(deeds: &[&str], place: &Place, told: Told) -> ! {
    let mut turns: Vec<_> = deeds.iter().map(|deed| turn(deed, place, told)).collect();
    turns.iter_mut().for_each(|turn| turn());
    println!("\n{HOSTILE}");
    std::io::stdout().flush().expect("a pipe");
    loop {
        turns.iter_mut().for_each(|turn| turn());
    }
}

/// A session by hand, as [`Raw::hello_at`]. One that the same user had a moment ago may count still: then it waits for its end.
fn greet(place: &Place) -> (Raw, Welcome, Vec<OwnedFd>) {
    let start = Instant::now();
    loop {
        match Raw::greet(place) {
            (raw, Some((Ok(Answer::Welcome(welcome)), files))) => return (raw, welcome, files),
            (_, Some((Err(refusal), _)))
                if refusal.class == ErrorClass::Resource && start.elapsed() < LONG =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            (_, other) => panic!("{other:?}"),
        }
    }
}
