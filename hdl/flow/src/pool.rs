//! Does the same work on many blocks, on all processors.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::{anyhow, Result};

use viaduct_hdl::blocks::Entry;

/// Works on every block's Verilog and hands the results to `show` in the order of the blocks, each as soon as those
/// before it are shown. The longest texts are begun first: the whole NIC takes as long as all the others.
///
/// # Errors
/// The first error of `work` or `show`; work that is under way is finished first.
pub fn each<T: Send>(
    blocks: &[Entry],
    work: impl Fn(&Entry, &str) -> Result<T> + Sync,
    mut show: impl FnMut(&Entry, T) -> Result<()>,
) -> Result<()> {
    // RustHDL numbers the parts of a text from one count for all threads, so the texts are made here, one by one.
    let mut jobs: Vec<(usize, String)> =
        blocks.iter().enumerate().map(|(index, block)| (index, (block.verilog)())).collect();
    jobs.sort_by_key(|(_, verilog)| std::cmp::Reverse(verilog.len()));
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..threads.min(jobs.len()) {
            let (sender, jobs, next, work) = (sender.clone(), &jobs, &next, &work);
            scope.spawn(move || {
                while let Some((index, verilog)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Nobody listens any more after an error.
                    if sender.send((*index, work(&blocks[*index], verilog))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut done = BTreeMap::new();
        for (at, block) in blocks.iter().enumerate() {
            let result = loop {
                if let Some(result) = done.remove(&at) {
                    break result;
                }
                let (index, result) = results.recv().map_err(|_| anyhow!("{}: no result", block.name))?;
                done.insert(index, result?);
            };
            show(block, result)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    fn block(name: &'static str, verilog: fn() -> String) -> Entry {
        Entry { name, verilog, reference: verilog, lut4: 0, dp16kd: 0, mhz: 0 }
    }

    #[test]
    fn shows_all_in_their_order() {
        let blocks: Vec<Entry> = ["a", "b", "c", "d"].map(|name| block(name, String::new)).into();
        let mut seen = Vec::new();
        let work = |entry: &Entry, _: &str| {
            // The first takes longest.
            let millis = if entry.name == "a" { 50 } else { 0 };
            thread::sleep(std::time::Duration::from_millis(millis));
            Ok(entry.name)
        };
        each(&blocks, work, |entry, result| {
            assert_eq!(entry.name, result);
            seen.push(result);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, ["a", "b", "c", "d"]);
    }

    #[test]
    fn works_on_the_block_s_text_and_tells_of_an_error() {
        let blocks = [block("short", || "x".into()), block("long", || "xxx".into())];
        let work = |_: &Entry, verilog: &str| match verilog.len() {
            3 => bail!("too long"),
            length => Ok(length),
        };
        let mut shown = 0;
        let error = each(&blocks, work, |_, length| {
            shown += length;
            Ok(())
        });
        assert_eq!(error.unwrap_err().to_string(), "too long");
        assert!(shown <= 1);
    }
}
