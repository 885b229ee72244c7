//! The provider: one noun of libfabric's, or of what it stands for, a file.

mod address;
mod card;
mod connection;
mod cq;
mod domain;
mod endpoint;
mod entry;
mod eq;
mod error;
mod event;
mod fabric;
pub mod ffi;
mod info;
mod link;
mod listener;
mod message;
mod object;
mod offer;
mod operation;
mod options;
mod pieces;
pub mod provider;
mod query;
mod region;
mod request;
mod rma;
mod unsupported;
mod wait;
mod work;

#[cfg(test)]
mod tests;
