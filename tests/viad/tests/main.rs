//! viad and its clients, one program: it is linked once. Each test runs in a process of its own all the same (nextest).

mod bridge;
mod clients;
mod connections;
mod endpoints;
mod examples;
mod heap;
mod hostile;
mod kills;
mod log;
mod look;
mod memory;
mod not_ready;
mod orphans;
mod perf;
mod pools;
mod queues;
mod rate;
mod requests;
mod rows;
mod service;
mod silence;
mod tap;
mod top;
mod transfer;
mod users;
mod waiting;
