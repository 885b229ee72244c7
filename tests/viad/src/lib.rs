//! What the tests of viad share. They start the programs as users do, and need them built: `viad`, and `viaduct-sim`
//! (which the variable VIADUCT_SIM may name).

pub mod c;
pub mod child;
pub mod fuse;
pub mod hand;
pub mod honest;
pub mod host;
pub mod hostile;
pub mod pair;
pub mod program;
pub mod raw;
pub mod skip;
pub mod stage;
pub mod stopped;
pub mod wire;
