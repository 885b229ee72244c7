//! The provider as libfabric calls it, by the tables of its objects, over a simulated NIC with its viad. Both ends of each connection are on that NIC,
//! since a process has one. What unmodified programs make of it is `cargo xtask mpi`'s.

mod connections;
mod endpoints;
mod limits;
mod messages;
mod operations;
mod queues;
mod world;
