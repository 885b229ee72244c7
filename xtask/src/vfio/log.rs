//! The guest kernel's log: which faults of DMA and of interrupts it tells of, and in whose job.

use anyhow::{bail, Result};

/// Init writes this, and the name, before each job.
const JOB: &str = "guest: job ";
/// What the IOMMU's driver reports: "DMAR: [DMA Write NO_PASID] Request device [01:00.0] fault addr ...".
const FAULT: &str = "DMAR: [DMA ";
/// What it reports of an interrupt that it does not know: "DMAR: [INTR-REMAP] Request device [01:00.0] fault index 0x...". No test provokes one.
const INTERRUPT: &str = "DMAR: [INTR-REMAP";
/// The job whose tests make a NIC reach for what it must not, and look for the faults themselves.
const PROVOKES: &str = "suite";

/// The faults, each with the job in which it came.
pub fn faults(log: &str) -> Vec<(String, String)> {
    let mut job = String::from("no job");
    let mut faults = Vec::new();
    for line in log.lines() {
        if let Some((_, name)) = line.split_once(JOB) {
            job = name.trim_end().to_string();
        } else if line.contains(FAULT) || line.contains(INTERRUPT) {
            faults.push((job.clone(), line.trim_end().to_string()));
        }
    }
    faults
}

/// Fails where a NIC reached for memory that nobody gave it, or raised an interrupt that nobody gave it.
pub fn judge(log: &str) -> Result<()> {
    let all = faults(log);
    let provoked = |job: &str, line: &str| job == PROVOKES && !line.contains(INTERRUPT);
    let ours = all.iter().filter(|(job, line)| !provoked(job, line));
    let ours: Vec<String> = ours.map(|(job, line)| format!("{job}: {line}")).collect();
    match ours.len() {
        0 => Ok(()),
        count => bail!("{count} faults:\n    {}", ours[..count.min(10)].join("\n    ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: &str =
        "[    7.1] DMAR: [DMA Write NO_PASID] Request device [01:00.0] fault addr 0x100200000 \
                         [fault reason 0x05] PTE Write access is not set\r\n";

    #[test]
    fn a_fault_is_the_job_s_in_which_it_came() {
        let log = format!("[ 1] guest: job probe\r\n[ 2] guest: job suite\r\n{WRITE}");
        assert_eq!(faults(&log).len(), 1);
        assert_eq!(faults(&log)[0].0, "suite");
        judge(&log).unwrap();
        let log = format!("{log}[ 9] guest: job transfer\r\n{WRITE}{WRITE}");
        let error = judge(&log).unwrap_err().to_string();
        assert!(error.starts_with("2 faults") && error.contains("transfer: "), "{error}");
        assert!(judge(WRITE).is_err(), "before any job");
        let interrupt =
            "[ 3] DMAR: [INTR-REMAP] Request device [01:00.0] fault index 0x9 [fault reason 0x22]\n";
        let error = judge(&format!("[ 2] guest: job suite\n{interrupt}")).unwrap_err().to_string();
        assert!(error.starts_with("1 faults") && error.contains("INTR-REMAP"), "{error}");
    }

    #[test]
    fn other_lines_are_no_faults() {
        judge("[    0.1] DMAR: IOMMU enabled\n[    9.9] reboot: Power down\n").unwrap();
        judge("").unwrap();
    }
}
