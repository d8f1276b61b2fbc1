//! Work on many independent items with a few threads.
//!
//! Results come back in the items' order whoever computed them, so nothing downstream can depend on scheduling.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The number of threads to use when the user named none.
pub fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, |n| n.get())
}

/// `f(0), f(1), ... f(count - 1)` on up to `threads` threads, the caller's included.
pub fn map<R: Send>(threads: usize, count: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let threads = threads.clamp(1, count.max(1));
    if threads == 1 {
        return (0..count).map(f).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                return done;
            }
            done.push((i, f(i)));
        }
    };
    let mut results = thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut results = work();
        for helper in helpers {
            match helper.join() {
                Ok(part) => results.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|&(i, _)| i);
    results.into_iter().map(|(_, r)| r).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn keeps_the_order() {
        for threads in [1, 2, 7] {
            assert_eq!(
                super::map(threads, 100, |i| i * i),
                (0..100).map(|i| i * i).collect::<Vec<_>>()
            );
            assert!(super::map(threads, 0, |i| i).is_empty());
        }
    }
}
