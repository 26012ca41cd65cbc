//! NetCDF-4 files: arbitrary bytes, and damaged files with valid checksums.

use std::sync::{LazyLock, Once};

use container_core::{Container, Limits, OpenOptions, Scan, Source};
use dsfmt::netcdf::{NetcdfContainer, ReadOptions, Reader};

use crate::choices::Choices;
use crate::hdf5_mutate::Sample;

static SAMPLES: LazyLock<[Sample; 3]> = LazyLock::new(|| {
    [
        Sample::new(include_bytes!("../../tests/golden/netcdf/no-records-nc4.nc").to_vec()),
        Sample::new(include_bytes!("../../tests/golden/netcdf/odd-records-nc4.nc").to_vec()),
        Sample::new(include_bytes!("../../tests/golden/netcdf/many-attributes.nc").to_vec()),
    ]
});

/// If the first byte is 0, the file follows; else it selects a file, and choices how to damage it follow.
pub fn netcdf_hdf5(data: &[u8]) {
    let Some((how, rest)) = data.split_first() else { return };
    let bytes = match how.checked_sub(1) {
        None => rest.to_vec(),
        Some(sample) => {
            let mut choices = Choices::new(rest);
            SAMPLES[usize::from(sample) % SAMPLES.len()].mutant_by(|| choices.word())
        }
    };
    read(bytes);
}

/// The fuzzer's panic hook ends the process, but a panic of a library that is guarded is only an error of the reader.
pub(crate) fn ignore_guarded_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !dsfmt::netcdf::is_guarded() {
                usual(panic);
            }
        }));
    });
}

/// Reads everything in a file.
fn read(bytes: Vec<u8>) {
    ignore_guarded_panics();
    let opening = OpenOptions::default().with_limits(Limits::default().with_block_bytes(4 << 20));
    let reader = match Reader::from_source(Source::from(bytes), opening) {
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
    match NetcdfContainer::new(reader, opening, &ReadOptions::default()) {
        Ok(container) => walk(&container),
        Err(error) => assert_eq!(error.format(), Some("netcdf")),
    }
}

/// Reads the first and last rows of each table, and as batches.
pub(crate) fn walk(container: &NetcdfContainer) {
    const ROWS: u64 = 40;
    for table in container.tables() {
        let len = table.len().unwrap_or(0);
        for range in [0..ROWS.min(len), len.saturating_sub(ROWS)..len] {
            let mut scan = Scan::default();
            scan.rows = range.clone();
            let (mut line, mut shown) = (Vec::new(), range.start);
            if let Ok(mut rows) = table.rows(&scan) {
                while let Ok(true) = rows.advance() {
                    line.clear();
                    if rows.json(&mut line).is_err() {
                        break;
                    }
                    shown += 1;
                }
            }
            assert!(shown <= range.end);
            if let Some(batches) = table.arrow().and_then(|table| table.batches(&scan.into()).ok()) {
                let rows: usize = batches.map_while(Result::ok).map(|batch| batch.num_rows()).sum();
                assert!(rows as u64 <= ROWS);
            }
        }
    }
}
