//! The NIC is opened when whoever has its function has let go of it: programs that a viad before this one has trusted do so when they hear of its
//! end; the kernel, when it has reset the function after an error of the bus.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use viaduct_driver::{
    device::{DeviceError, PciDevice},
    name::DeviceName,
    pci::Obstacle,
};

/// How long it is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often one tries.
const BETWEEN: Duration = Duration::from_millis(100);

/// Opens it. Who has it, or resets it, is logged, and waited for.
///
/// # Errors
/// As [`DeviceName::open`]; others have it still.
pub fn open(name: &DeviceName) -> Result<Arc<dyn PciDevice>, DeviceError> {
    let start = Instant::now();
    let mut is_told = false;
    loop {
        let error = match name.open() {
            Ok(device) => return Ok(device),
            Err(error) => error,
        };
        let DeviceError::Obstacle { obstacle, .. } = &error else { return Err(error) };
        let passes = matches!(**obstacle, Obstacle::Busy { .. } | Obstacle::Resetting { .. });
        if !passes || start.elapsed() > PATIENCE {
            return Err(error);
        }
        if !is_told {
            tracing::warn!(%obstacle, "waits until the NIC is free");
            is_told = true;
        }
        std::thread::sleep(BETWEEN);
    }
}
