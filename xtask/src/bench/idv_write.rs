//! Saving IDV files against ML.NET, and joining them against `cp`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use super::idv::{ALL_CORES, Bench, ONE_THREAD, REPEATS, number, seconds};
use super::table::Row;
use crate::mlnet::MlNet;
use crate::shell;

/// Columns of the table.
const COLUMNS: u64 = 4;
/// Rows per block of the parts: equal blocks are copied without decoding.
const ROWS_PER_BLOCK: u64 = 8192;

/// The task whose checksum is that of the whole table.
const TABLE: &str = "deflate all";

/// Input and output files.
pub(super) struct Writing {
    program: PathBuf,
    file: PathBuf,
    directory: PathBuf,
    /// Four files of full blocks; `whole` holds all their rows.
    parts: Vec<PathBuf>,
    whole: PathBuf,
}

impl Writing {
    /// Splits a file that ML.NET wrote into the parts to join.
    pub(super) fn new(file: &Path, smoke: bool) -> Result<Self, String> {
        let program = super::program("idv", "save", "parallel", smoke)?;
        let directory = file.with_file_name("written");
        shell::empty_directory(&directory)?;
        let mut split = shell::program(&program);
        split.arg("split").arg(file).arg(&directory);
        shell::run(split)?;
        let mut parts = shell::files_with_extension(&directory, "idv")?;
        parts.retain(|path| shell::file_name(path).starts_with("part-"));
        let whole = directory.join("whole.idv");
        Ok(Self { program, file: file.to_owned(), directory, parts, whole })
    }

    /// Runs every task once.
    pub(super) fn round(&self, bench: &mut Bench, mlnet: &MlNet) -> Result<(), String> {
        for compression in ["deflate", "none"] {
            let theirs = self.directory.join(format!("{compression}-mlnet.idv"));
            let mut driver = mlnet.driver("bench-save");
            driver.arg(&self.file).arg(&theirs).args(["--compression", compression, "--repeat", REPEATS]);
            self.save(bench, &mut driver, "ML.NET", compression, "", &theirs)?;
            for way in [ALL_CORES, ONE_THREAD] {
                let ours = self.directory.join(format!("{compression}-ours.idv"));
                let mut save = shell::program(&self.program);
                save.arg("save").arg(&self.file).arg(&ours).args(["--compression", compression, "--repeat", REPEATS]);
                save.args(way.split_whitespace());
                self.save(bench, &mut save, "ours", compression, way, &ours)?;
            }
        }
        for sync in [false, true] {
            self.join(bench, sync)?;
        }
        Ok(())
    }

    /// Measures the seconds, bytes and memory that a program takes to save the table, and checks the written file.
    fn save(
        &self,
        bench: &mut Bench,
        process: &mut Command,
        who: &'static str,
        compression: &str,
        way: &str,
        out: &Path,
    ) -> Result<(), String> {
        let work = format!("save {compression} {way}");
        // Only ML.NET reports a checksum.
        let equal = [("rows", "rows"), ("checksum", TABLE)];
        let equal = if who == "ML.NET" { &equal[..] } else { &equal[..1] };
        let lines = bench.measure(process, who, &work, equal, "seconds")?;
        // ML.NET's memory grows with each repetition.
        let first = lines.first().ok_or("nothing was saved")?;
        bench.sample(who, &format!("bytes of {work}"), number(first, "bytes")?);
        bench.sample(who, &format!("memory of {work}"), number(first, "peak_kb")? / 1024.0);
        bench.check(out, TABLE)?;
        remove(out)
    }

    /// Joining four files against copying the result with `cp`: whole processes, each writing a new file.
    fn join(&self, bench: &mut Bench, sync: bool) -> Result<(), String> {
        let (joined, copied) = (self.directory.join("joined.idv"), self.directory.join("copied.idv"));
        let work = if sync { "join and sync" } else { "join" };
        for _ in 0..3 {
            let mut copy = shell::program("cp");
            copy.arg(&self.whole).arg(&copied);
            let mut sync_it = shell::program("sync");
            sync_it.arg(&copied);
            let start = Instant::now();
            shell::run(copy)?;
            if sync {
                shell::run(sync_it)?;
            }
            bench.sample("cp", work, start.elapsed().as_secs_f64());

            let mut merge = shell::program(&self.program);
            merge.arg("merge").arg(&joined).args(&self.parts).args(sync.then_some("--sync"));
            let start = Instant::now();
            let report = shell::text(merge)?;
            bench.sample("ours", work, start.elapsed().as_secs_f64());
            self.check_joined(&report, &joined)?;
            remove(&joined)?;
            remove(&copied)?;
        }
        Ok(())
    }

    /// Checks that all blocks were copied unchanged, and that the file equals one written at once.
    fn check_joined(&self, report: &str, joined: &Path) -> Result<(), String> {
        let report: Value =
            serde_json::from_str(report).map_err(|error| format!("merge printed invalid JSON: {error}"))?;
        let field = |name: &str| report.get(name).and_then(Value::as_u64);
        let blocks = field("rows").map(|rows| rows / ROWS_PER_BLOCK * COLUMNS);
        if field("copied_blocks") != blocks || field("encoded") != Some(0) || blocks == Some(0) {
            return Err(format!("some blocks were not copied unchanged: {report}"));
        }
        let read = |path: &Path| fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
        if read(joined)? != read(&self.whole)? {
            return Err("the joined file differs from the file written at once".to_owned());
        }
        Ok(())
    }

    pub(super) fn rows(&self, bench: &Bench) -> Result<Vec<Row>, String> {
        let beside = |work: &str, compression: &str, way: &str, target| {
            let theirs = bench.median("ML.NET", &format!("save {compression} "))?;
            let ours = bench.median("ours", &format!("save {compression} {way}"))?;
            Ok::<_, String>(seconds(format!("save, {work}"), "ML.NET", theirs, ours, target))
        };
        let mut rows = vec![
            beside("DEFLATE, all cores", "deflate", ALL_CORES, Some(1.8))?,
            beside("DEFLATE, one thread", "deflate", ONE_THREAD, None)?,
            beside("uncompressed, all cores", "none", ALL_CORES, None)?,
            beside("uncompressed, one thread", "none", ONE_THREAD, None)?,
        ];
        for (work, what, unit, scale) in [
            ("bytes saved, DEFLATE", "bytes", "MiB", f64::from(1 << 20)),
            ("peak memory while saving, DEFLATE", "memory", "MiB", 1.0),
        ] {
            let theirs = bench.median("ML.NET", &format!("{what} of save deflate "))? / scale;
            let ours = bench.median("ours", &format!("{what} of save deflate {ALL_CORES}"))? / scale;
            let (work, beside) = (work.to_owned(), "ML.NET".to_owned());
            rows.push(Row { work, beside, theirs, ours, unit, ratio: theirs / ours, target: Some(1.0) });
        }
        let parts = self.parts.len();
        for (work, target) in [("join", Some(1.0 / 1.5)), ("join and sync", None)] {
            let (theirs, ours) = (bench.median("cp", work)?, bench.median("ours", work)?);
            let beside = if target.is_some() { "cp of as many bytes" } else { "cp and sync" };
            rows.push(seconds(format!("{work} {parts} files of equal blocks"), beside, theirs, ours, target));
        }
        Ok(rows)
    }
}

fn remove(file: &Path) -> Result<(), String> {
    fs::remove_file(file).map_err(|error| format!("cannot remove {}: {error}", file.display()))
}
