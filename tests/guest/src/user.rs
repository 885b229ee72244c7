//! Who may own a NIC: whoever the node of its IOMMU group belongs to, root or not.

use std::{
    fs::metadata,
    os::unix::fs::{chown, MetadataExt},
    path::PathBuf,
};

use anyhow::{ensure, Context, Result};
use libtest_mimic::Completion;
use rustix::process::geteuid;

use crate::{
    child::{Child, Deed, MEMLOCK, REFUSED},
    setting::Setting,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[
    Test { name: "not_root", body: Body::Names(not_root) },
    Test { name: "memory_that_may_not_be_locked", body: Body::Names(locked) },
];

/// Nobody.
const USER: u32 = 65534;

/// Nodes that belong to a user, until it is dropped.
pub struct Given(Vec<(PathBuf, u32, u32)>);

impl Given {
    /// Gives the nodes of both NICs to a user.
    pub fn nodes(setting: &Setting, user: u32) -> Result<Self> {
        let mut given = Self(Vec::new());
        for place in setting.places()? {
            let node = place.group()?.context("a function in the hands of vfio-pci")?;
            let before = metadata(&node).with_context(|| node.display().to_string())?;
            chown(&node, Some(user), Some(user)).with_context(|| node.display().to_string())?;
            given.0.push((node, before.uid(), before.gid()));
        }
        Ok(given)
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        for (node, uid, gid) in &self.0 {
            // They were ours to give; a guest does not outlive its tests.
            let _ = chown(node, Some(*uid), Some(*gid));
        }
    }
}

/// Why it cannot be tried here, if it cannot.
fn lacking(setting: &Setting) -> Option<&'static str> {
    if !setting.is_vfio() {
        Some("this device has no node in /dev/vfio to be given to a user")
    } else if !geteuid().is_root() {
        Some("only root can give the nodes in /dev/vfio away")
    } else {
        None
    }
}

fn not_root(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let transfer = || Child::new(Deed::Transfer, &setting.nics).user(USER).run();
    let end = transfer()?;
    ensure!(!end.success, "a user has opened nodes of root's");
    ensure!(end.said.contains("/dev/vfio/"), "the error must name the node: {}", end.said);
    let given = Given::nodes(setting, USER)?;
    let end = transfer()?;
    ensure!(end.success, "as user {USER}: {}", end.said);
    drop(given);
    Ok(Completion::Completed)
}

fn locked(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let _given = Given::nodes(setting, USER)?;
    let end = Child::new(Deed::Register, &setting.nics).user(USER).memlock(MEMLOCK).run()?;
    ensure!(end.success, "the refused registration must leave everything usable: {}", end.said);
    let refusals: Vec<&str> = end.said.lines().filter_map(|line| line.strip_prefix(REFUSED)).collect();
    ensure!(refusals.len() == 2, "one for each NIC: {refusals:?}");
    for refusal in refusals {
        ensure!(refusal.contains("RLIMIT_MEMLOCK"), "the error must name the limit: {refusal}");
    }
    Ok(Completion::Completed)
}
