//! Descriptors that are posted: what names them, and where they are.

use viaduct_spec::doorbell::token;

use super::place::Place;

/// A descriptor that is posted: what names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// The token, SHORT 0.
    pub token: u64,
    /// Where the descriptor is.
    pub place: Place,
    /// The token says that the descriptor has one segment at most.
    pub short: bool,
}

impl Posted {
    /// Of a token.
    pub fn new(word: u64) -> Self {
        let region = token::REGION.get(&[word]) as u16;
        let place = Place::Offset { region, offset: 64 * token::OFFSET.get(&[word]) };
        let short = token::SHORT.get(&[word]) == 1;
        let mut word = [word];
        token::SHORT.put(&mut word, 0);
        Self { token: word[0], place, short }
    }
}
