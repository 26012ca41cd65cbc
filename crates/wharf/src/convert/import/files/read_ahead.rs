//! Loads files in parallel ahead of the writer, in order and with bounded memory.

use std::ops::Range;
use std::sync::mpsc;

use container_core::Result;

use crate::workers::Workers;

/// Maximum bytes of a batch of files. Three batches are in memory: one being written, one queued, one being loaded.
const MAX_BYTES: u64 = 32 << 20;
const MAX_ITEMS: usize = 512;

/// Loads the items of a range in parallel and passes them to `consume` in order, up to the first error. `size` estimates an item's bytes.
pub(super) fn load_in_order<T: Send>(
    items: Range<usize>,
    threads: usize,
    size: impl Fn(usize) -> u64 + Send + Sync,
    load: impl Fn(usize) -> Result<T> + Send + Sync,
    mut consume: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    let workers = Workers::new(threads);
    if workers.count() == 1 {
        for item in items {
            consume(item, load(item)?)?;
        }
        return Ok(());
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel::<Vec<Result<T>>>(1);
        let whole = items.clone();
        scope.spawn(move || {
            let mut rest = whole;
            while !rest.is_empty() {
                let batch = batch(&rest, &size);
                rest.start = batch.end;
                let loaded = workers.map(batch.collect(), &load);
                let failed = loaded.last().is_some_and(Result::is_err);
                // Stop after an error, or when the consumer has failed.
                if sender.send(loaded).is_err() || failed {
                    break;
                }
            }
        });
        let mut item = items.start;
        for loaded in receiver {
            for one in loaded {
                consume(item, one?)?;
                item += 1;
            }
        }
        Ok(())
    })
}

fn batch(rest: &Range<usize>, size: &impl Fn(usize) -> u64) -> Range<usize> {
    let (mut bytes, mut end) = (0, rest.start);
    while end < rest.end && end - rest.start < MAX_ITEMS && (end == rest.start || bytes < MAX_BYTES) {
        bytes = size(end).saturating_add(bytes);
        if bytes > MAX_BYTES && end > rest.start {
            break;
        }
        end += 1;
    }
    rest.start..end
}

#[cfg(test)]
mod tests {
    use container_core::Error;

    use super::*;

    #[test]
    fn loads_in_order_up_to_the_first_error() {
        for threads in [0, 1, 2, 7] {
            let mut received = Vec::new();
            let load = |item: usize| if item == 1500 { Err(Error::invalid("this one")) } else { Ok(item * 2) };
            let outcome = load_in_order(
                3..3000,
                threads,
                |_| 100_000,
                load,
                |item, value| {
                    assert_eq!(value, item * 2);
                    received.push(item);
                    Ok(())
                },
            );
            assert_eq!(outcome.unwrap_err().to_string(), "this one");
            assert_eq!(received, (3..1500).collect::<Vec<_>>());
            let outcome = load_in_order(
                0..3000,
                threads,
                |_| 1,
                Ok,
                |item, _| if item == 5 { Err(Error::invalid("full")) } else { Ok(()) },
            );
            assert_eq!(outcome.unwrap_err().to_string(), "full");
        }
    }

    #[test]
    fn batches_are_bounded() {
        let size = |item: usize| if item < 4 { MAX_BYTES / 3 } else { MAX_BYTES * 2 };
        assert_eq!(batch(&(0..10), &size), 0..3);
        assert_eq!(batch(&(3..10), &size), 3..4);
        assert_eq!(batch(&(4..10), &size), 4..5);
        assert_eq!(batch(&(0..10_000), &|_| 1), 0..MAX_ITEMS);
    }
}
