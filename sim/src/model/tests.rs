//! Tests of the model alone.
