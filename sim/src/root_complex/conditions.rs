//! How a root complex behaves, within what the specification leaves open: one set of conditions for every test.

use rand::Rng;

/// How the data of a read is cut into completions. All of them end on a read completion boundary,
/// but for the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Split {
    /// As few as Max_Payload_Size allows.
    #[default]
    Largest,
    /// At every boundary.
    Boundary,
    /// At boundaries chosen at random.
    Random,
}

/// Credits that the root complex grants; `None`: without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Posted headers.
    pub posted: Option<u8>,
    /// Posted data, in units of 16 bytes; less than 4096.
    pub posted_data: Option<u16>,
    /// Non-posted headers.
    pub nonposted: Option<u8>,
    /// Completion headers.
    pub completion: Option<u8>,
    /// Completion data, in units of 16 bytes; less than 4096.
    pub completion_data: Option<u16>,
}

impl Default for Limits {
    /// What a desktop's root port grants.
    fn default() -> Self {
        Self {
            posted: Some(64),
            posted_data: Some(1024),
            nonposted: Some(64),
            completion: None,
            completion_data: None,
        }
    }
}

/// Conditions on the bus. What is not of the kind one is legal all the same: a NIC must not notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conditions {
    /// Cycles from a read request at the NIC's edge to its first completion there.
    pub round_trip: u64,
    /// Max_Payload_Size as enumeration sets it, encoded 128 << n.
    pub max_payload: u8,
    /// Max_Read_Request_Size as enumeration sets it, encoded 128 << n.
    pub max_read: u8,
    /// Read completion boundary in bytes: 64 or 128.
    pub rcb: usize,
    /// Tags of 8 bits.
    pub extended_tag: bool,
    /// How reads are cut.
    pub split: Split,
    /// Completions of different reads come up to this many cycles later than they could, so that
    /// they overtake one another.
    pub reorder: u64,
    /// Cycles in 1000 in which the NIC's packets are not taken.
    pub stall: u32,
    /// Cycles in 1000 in which a packet to the NIC pauses.
    pub gap: u32,
    /// Credits.
    pub credits: Limits,
    /// A read looks at memory up to this many cycles after it came: writes and other reads that came later pass it.
    pub passed: u64,
    /// Each completion of a read looks at memory by itself, up to this many cycles after the one before: what the host writes between
    /// them tears the read.
    pub torn: u64,
    /// The credits of one class are withheld, now and then, for up to this many cycles.
    pub withheld: u64,
    /// Every so many cycles Max_Payload_Size, Max_Read_Request_Size, the boundary and extended tags change, and Bus Master may be off for a
    /// while; 0: never.
    pub changes: u64,
    /// What the time base says at power-up.
    pub time_base: u32,
}

impl Default for Conditions {
    /// A desktop's, kind.
    fn default() -> Self {
        Self {
            round_trip: 62,
            max_payload: 1,
            max_read: 2,
            rcb: 64,
            extended_tag: true,
            split: Split::default(),
            reorder: 0,
            stall: 0,
            gap: 0,
            credits: Limits::default(),
            passed: 0,
            torn: 0,
            withheld: 0,
            changes: 0,
            time_base: 0,
        }
    }
}

impl Conditions {
    /// Random ones in which everything comes in good time and nothing changes: how reads are cut, reordered and delayed, when the NIC
    /// has to wait, what it may send before it gets credits back.
    pub fn steady(random: &mut impl Rng) -> Self {
        let mut made = Self {
            round_trip: random.random_range(4..120),
            max_payload: random.random_range(0..=2),
            max_read: random.random_range(0..=5),
            rcb: if random.random() { 64 } else { 128 },
            extended_tag: random.random(),
            split: [Split::Largest, Split::Boundary, Split::Random][random.random_range(0..3)],
            reorder: [0, 40, 300][random.random_range(0..3)],
            stall: [0, 100, 400][random.random_range(0..3)],
            gap: [0, 100, 400][random.random_range(0..3)],
            ..Self::default()
        };
        if random.random() {
            // The least that the specification allows for a payload of 512 bytes, and a little more.
            made.credits = Limits {
                posted: Some(random.random_range(1..8)),
                posted_data: Some(random.random_range(32..80)),
                nonposted: Some(random.random_range(1..8)),
                completion: Some(random.random_range(1..8)),
                completion_data: Some(random.random_range(32..80)),
            };
        }
        made
    }

    /// Random ones: those, and what passes what, which credits stay away, and what changes under way.
    pub fn random(random: &mut impl Rng) -> Self {
        Self {
            passed: [0, 30, 400][random.random_range(0..3)],
            torn: [0, 10, 200][random.random_range(0..3)],
            withheld: [0, 0, 300, 3000][random.random_range(0..4)],
            changes: [0, 0, 700, 5000][random.random_range(0..4)],
            // Often about to wrap.
            time_base: if random.random() {
                random.random()
            } else {
                0u32.wrapping_sub(random.random_range(0..50))
            },
            ..Self::steady(random)
        }
    }
}
