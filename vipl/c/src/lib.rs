//! libvipl.
