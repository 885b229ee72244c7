//! What the tests of viad share. They start the programs as users do, and need them built: `viad`, and `viaduct-sim`
//! (which the variable VIADUCT_SIM may name).

pub mod c;
pub mod child;
pub mod fuse;
pub mod program;
pub mod stage;
