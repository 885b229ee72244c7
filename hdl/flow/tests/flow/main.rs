//! The gates themselves: each must refuse what it is there for.

mod gate;
mod prove;
