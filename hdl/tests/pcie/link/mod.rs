//! The data link layer: alone with symbols written by hand, and with a link partner and its monitor through a mac in software.

mod arrivals;
mod checks;
mod damage;
mod garbage;
mod initialisation;
mod load;
mod recovery;
mod world;
