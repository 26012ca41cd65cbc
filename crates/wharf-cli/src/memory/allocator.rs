//! Settings of the glibc allocator.

pub(super) fn keep_freed_memory() {
    let settings =
        [(libc::M_MMAP_THRESHOLD, 32 << 20), (libc::M_TRIM_THRESHOLD, 128 << 20), (libc::M_TOP_PAD, 16 << 20)];
    for (name, value) in settings {
        // SAFETY: mallopt only sets thresholds, under the lock of the allocator, and rejects unknown values.
        let _ = unsafe { libc::mallopt(name, value) };
    }
}

pub(super) fn release_freed_memory() {
    // SAFETY: malloc_trim takes the locks of the allocator and touches only free memory.
    let _ = unsafe { libc::malloc_trim(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_freed_memory_to_the_system() {
        let anonymous = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
            line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
        };
        // Tests beside this one allocate, too: some attempt is not disturbed.
        let returned = (0..20).any(|_| {
            let mut blocks: Vec<Vec<u8>> = (0..1024).map(|_| vec![1; 64 << 10]).collect();
            // Free every other block, so that the end of the heap stays in use.
            let mut number = 0;
            blocks.retain(|_| (number += 1, number % 2 == 0).1);
            let before = anonymous();
            release_freed_memory();
            assert!(blocks.iter().all(|block| block.iter().all(|byte| *byte == 1)));
            anonymous() + (16 << 20) < before
        });
        assert!(returned);
    }
}
