//! The root complex against packets that a test makes.

mod edge;
mod faults;
mod host;
mod interrupts;
mod messages;
mod requests;
mod resets;
mod unkind;

use super::*;
use edge::{read, write, Edge, BASE};
