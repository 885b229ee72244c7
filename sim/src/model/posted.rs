//! Descriptors that are posted: what names them, and where they are.

use viaduct_spec::doorbell::token;

use super::place::Place;

/// A descriptor that is posted: what names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// The token.
    pub token: u64,
    /// Where the descriptor is.
    pub place: Place,
}

impl Posted {
    /// Of a token.
    pub fn new(word: u64) -> Self {
        let region = token::REGION.get(&[word]) as u16;
        Self { token: word, place: Place::Offset { region, offset: 64 * token::OFFSET.get(&[word]) } }
    }
}
