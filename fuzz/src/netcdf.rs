//! NetCDF-4 files: any bytes, and damaged files whose checksums are right.

use std::sync::{LazyLock, Once};

use container_core::{Limits, OpenOptions, Source};
use dsfmt::netcdf::{ReadOptions, Reader};

use crate::dice::Dice;
use crate::hdf5_mutate::Sample;

static SAMPLES: LazyLock<[Sample; 3]> = LazyLock::new(|| {
    [
        Sample::new(include_bytes!("../../tests/golden/netcdf/no-records-nc4.nc").to_vec()),
        Sample::new(include_bytes!("../../tests/golden/netcdf/odd-records-nc4.nc").to_vec()),
        Sample::new(include_bytes!("../../tests/golden/netcdf/many-attributes.nc").to_vec()),
    ]
});

/// The first byte is 0, and the file follows; or it picks a file, and decisions how to damage it follow.
pub fn netcdf_hdf5(data: &[u8]) {
    let Some((how, rest)) = data.split_first() else { return };
    let bytes = match how.checked_sub(1) {
        None => rest.to_vec(),
        Some(sample) => {
            let mut choices = Dice::new(rest);
            SAMPLES[usize::from(sample) % SAMPLES.len()].mutant_by(|| choices.word())
        }
    };
    read(bytes);
}

/// Reads everything in a file.
fn read(bytes: Vec<u8>) {
    static HOOK: Once = Once::new();
    // The fuzzer's hook ends the process; a panic of the HDF5 library is an error of the reader.
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !dsfmt::netcdf::is_guarded() {
                usual(panic);
            }
        }));
    });
    let limits = Limits::default().with_block_bytes(4 << 20);
    let reader = match Reader::from_source(Source::from(bytes), OpenOptions::default().with_limits(limits)) {
        Ok(reader) => reader,
        Err(error) => return assert_eq!(error.format(), Some("netcdf")),
    };
    let options = ReadOptions::default();
    for variable in reader.variables() {
        match reader.read(variable, 0..variable.rows(), &options) {
            Ok(array) => assert_eq!(array.shape(), reader.shape(variable, &options)),
            Err(error) => assert_eq!(error.format(), Some("netcdf")),
        }
    }
}
