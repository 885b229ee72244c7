//! The data link layer: alone with symbols written by hand, and with a link partner and its monitor through a mac in software.

mod arrivals;
mod checks;
mod credits;
mod damage;
mod garbage;
mod grants;
mod initialisation;
mod load;
mod power;
mod recovery;
mod replays;
mod world;
