//! Doorbells are rung in a page that viad looks at.

use std::{
    hint::spin_loop,
    sync::{atomic::Ordering, Arc},
    time::Instant,
};

use viaduct_spec::doorbell::page;

use super::{
    super::doorbell_page::{DoorbellPage, Kind, TAKEN},
    bell::Bell,
    ANSWER, PAUSE,
};
use crate::{
    device::DeviceError,
    queues::{
        self,
        doorbells::{Page, Poller},
    },
};

/// Looks at a doorbell that is not taken yet, before others may run.
const SPINS: u32 = 4000;

/// A doorbell page that viad looks at.
pub(super) struct Polled {
    pub(super) page: DoorbellPage,
    pub(super) bell: Arc<Bell>,
}

impl Page for Polled {
    fn store(&self, offset: u64, word: u64) -> Result<(), DeviceError> {
        self.bell.check()?;
        if offset % 8 != 0 || offset >= TAKEN {
            return Err(DeviceError::Refused {
                request: "a doorbell".into(),
                reason: "it is outside its page".into(),
            });
        }
        self.page.word(offset).store(word, Ordering::Release);
        if self.bell.notice.state().word() != 0 {
            self.wake_viad();
        }
        if self.page.kind() == Kind::Vi && offset == page::RECEIVE {
            self.wait_taken(word)?;
        }
        Ok(())
    }

    fn bell(&self, offset: u64) -> Option<queues::doorbells::Bell> {
        // A receive waits until it is taken.
        if self.page.kind() == Kind::Vi && offset == page::RECEIVE {
            return None;
        }
        let poller = Poller { state: self.bell.notice.state().into(), gone: (&self.bell.gone).into() };
        // SAFETY: page, notice and bell are this page's own.
        Some(unsafe { queues::doorbells::Bell::new(self.page.word(offset).into(), Some(poller)) })
    }

    fn wake(&self) -> Result<(), DeviceError> {
        self.bell.check()?;
        self.wake_viad();
        Ok(())
    }
}

impl Polled {
    fn wake_viad(&self) {
        // It only fails when it is full, and then it wakes.
        let _ = rustix::io::write(&self.bell.wake, &1u64.to_ne_bytes());
    }

    /// A receive counts as posted when the call returns, whatever the program then tells its peer, in whatever way: so the
    /// device has its doorbell by then. A forwarder that is awake takes it within microseconds.
    fn wait_taken(&self, word: u64) -> Result<(), DeviceError> {
        let mut looks = 0u32;
        let mut since = None;
        while self.page.word(TAKEN + page::RECEIVE).load(Ordering::Acquire) != word {
            looks = looks.wrapping_add(1);
            if looks < SPINS {
                spin_loop();
            } else {
                // It has no processor, or the device takes nothing.
                if looks < 2 * SPINS {
                    std::thread::yield_now();
                } else {
                    std::thread::sleep(PAUSE);
                }
                self.bell.check()?;
                if since.get_or_insert_with(Instant::now).elapsed() > ANSWER {
                    // Whether it is posted nobody knows: that is the end of the session.
                    return Err(self.bell.end("its NIC takes no doorbells".into()));
                }
            }
        }
        Ok(())
    }
}
