//! Work that is done in pieces, one a processor.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::Result;

/// As many pieces at a time as there are processors.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does `work` for each item, for `at_a_time` items at a time, and gives each result to `each` as it comes; then gives all, in the order
/// of the items.
///
/// # Errors
/// The first error that comes, of `work` or of `each`. No further item is begun.
pub fn map<T: Sync, R: Send>(
    at_a_time: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
    each: impl Fn(&R) -> Result<()>,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    let worker = |sender: mpsc::Sender<(usize, Result<R>)>| loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = items.get(number) else { return };
        // Nobody listens any more when something has failed.
        if sender.send((number, work(item))).is_err() {
            return;
        }
    };
    let mut done = thread::scope(|scope| -> Result<Vec<(usize, R)>> {
        // The channel ends with the scope's closure, so that its threads are heard of an error before the scope waits for them.
        let results = results;
        for _ in 0..at_a_time.clamp(1, items.len().max(1)) {
            let sender = sender.clone();
            scope.spawn(|| worker(sender));
        }
        drop(sender);
        let mut done = Vec::new();
        for (number, result) in results {
            let result = result?;
            each(&result)?;
            done.push((number, result));
        }
        Ok(done)
    })?;
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use anyhow::bail;

    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        let seen = Cell::new(0);
        let each = |_: &u64| {
            seen.set(seen.get() + 1);
            Ok(())
        };
        let squares = map(4, &items, |item| Ok(item * item), each).unwrap();
        assert_eq!(squares, items.iter().map(|item| item * item).collect::<Vec<_>>());
        assert_eq!(seen.get(), 100);
        assert!(map(4, &[], |item: &u64| Ok(*item), |_| Ok(())).unwrap().is_empty());
    }

    #[test]
    fn an_error_ends_it() {
        let begun = AtomicUsize::new(0);
        let work = |item: &u64| {
            begun.fetch_add(1, Ordering::Relaxed);
            if *item == 3 {
                bail!("three")
            }
            Ok(*item)
        };
        let items: Vec<u64> = (0..1_000_000).collect();
        assert_eq!(map(2, &items, work, |_| Ok(())).unwrap_err().to_string(), "three");
        assert!(begun.load(Ordering::Relaxed) < items.len());
    }
}
