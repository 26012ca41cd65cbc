//! NetCDF to ds and back, checked with the C library (Python's netCDF4) and ds-format.

use std::path::Path;

use crate::interop::numbers;
use crate::python::Python;
use crate::shell;

/// Compares random files, or those of a directory.
pub(crate) fn run(python: &Python, seed: u64, count: u64, files: Option<&Path>) -> Result<(), String> {
    let work = shell::target()?.join("interop/ds-netcdf");
    shell::empty_directory(&work)?;
    let converter = shell::test_build("examples/netcdf")?;
    match files {
        Some(files) => println!("converting the NetCDF files of {} to ds and back", files.display()),
        None => println!("converting {count} random NetCDF files of four kinds (seed {seed}) to ds and back"),
    }
    let mut compare = python.script("ds_netcdf_interop.py", [&converter, &work]);
    compare.args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    if let Some(files) = files {
        compare.arg("--files").arg(files);
    }
    let output = shell::text(compare).map_err(|error| format!("our NetCDF files hold other values: {error}"))?;
    let reported = numbers(&output)?;
    if reported("files")? == 0 || reported("values")? == 0 || reported("written")? < reported("files")? {
        return Err("no NetCDF file was compared".to_owned());
    }
    println!(
        "{} files keep their values in ds and in {} NetCDF files converted from it: {} values compared; {} times a kind could not hold a file",
        reported("files")?,
        reported("written")?,
        reported("values")?,
        reported("refused")?
    );
    Ok(())
}

/// Compares sparse files of more than 4 GiB.
pub(crate) fn large(python: &Python) -> Result<(), String> {
    let target = shell::target()?;
    // Gigabytes need an optimized program.
    let build = ["build", "--quiet", "--release", "--package", "dsfmt", "--features", "netcdf", "--example", "netcdf"];
    shell::run(shell::cargo(build))?;
    let converter = target.join("release/examples").join(format!("netcdf{}", std::env::consts::EXE_SUFFIX));
    let work = target.join("interop/ds-netcdf");
    shell::make_directory(&work)?;
    println!("writing and reading sparse files of more than 4 GiB");
    let output = shell::text(python.script("ds_netcdf_large.py", [&converter, &work]));
    let reported = numbers(&output.map_err(|error| format!("large NetCDF files hold other values: {error}"))?)?;
    if reported("large")? == 0 {
        return Err("no large file was compared".to_owned());
    }
    println!("{} of their values are as expected", reported("large")?);
    Ok(())
}
