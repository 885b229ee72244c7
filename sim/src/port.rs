//! What is at a port of a network.

use std::time::Instant;

use crate::endpoint::Endpoint;
use crate::function::Function;
use crate::model::{Choices, Model};
use crate::nic::Nic;
use crate::slot::Slot;

/// What is at a port of a network.
pub enum Port {
    /// A NIC with pins.
    Nic(Box<dyn Nic>),
    /// The functional model.
    Model(Choices),
}

/// What is at a port, and what only one kind of it has: a NIC with pins a root complex of its own, a model its choices.
pub enum End {
    /// A NIC with pins.
    Nic(Box<Slot>),
    /// The functional model.
    Model(Box<Model>),
}

impl End {
    /// What is stepped.
    pub fn function(&self) -> &dyn Function {
        match self {
            Self::Nic(slot) => slot.as_ref(),
            Self::Model(model) => model.as_ref(),
        }
    }

    /// What is stepped.
    pub fn function_mut(&mut self) -> &mut dyn Function {
        match self {
            Self::Nic(slot) => slot.as_mut(),
            Self::Model(model) => model.as_mut(),
        }
    }

    /// Its host's side.
    pub fn endpoint(&mut self) -> &mut dyn Endpoint {
        self.function_mut().endpoint_mut()
    }

    /// When [`RootComplex::look_at_wall`](crate::root_complex::RootComplex::look_at_wall) has something to do.
    pub fn wall_deadline(&self) -> Option<Instant> {
        match self {
            Self::Nic(slot) => slot.root_complex_now().wall_deadline(),
            Self::Model(_) => None,
        }
    }
}
