//! Where the blocks stand. The places are chosen by hand, everything else of the picture is not.

/// Pixels of a cell: wires run along cells, and everything stands on them.
pub const CELL: f64 = 5.5;
/// Cells of a block's width.
pub const WIDTH: i32 = 26;
/// Cells from one column to the next.
pub const PITCH: i32 = 33;
/// The first cell of the first column.
pub const FIRST: i32 = 10;

/// A block, its column, and the cell of its upper edge.
pub const PLACES: &[(&str, i32, i32)] = &[
    ("registers", 1, 5),
    ("command", 2, 5),
    ("broadcast", 2, 14),
    ("counters", 3, 5),
    ("vi_state", 4, 5),
    ("tlp_receive", 0, 5),
    ("tlp_complete", 0, 24),
    ("tlp_transmit", 0, 42),
    ("doorbell", 1, 35),
    ("cq_pages", 1, 58),
    ("fetch", 2, 38),
    ("gather", 3, 34),
    ("transmit", 4, 34),
    ("egress", 4, 65),
    ("eth_transmit", 4, 78),
    ("ack", 3, 62),
    ("dma_read", 1, 76),
    ("dma_write", 1, 98),
    ("protect", 2, 78),
    ("requests", 3, 92),
    ("receive", 4, 88),
    ("vectors", 0, 118),
    ("notify", 0, 140),
    ("queues", 1, 124),
    ("writer", 2, 124),
    ("sends", 3, 124),
];

/// The strip of the host and that of the wire, with the beginning of the names of the NIC's streams there.
pub const STRIPS: &[(&str, &str)] = &[("PCIe", "tlp_"), ("Ethernet", "eth_")];

/// Streams that go nearly everywhere, or only count, and are told in the legend: by their name at either end.
pub const TOLD: &[&str] = &["commit", "state", "epoch", "fault", "retire"];
