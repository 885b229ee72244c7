//! Doorbells: what the host's stores say about the work queues, and which queues have work.
//!
//! | block | what for |
//! |---|---|
//! | [`Doorbell`] | keeps what was posted to each queue |
//! | `ViPages` | says what each store to a VI's page is |
//! | [`CqPages`] | takes the stores to the completion queues' pages |
//! | [`WorkList`] | the VIs that have work, each at most once |

mod block;
mod cq_pages;
mod vi_pages;
mod work_list;

pub use block::Doorbell;
pub use cq_pages::CqPages;
pub use work_list::WorkList;
