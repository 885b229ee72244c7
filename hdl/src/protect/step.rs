//! The steps of an access in [`Protect`](super::Protect). In Idle, or in the last step of the access before, an access is looked up.
//!
//! ```text
//!  Idle ─► Compare ─► Place ─► Issue ─► Idle
//!                                └─► Turn ─► Second ─► Idle       (an access that crosses into the next page)
//! ```
//! Latency: 1 cycle a step; Issue and Second last until the command has its place. Example: a write within one page goes through Compare,
//! Place and Issue. Tests: with the whole, `tests/protect/`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub(super) enum Step {
    /// No access is half way.
    Idle,
    /// The distances and the position are there.
    Compare,
    /// The range is known: read the page.
    Place,
    /// The page is there: issue.
    Issue,
    /// Read the next page.
    Turn,
    /// The next page is there: issue the rest.
    Second,
}
