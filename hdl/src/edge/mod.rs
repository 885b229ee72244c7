//! The NIC's edge to PCIe: transaction layer packets in and out.
//!
//! | block | what for |
//! |---|---|
//! | [`TlpReceive`] | stores, loads and completions out of what comes in |
//! | [`TlpComplete`] | answers loads |
//! | [`TlpTransmit`] | one stream out of posted, non-posted and completion packets, by credits |
//!
//! Headers are cut by position, because the dialect takes only literals there; the checks below tie
//! these positions to their one definition in `viaduct_spec::tlp`.

mod complete;
mod ports;
mod receive;
mod transmit;

pub use complete::TlpComplete;
pub use ports::{Config, Credits, EthRx, EthTx, EthWatch, TlpRx, TlpTx};
pub use receive::TlpReceive;
pub use transmit::TlpTransmit;

use viaduct_spec::layout::Field;
use viaduct_spec::tlp::{class, completion_dw1, completion_dw2, completion_status, dw0, kind, request_dw1};

const fn at(field: Field, lo: usize, width: usize) -> bool {
    field.lo == lo && field.width == width
}

const _: () = {
    assert!(at(dw0::LENGTH, 0, 10) && at(dw0::ATTR, 12, 2) && at(dw0::POISONED, 14, 1));
    assert!(at(dw0::TRAFFIC_CLASS, 20, 3) && at(dw0::KIND, 24, 8));
    assert!(at(request_dw1::FIRST_BE, 0, 4) && at(request_dw1::LAST_BE, 4, 4));
    assert!(at(request_dw1::TAG, 8, 8) && at(request_dw1::REQUESTER, 16, 16));
    assert!(at(completion_dw1::BYTE_COUNT, 0, 12) && at(completion_dw1::STATUS, 13, 3));
    assert!(at(completion_dw1::COMPLETER, 16, 16) && at(completion_dw2::LOWER_ADDRESS, 0, 7));
    assert!(at(completion_dw2::TAG, 8, 8) && at(completion_dw2::REQUESTER, 16, 16));
    assert!(kind::READ_3DW == 0x00 && kind::READ_4DW == 0x20);
    assert!(kind::WRITE_3DW == 0x40 && kind::WRITE_4DW == 0x60);
    assert!(kind::COMPLETION == 0x0A && kind::COMPLETION_DATA == 0x4A);
    assert!(completion_status::SUCCESS == 0 && completion_status::UNSUPPORTED == 1);
    assert!(class::POSTED == 0 && class::NON_POSTED == 1 && class::COMPLETION == 2);
};
