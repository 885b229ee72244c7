//! Every layout of Viaduct, each defined once: the RTL, the driver, the library, the simulator and
//! the tables in docs/ all come from here.

pub mod cm;
pub mod config_space;
pub mod descriptor;
pub mod doorbell;
pub mod handle;
pub mod inside;
pub mod layout;
pub mod packet;
pub mod pcie_link;
pub mod profile;
pub mod reference;
pub mod refusal;
pub mod register;
pub mod rows;
pub mod tables;
pub mod tlp;
pub mod wire;
