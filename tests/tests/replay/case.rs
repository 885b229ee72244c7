//! The captures, and what is special about each.

use viaduct_driver::device_protocol::rows::Rights;
use viaduct_spec::refusal::error;
use viaduct_spec::wire::syndrome;
use viaduct_tests::guests::Terms;

use super::{ALL, TIMEOUT};

/// How a capture is played.
pub struct Case {
    pub name: &'static str,
    pub mtu: u32,
    /// Room of each receive.
    pub room: usize,
    pub terms: Terms,
    /// Frames of Linux's server, by number, that its client never got.
    pub lost: &'static [usize],
    /// Frames were lost: our client may send a packet again when Linux's did not, and the other way round.
    pub lossy: bool,
    /// How the last message of the client ends, if not well.
    pub refused: Option<u32>,
}

impl Case {
    pub const fn of(name: &'static str) -> Self {
        let terms = Terms { rights: ALL, timeout: TIMEOUT, not_ready: None };
        Self { name, mtu: 1024, room: 8192, terms, lost: &[], lossy: false, refused: None }
    }

    pub const fn lossy(name: &'static str, lost: &'static [usize]) -> Self {
        Self { lossy: true, lost, ..Self::of(name) }
    }

    pub const fn refused(name: &'static str, syndrome: u8, rdma: bool) -> Self {
        Self { refused: Some(error(syndrome, rdma, false)), ..Self::of(name) }
    }

    pub const fn not_ready(self, retries: u32, timer: u8) -> Self {
        Self { terms: Terms { not_ready: Some((retries, timer)), ..self.terms }, ..self }
    }
}

#[rustfmt::skip]
pub const CASES: [Case; 19] = [
    Case::of("rc_ops"),
    Case::of("rc_pipelined"),
    Case::of("rc_psn_wrap"),
    Case::of("rc_dscp26_ect"),
    Case { mtu: 256, ..Case::of("rc_mtu256") },
    Case { mtu: 4096, room: 9000, ..Case::of("rc_mtu4096") },
    Case::of("ib_write_bw"),
    Case::lossy("rc_drop_middle", &[]),
    Case::lossy("rc_drop_last", &[]),
    Case::lossy("rc_drop_ack", &[0]),
    Case::lossy("rc_drop_read_request", &[]),
    Case::lossy("rc_drop_read_resp_last", &[4]),
    Case::lossy("rc_dup_requests", &[]),
    Case::lossy("rc_swap_requests", &[]),
    Case { lossy: true, ..Case::of("rc_nak_rnr").not_ready(100, 20) },
    Case { lossy: true, ..Case::refused("rc_nak_rnr_exhausted", syndrome::RNR_NAK, false).not_ready(1, 26) },
    Case::refused("rc_nak_access_write", syndrome::NAK_ACCESS, true),
    Case::refused("rc_nak_access_read", syndrome::NAK_ACCESS, true),
    Case { room: 1000, ..Case::refused("rc_nak_invalid_toolong", syndrome::NAK_OPERATIONAL, false) },
];

/// The server has opened nothing.
pub fn closed() -> Case {
    let mut case = Case::refused("rc_nak_access_perm", syndrome::NAK_INVALID, true);
    case.terms.rights = Rights { write: false, ..ALL };
    case
}
