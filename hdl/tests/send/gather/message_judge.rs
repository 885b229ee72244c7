//! The table of the message judge, line by line, over everything that its inputs can say.

use viaduct_hdl::export::verilog;
use viaduct_hdl::send::{DescriptorRequest, LengthFaults, MessageJudge, MessageVerdict};
use viaduct_spec::descriptor::{control, status};
use viaduct_verilate::Bench;

use crate::port;

/// Rules WQ-2, WQ-4, WQ-5, WQ-8, RAW-4.
#[test]
fn the_first_line_that_fits_counts() {
    let mut bench = Bench::new("message_judge", &verilog(MessageJudge::default()));
    for case in 0..1_u64 << 12 {
        let is = |bit: u32| case >> bit & 1 == 1;
        let [connected, unread, malformed, reads, may_read, raw, waits] = [0, 1, 2, 3, 4, 5, 6].map(is);
        let [rdma, immediate, unequal, too_long, no_frame] = [7, 8, 9, 10, 11].map(is);
        for (name, value) in [
            ("connected", connected),
            ("unread", unread),
            ("malformed", malformed),
            ("reads", reads),
            ("may_read", may_read),
            ("raw", raw),
            ("waits", waits),
        ] {
            bench.set(name, value.into());
        }
        let operation = if rdma { control::OP_RDMAWRITE } else { control::OP_SENDRECV };
        let request = [("operation", operation.into()), ("has_immediate", immediate.into())];
        port::set::<DescriptorRequest>(&mut bench, "request", &request);
        let lengths =
            [("unequal", unequal.into()), ("too_long", too_long.into()), ("no_frame", no_frame.into())];
        port::set::<LengthFaults>(&mut bench, "lengths", &lengths);
        bench.eval();
        let error = [
            (!connected, status::DESC_FLUSHED_ERROR),
            (unread, status::TRANSPORT_ERROR),
            (malformed || reads && !may_read || raw && (rdma || immediate), status::FORMAT_ERROR),
            (unequal || too_long || raw && no_frame, status::LENGTH_ERROR),
        ]
        .into_iter()
        .find_map(|(fits, error)| fits.then_some(u64::from(error)));
        let expected = port::fields(&[
            ("ends", error.is_some().into()),
            ("parks", (error.is_none() && waits).into()),
            ("errors", error.unwrap_or(0)),
        ]);
        assert_eq!(port::get::<MessageVerdict>(&bench, "verdict"), expected, "case {case:#x}");
    }
}
