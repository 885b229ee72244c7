//! Whom viad trusts with the function itself, and how many DMA maps are left for them.

use std::sync::{
    atomic::{AtomicU64, Ordering},
    Arc,
};

use anyhow::{ensure, Context, Result};
use viaduct_driver::{
    device::sharing::Sharing,
    kernel_agent::{AgentError, ErrorClass},
};

use crate::config::Trusted;

/// Whom viad trusts.
#[derive(Debug)]
pub struct Trust {
    policy: Trusted,
    /// Maps that no session has.
    left: AtomicU64,
}

/// DMA maps that a session has; dropping it gives them back.
#[derive(Debug)]
pub struct Maps {
    trust: Arc<Trust>,
    count: u64,
}

impl Trust {
    /// By configuration, with what can hand the device over. If it trusts anybody, the kernel is tried: what a program leaves mapped that dies must come
    /// back. To be called while this process has one thread, and nobody uses the device.
    ///
    /// # Errors
    /// It trusts somebody, and the device cannot be handed over, or what others have mapped cannot be taken back.
    pub fn new(policy: &Trusted, sharing: Option<&dyn Sharing>) -> Result<Self> {
        let mut most = 0;
        if !policy.users.is_empty() {
            let sharing = sharing.context(
                "only a function behind the kernel's VFIO can be handed to programs: with another NIC `users` of [trusted] is empty",
            )?;
            sharing.try_take_back().context("`users` of [trusted]")?;
            most = sharing.most_maps();
        }
        Ok(Self { policy: policy.clone(), left: AtomicU64::new(most) })
    }

    /// Maps that viad needs itself: one for each region, arena and ring that the NIC has rows for.
    ///
    /// # Errors
    /// Somebody is trusted, and nothing is left for one session.
    pub fn reserve(&self, own: u64) -> Result<()> {
        let left = self.left.load(Ordering::Relaxed).saturating_sub(own);
        self.left.store(left, Ordering::Relaxed);
        ensure!(
            self.policy.users.is_empty() || left >= u64::from(self.policy.maps),
            "{left} DMA maps are left for trusted sessions, and `maps` of [trusted] is {}: the option dma_entry_limit of the module vfio_iommu_type1 \
             says how many there are in all",
            self.policy.maps
        );
        Ok(())
    }

    /// DMA addresses of a session, in bytes.
    pub fn addresses(&self) -> u64 {
        self.policy.addresses
    }

    /// Whether a user may have the function.
    ///
    /// # Errors
    /// viad does not trust it.
    pub fn check(&self, uid: u32) -> Result<(), AgentError> {
        if self.policy.users.contains(&uid) {
            return Ok(());
        }
        let text = format!(
            "viad does not trust user {uid} with the function: `users` of [trusted] in its configuration names those whom it does. With \
             way=pools a program registers memory that the library has allocated"
        );
        Err(AgentError::Remote { class: ErrorClass::Parameter, text })
    }

    /// The maps of a session.
    ///
    /// # Errors
    /// All maps are out.
    pub fn take(self: &Arc<Self>) -> Result<Maps, AgentError> {
        let count = u64::from(self.policy.maps);
        let take = |left: u64| left.checked_sub(count);
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(Maps { trust: Arc::clone(self), count }),
            Err(left) => {
                let text = format!(
                    "a trusted session has {count} DMA maps, and {left} of those that the kernel allows are left: others must end first, or `maps` of \
                     [trusted] is smaller"
                );
                Err(AgentError::Remote { class: ErrorClass::Resource, text })
            }
        }
    }
}

impl Maps {
    /// How many.
    pub fn count(&self) -> u32 {
        self.count as u32
    }

    /// They are never given back.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Maps {
    fn drop(&mut self) {
        self.trust.left.fetch_add(self.count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use viaduct_driver::device::{sharing::Handover, DeviceError};

    use super::*;

    /// A kernel that allows `most` maps, and takes back another process's, or skips it.
    struct Kernel {
        most: u64,
        skips: bool,
    }

    fn refused(reason: &str) -> DeviceError {
        DeviceError::Refused { request: "a request".into(), reason: reason.into() }
    }

    impl Sharing for Kernel {
        fn hand_over(&self) -> Result<Handover, DeviceError> {
            Err(refused("there are no descriptors"))
        }

        fn take_back(&self, _first: u64, _bytes: u64) -> Result<u64, DeviceError> {
            Ok(0)
        }

        fn try_take_back(&self) -> Result<(), DeviceError> {
            if self.skips {
                return Err(refused("it skips what another process has mapped"));
            }
            Ok(())
        }

        fn let_go(&self, _stop: bool) -> Result<(), DeviceError> {
            Ok(())
        }

        fn most_maps(&self) -> u64 {
            self.most
        }
    }

    fn policy(users: &[u32], maps: u32) -> Trusted {
        Trusted { users: users.into(), maps, ..Trusted::default() }
    }

    fn trust(users: &[u32], maps: u32, most: u64) -> Arc<Trust> {
        let kernel = Kernel { most, skips: false };
        Arc::new(Trust::new(&policy(users, maps), Some(&kernel)).expect("what is mapped comes back"))
    }

    #[test]
    fn nobody_is_trusted_where_the_kernel_skips_another_process_s_maps() {
        let kernel = Kernel { most: 100, skips: true };
        Trust::new(&policy(&[], 10), Some(&kernel)).expect("nobody is trusted");
        let error = Trust::new(&policy(&[7], 10), Some(&kernel)).expect_err("a program's map would stay");
        let told = format!("{error:#}");
        assert!(told.starts_with("`users` of [trusted]: ") && told.contains("it skips"), "{told}");
    }

    #[test]
    fn nobody_is_trusted_with_a_device_that_cannot_be_handed_over() {
        Trust::new(&policy(&[], 10), None).expect("nobody is trusted");
        let error = Trust::new(&policy(&[7], 10), None).expect_err("it has no descriptors").to_string();
        assert!(
            error.contains("kernel's VFIO") && error.contains("`users` of [trusted] is empty"),
            "{error}"
        );
    }

    #[test]
    fn nobody_is_trusted_who_is_not_named() {
        assert!(Trusted::default().users.is_empty());
        let nobody = trust(&[], 10, 0);
        nobody.reserve(4096).expect("nobody needs any");
        let error = nobody.check(0).expect_err("not even root").to_string();
        assert!(error.contains("does not trust user 0") && error.contains("way=pools"), "{error}");
        let one = trust(&[7], 10, 100);
        assert!(one.check(8).is_err() && one.check(7).is_ok());
    }

    #[test]
    fn maps_are_given_out_once_and_viad_keeps_its_own() {
        let trust = trust(&[7], 30, 100);
        trust.reserve(35).expect("two sessions' are left");
        let one = trust.take().expect("there are 65");
        let _two = trust.take().expect("there are 35");
        let error = trust.take().expect_err("there are 5").to_string();
        assert!(error.contains("has 30 DMA maps, and 5 of"), "{error}");
        drop(one);
        trust.take().expect("they came back");
    }

    #[test]
    fn a_kernel_that_allows_too_few_maps_is_named_at_once() {
        let error = trust(&[7], 30, 100).reserve(80).expect_err("20 are left").to_string();
        assert!(error.contains("20 DMA maps are left") && error.contains("dma_entry_limit"), "{error}");
    }
}
