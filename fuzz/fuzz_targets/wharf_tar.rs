#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wharf_fuzz::wharf_tar(data));
