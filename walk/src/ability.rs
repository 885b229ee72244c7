//! What programs may ask of a NIC, and what the RTL can do of it today.

/// Something that programs may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Ability {
    /// Sends on reliable connections.
    Reliable,
    /// Reliable Reception.
    Reception,
    /// Faults on reliable connections: what is lost is sent again.
    Retransmission,
    /// A message that finds no receive may wait for one.
    NotReady,
    /// RDMA writes.
    Write,
    /// RDMA reads.
    Read,
    /// Queue fence.
    Fence,
    /// Descriptors in places where none can be, on unreliable connections: their VI breaks, too.
    Misplaced,
    /// A message whose delivery is not known when its VI breaks says TRANSPORT_ERROR; otherwise what is flushed and what
    /// is not known are not told apart.
    Doubt,
    /// A VI that is in Error says no more; otherwise events that would break it again are not looked at.
    Last,
    /// Frames of unreliable connections may overtake one another.
    Overtaken,
    /// Resets while something moves.
    Interrupted,
    /// Completion queues.
    Queues,
    /// RDMA writes with immediate data may be refused for their range: that comes behind the look for a receive.
    Denied,
    /// Descriptors of more than 64 bytes may have a wrong Length: nothing of them leaves.
    Late,
    /// Receive queues of reliable VIs may have a completion queue that overruns: the message whose entry is lost is
    /// acknowledged, and the VI breaks behind it.
    Overrun,
    /// Interrupts that consumers ask for.
    Arm,
}

/// What the RTL can do. Switching on is one line.
pub const RTL: &[(Ability, bool)] = &[
    (Ability::Reliable, true),
    (Ability::Reception, true),
    (Ability::Retransmission, true),
    (Ability::NotReady, true),
    (Ability::Write, true),
    (Ability::Read, true),
    (Ability::Fence, true),
    (Ability::Misplaced, true),
    (Ability::Doubt, true),
    (Ability::Last, true),
    (Ability::Overtaken, true),
    (Ability::Interrupted, true),
    (Ability::Queues, true),
    (Ability::Denied, true),
    (Ability::Late, true),
    (Ability::Overrun, true),
    (Ability::Arm, true),
];

/// A set of abilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities(u32);

impl Abilities {
    /// What the RTL can do today.
    pub fn rtl() -> Self {
        let on = RTL.iter().filter(|(_, on)| *on);
        Self(on.fold(0, |set, (ability, _)| set | 1 << *ability as u32))
    }

    /// All of them: what the model can do.
    pub fn all() -> Self {
        Self(RTL.iter().fold(0, |set, (ability, _)| set | 1 << *ability as u32))
    }

    /// Whether it is one of them.
    pub fn has(self, ability: Ability) -> bool {
        self.0 >> ability as u32 & 1 != 0
    }
}
