//! NetCDF to ds and back, with the C library (Python's netCDF4) and ds-format as judges.

use std::path::Path;

use crate::interop::numbers;
use crate::python::Python;
use crate::shell;

/// Random files, or those of a directory.
pub(crate) fn run(python: &Python, seed: u64, count: u64, files: Option<&Path>) -> Result<(), String> {
    let work = shell::target()?.join("interop/ds-netcdf");
    shell::empty_directory(&work)?;
    let converter = shell::test_build("examples/netcdf")?;
    match files {
        Some(files) => println!("the NetCDF files of {} go to ds and back", files.display()),
        None => println!("netCDF4 writes {count} random files of four kinds (seed {seed}), which go to ds and back"),
    }
    let mut compare = python.script("ds_netcdf_interop.py", [&converter, &work]);
    compare.args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    if let Some(files) = files {
        compare.arg("--files").arg(files);
    }
    let told = shell::text(compare).map_err(|error| format!("NetCDF files of ours hold something else: {error}"))?;
    let told = numbers(&told)?;
    if told("files")? == 0 || told("values")? == 0 || told("written")? < told("files")? {
        return Err("no NetCDF file was compared".to_owned());
    }
    println!(
        "{} files hold in ds, and in {} NetCDF files made of it, what they held: {} values compared; {} kinds could not hold a file",
        told("files")?,
        told("written")?,
        told("values")?,
        told("refused")?
    );
    Ok(())
}

/// Files of which most is holes.
pub(crate) fn large(python: &Python) -> Result<(), String> {
    let target = shell::target()?;
    // Gigabytes: an optimized program.
    let build = ["build", "--quiet", "--release", "--package", "dsfmt", "--features", "netcdf", "--example", "netcdf"];
    shell::run(shell::cargo(build))?;
    let converter = target.join("release/examples").join(format!("netcdf{}", std::env::consts::EXE_SUFFIX));
    let work = target.join("interop/ds-netcdf");
    shell::make_directory(&work)?;
    println!("files of more than 4 GiB, most of it holes, are written and read");
    let told = shell::text(python.script("ds_netcdf_large.py", [&converter, &work]));
    let told = numbers(&told.map_err(|error| format!("large NetCDF files hold something else: {error}"))?)?;
    if told("large")? == 0 {
        return Err("no large file was compared".to_owned());
    }
    println!("{} values in them are those that were meant", told("large")?);
    Ok(())
}
