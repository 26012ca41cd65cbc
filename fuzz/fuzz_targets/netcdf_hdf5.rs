#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wharf_fuzz::netcdf_hdf5(data));
