//! The link partner's tests: two of them against each other, and the monitor.

mod bench;
mod damage;
mod garbage;
mod generation;
mod load;
mod monitor;
mod mutants;
mod power;
mod reset;
mod retrain;
mod rules;
mod script;
mod training;
mod unread;
