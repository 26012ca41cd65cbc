//! datadings against the Python package: `crates/datadings/benches/speed.rs` and a script run the same tasks on the same files, in turn.

use super::contest::{Bench, Contest, OURS, Options, bench_directory};
use crate::python::Python;
use crate::shell;

/// Samples of the three datasets: tiny ones, ones with an image of 10 KB, and the tiny ones of a huge dataset that is only opened.
struct Sizes {
    tiny: u64,
    large: u64,
    huge: u64,
}

const FULL: Sizes = Sizes { tiny: 1_000_000, large: 50_000, huge: 10_000_000 };
const QUICK: Sizes = Sizes { tiny: 20_000, large: 500, huge: 100_000 };

/// Repetitions of each of our tasks in a round.
const REPEATS: &str = "3";

const PYTHON: &str = "datadings";

const fn beside_python(label: &'static str, work: &'static str, theirs: &'static str, target: Option<f64>) -> Contest {
    Contest { label, work, beside: PYTHON, who: PYTHON, theirs, target }
}

const fn beside(
    label: &'static str,
    work: &'static str,
    beside: &'static str,
    theirs: &'static str,
    target: Option<f64>,
) -> Contest {
    Contest { label, work, beside, who: OURS, theirs, target }
}

const CONTESTS: [Contest; 17] = [
    beside(
        "iterate, 10 KB samples, every byte read",
        "iterate",
        "plain pass over the mapped file",
        "plain pass",
        Some(0.9),
    ),
    beside_python("iterate, 10 KB samples, heads touched", "touch", "touch", Some(50.0)),
    Contest {
        beside: "datadings, copy=False",
        ..beside_python("iterate, 10 KB samples, heads touched", "touch", "touch views", None)
    },
    beside_python("decode tiny samples to structs, one thread", "decode structs", "decode", Some(20.0)),
    beside_python("decode tiny samples to values, one thread", "decode values", "decode", Some(5.0)),
    beside_python("decode tiny samples to owned values", "decode owned values", "decode", None),
    beside_python("one field of tiny samples", "one field", "decode", None),
    beside_python("100,000 raw samples by index", "get by index", "get by index", Some(50.0)),
    beside_python("open, 100,000 raw samples by key", "get by key", "get by key", Some(10.0)),
    beside_python("open, 100,000 raw samples by key, at once", "find many keys", "get by key", None),
    beside_python("open the largest, one look-up by key", "open huge", "open huge", Some(20.0)),
    beside_python("write tiny samples", "write tiny", "write tiny", Some(15.0)),
    beside_python("write 10 KB samples", "write large", "write large", Some(1.3)),
    beside("write 10 KB samples", "write large", "MD5 of the same bytes, in memory", "md5 stream", Some(0.9)),
    beside("MD5, one stream", "md5 stream", "md5sum", "md5sum large", None),
    beside("verify 10 KB samples, data and index", "verify large", "md5sum of the data", "md5sum large", Some(0.8)),
    // The index is larger than the data here, and its bytes are checksummed too.
    beside("verify tiny samples, data and index", "verify tiny", "md5sum of the data", "md5sum tiny", None),
];

/// Groups of tasks that must have the same result.
const SAME_RESULT: &[&[&str]] = &[
    &["touch", "touch views"],
    &["decode", "decode structs", "decode values", "decode owned values"],
    &["get by key", "find many keys", "get by index"],
    &["md5 stream", "md5sum large"],
];

pub(crate) fn run(python: &Python, options: &Options) -> Result<(), String> {
    let sizes = if options.quick { QUICK } else { FULL };
    let bench = measure(python, &sizes, options.rounds(), options.quick)?;
    let Sizes { tiny, large, huge } = sizes;
    options.show(&bench, &CONTESTS, &format!("{tiny} tiny samples, {large} of 10 KB, {huge} in the largest; "))
}

fn measure(python: &Python, sizes: &Sizes, rounds: u32, smoke: bool) -> Result<Bench, String> {
    let program = super::program(PYTHON, "speed", "parallel", smoke)?;
    let bench_dir = bench_directory(PYTHON)?;
    let directory = bench_dir.path();
    eprintln!("making the datasets in {}", directory.display());
    let mut make = shell::program(&program);
    make.arg("make").arg(directory);
    make.args(["--tiny", &sizes.tiny.to_string(), "--large", &sizes.large.to_string()]);
    make.args(["--huge", &sizes.huge.to_string()]);
    shell::run(make)?;
    let mut bench = Bench::default();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        let mut ours = shell::program(&program);
        ours.arg("run").arg(directory).args(["--repeat", REPEATS]);
        bench.take(OURS, &shell::text(ours)?)?;
        bench.take(PYTHON, &shell::text(python.script("datadings_bench.py", [directory]))?)?;
    }
    bench.check(SAME_RESULT)?;
    Ok(bench)
}
