//! The IOMMU's faults, both ways: those that a test has provoked are in the kernel's log, and no other is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{ensure, Result};

use crate::kernel::{Fault, Log, Said};

/// What the kernel's log says, against what was to be expected of it.
#[derive(Debug, Clone)]
pub struct Ledger(Arc<Mutex<Book>>);

#[derive(Debug)]
struct Book {
    log: Log,
    provoked: Vec<Fault>,
}

impl Ledger {
    /// Of what the kernel says from now on.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn open() -> Result<Self> {
        Ok(Self(Arc::new(Mutex::new(Book { log: Log::from_now()?, provoked: Vec::new() }))))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A test has provoked this one, and has seen it in the log.
    pub fn provoked(&self, fault: Fault) {
        self.book().provoked.push(fault);
    }

    /// Closes a test's account: there is no fault since the last one but the provoked ones.
    ///
    /// # Errors
    /// There is, or the kernel has kept some to itself because there were too many.
    pub fn close(&self) -> Result<()> {
        let mut book = self.book();
        let provoked = std::mem::take(&mut book.provoked);
        let said = book.log.take()?;
        balance(&said, &provoked)
    }
}

/// What was said is what was provoked: a fault may be told of more than once.
fn balance(said: &Said, provoked: &[Fault]) -> Result<()> {
    let others: Vec<&Fault> = said.faults.iter().filter(|fault| !provoked.contains(fault)).collect();
    ensure!(others.is_empty(), "the IOMMU refused accesses that nobody provoked: {others:?}");
    let missing: Vec<&Fault> = provoked.iter().filter(|fault| !said.faults.contains(fault)).collect();
    ensure!(missing.is_empty(), "the kernel's log has lost faults that were in it: {missing:?}");
    let kept = &said.suppressed;
    ensure!(kept.is_empty(), "the kernel has not told of all that the IOMMU refused: {kept:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_provoked_is_there_and_nothing_else() {
        let fault = |page| Fault { write: true, device: "01:00.0".into(), page };
        let said = |pages: &[u64], suppressed: &[&str]| Said {
            faults: pages.iter().copied().map(fault).collect(),
            suppressed: suppressed.iter().map(|line| line.to_string()).collect(),
        };
        let provoked = [fault(0x1000), fault(0x2000)];
        balance(&said(&[], &[]), &[]).expect("nothing happened");
        balance(&said(&[0x1000, 0x2000, 0x1000], &[]), &provoked).expect("each is there");
        let reason =
            |said, provoked: &[Fault]| balance(&said, provoked).expect_err("out of balance").to_string();
        assert!(reason(said(&[0x1000, 0x2000, 0x3000], &[]), &provoked).contains("nobody provoked"));
        assert!(reason(said(&[0x1000], &[]), &[]).contains("nobody provoked"));
        assert!(reason(said(&[0x1000], &[]), &provoked).contains("lost"));
        assert!(reason(said(&[], &["dmar_fault: 5 callbacks suppressed"]), &[]).contains("5 callbacks"));
    }
}
