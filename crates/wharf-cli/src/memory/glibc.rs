//! The allocator of glibc.

pub(super) fn keep_freed_memory() {
    let settings =
        [(libc::M_MMAP_THRESHOLD, 32 << 20), (libc::M_TRIM_THRESHOLD, 128 << 20), (libc::M_TOP_PAD, 16 << 20)];
    for (name, value) in settings {
        // SAFETY: these settings are bounds that the allocator looks at; it takes its own lock, and refuses what it does not know.
        let _ = unsafe { libc::mallopt(name, value) };
    }
}

pub(super) fn release_freed_memory() {
    // SAFETY: it takes the allocator's own locks, and touches nothing but memory that nobody has.
    let _ = unsafe { libc::malloc_trim(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_memory_goes_back() {
        let own = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
            line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
        };
        let some = |count: usize| -> Vec<Vec<u8>> { (0..count).map(|_| vec![1; 64 << 10]).collect() };
        let mut pieces = some(1024);
        // Every other one, so that there is no end to be cut off.
        let mut number = 0;
        pieces.retain(|_| (number += 1, number % 2 == 0).1);
        let before = own();
        release_freed_memory();
        assert!(own() + (16 << 20) < before, "{} of {before}", own());
        assert!(pieces.iter().all(|piece| piece.iter().all(|byte| *byte == 1)));
    }
}
