//! A counting allocator, which bounds the memory that a file can make a reader allocate.
#![allow(unsafe_code, reason = "the trait is unsafe; this allocator only counts and delegates")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed unchanged to the system allocator; the counters do not touch its memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller upholds the contract of the trait.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller upholds the contract of the trait.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of the trait.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

pub const KIB: usize = 1 << 10;
pub const MIB: usize = 1 << 20;

/// Asserts that `work` allocates at most `limit` bytes at a time, beyond those allocated before.
#[track_caller]
pub fn bounded<T>(what: &str, limit: usize, work: impl FnOnce() -> T) -> T {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    let peak = PEAK.load(Relaxed) - before;
    assert!(peak <= limit, "{what}: expected at most {limit} bytes, allocated {peak}");
    result
}
