//! Flags of SET_IRQS, and interrupt indices, as Linux numbers them for PCI.

/// Index of the MSI-X interrupt.
pub const MSIX: u32 = 2;
/// Indices that a PCI function has: INTx, MSI, MSI-X, error, request.
pub const INDICES: u32 = 5;

/// No data: of no vector, that switches them off; else each vector is triggered.
pub const DATA_NONE: u32 = 1 << 0;
/// A byte a vector: those whose byte is not 0 are triggered.
pub const DATA_BOOL: u32 = 1 << 1;
/// The descriptors beside the message are the vectors' eventfds.
pub const DATA_EVENTFD: u32 = 1 << 2;
/// What is set is the vectors' mask.
pub const ACTION_MASK: u32 = 1 << 3;
/// It is taken away.
pub const ACTION_UNMASK: u32 = 1 << 4;
/// What is set is what the device triggers.
pub const ACTION_TRIGGER: u32 = 1 << 5;
