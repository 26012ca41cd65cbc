//! ds files against the Python package and the NetCDF C library: `crates/dsfmt/benches/speed.rs` and a script run the same tasks on the same
//! files, in turn.

use super::contest::{Bench, Contest, OURS, Options, bench_directory};
use crate::python::Python;
use crate::shell;

/// Rows of 10,000 numbers of 8 bytes in the largest file: 800 MB.
const FULL: u64 = 10_000;
const QUICK: u64 = 40;

/// Repetitions of each of our tasks in a round.
const REPEATS: &str = "3";

const PYTHON: &str = "ds-format";

const fn beside_python(label: &'static str, work: &'static str, target: Option<f64>) -> Contest {
    Contest { label, work, beside: PYTHON, who: PYTHON, theirs: work, target }
}

const fn beside(
    label: &'static str,
    work: &'static str,
    beside: &'static str,
    theirs: &'static str,
    target: f64,
) -> Contest {
    Contest { label, work, beside, who: OURS, theirs, target: Some(target) }
}

const fn beside_another(
    label: &'static str,
    work: &'static str,
    beside: &'static str,
    theirs: &'static str,
    target: Option<f64>,
) -> Contest {
    Contest { label, work, beside, who: PYTHON, theirs, target }
}

const NETCDF: &str = "netCDF4 of Python";

const CONTESTS: [Contest; 22] = [
    beside_python("open and read 3 float64, 500 times", "read tiny", Some(5.0)),
    beside_another("the same", "read tiny", NETCDF, "read tiny, NetCDF", None),
    beside_python("open and read 1000 int64, 500 times", "read 1000", Some(5.0)),
    beside_another("the same", "read 1000", NETCDF, "read 1000, NetCDF", None),
    beside_python("write 3 float64, 200 times", "write tiny", Some(10.0)),
    beside_python("write 1000 int64, 200 times", "write 1000", Some(10.0)),
    beside("write 3 float64, 200 times", "write tiny", "a file beside it, and a rename", "write tiny, bare", 0.7),
    beside_another("write 1000 int64, 200 times", "write 1000", NETCDF, "write 1000, NetCDF", None),
    beside_python("open 800 MB, one value", "first value", None),
    beside(
        "a pass over the values of 800 MB, as a view",
        "pass over view",
        "a pass over the mapping",
        "plain pass",
        0.91,
    ),
    beside_another("read 800 MB into owned memory", "read owned", "numpy.fromfile", "read owned", Some(1.0)),
    beside_another("the same", "read owned", PYTHON, "read", None),
    beside_python("write 800 MB", "write", Some(6.0)),
    beside("the same", "write", "writing the bytes", "write bytes", 0.87),
    beside("read 400 MB in the other byte order", "read swapped", "a copy of as many bytes", "copy", 0.77),
    beside_another("the same", "read swapped", PYTHON, "read swapped", None),
    beside_another("unpack 100,000,000 bools", "unpack", "numpy.unpackbits", "unpack", Some(3.0)),
    beside_another("the same, into the same memory", "unpack again", "numpy.unpackbits", "unpack", None),
    beside_python("read 25,000,000 float64, half missing, filled", "expand", Some(6.0)),
    beside_python("open, one row of 10,000", "one row", Some(100.0)),
    beside_python("all statistics of 800 MB", "stats", Some(8.0)),
    beside_another("the same", "stats", "numpy, without NaN", "stats, numpy", Some(1.5)),
];

/// Groups of tasks that must have the same result.
const SAME_RESULT: &[&[&str]] = &[
    &["pass over view", "plain pass", "read owned", "read"],
    &["write", "write bytes"],
    &["write tiny", "write tiny, bare"],
    &["read tiny", "read tiny, NetCDF"],
    &["read 1000", "read 1000, NetCDF"],
    &["unpack", "unpack again", "unpack to bool"],
    &["stats", "stats, numpy"],
];

pub(crate) fn run(python: &Python, options: &Options) -> Result<(), String> {
    let bench = measure(python, if options.quick { QUICK } else { FULL }, options.rounds(), options.quick)?;
    options.show(&bench, &CONTESTS, "")
}

fn measure(python: &Python, rows: u64, rounds: u32, smoke: bool) -> Result<Bench, String> {
    let program = super::program("dsfmt", "speed", "parallel", smoke)?;
    let bench_dir = bench_directory("ds")?;
    let directory = bench_dir.path();
    eprintln!("making the files in {}", directory.display());
    let mut make = shell::program(&program);
    make.arg("make").arg(directory).args(["--rows", &rows.to_string()]);
    shell::run(make)?;
    let mut bench = Bench::default();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        let mut ours = shell::program(&program);
        ours.arg("run").arg(directory).args(["--repeat", REPEATS]);
        bench.take(OURS, &shell::text(ours)?)?;
        bench.take(PYTHON, &shell::text(python.script("ds_bench.py", [directory]))?)?;
    }
    bench.check(SAME_RESULT)?;
    Ok(bench)
}
