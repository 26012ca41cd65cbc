//! Zarr to ds and back, checked with zarr-python, xarray and ds-format.

use crate::interop::numbers;
use crate::python::Python;
use crate::shell;

/// Compares random stores and ds files.
pub(crate) fn run(python: &Python, seed: u64, count: u64) -> Result<(), String> {
    let work = shell::target()?.join("interop/zarr");
    shell::empty_directory(&work)?;
    let converter = shell::test_build("examples/zarr")?;
    println!("converting {count} random Zarr stores, and as many ds files, to each other (seed {seed})");
    let mut compare = python.script("zarr_interop.py", [&converter, &work]);
    compare.args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let output = shell::text(compare).map_err(|error| format!("our Zarr stores hold other values: {error}"))?;
    let last = output.lines().last().unwrap_or_default();
    let reported = numbers(last)?;
    if reported("stores")? == 0 || reported("values")? == 0 || reported("written")? == 0 {
        return Err("no Zarr store was compared".to_owned());
    }
    println!(
        "{} stores keep their values in ds, and zarr-python and xarray read {} that we write: {} values compared",
        reported("stores")?,
        reported("written")?,
        reported("values")?
    );
    Ok(())
}
