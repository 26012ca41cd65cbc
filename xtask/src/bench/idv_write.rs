//! Saving IDV files beside ML.NET, and joining them beside `cp`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use super::idv::{ALL_CORES, Bench, ONE_THREAD, REPEATS, number, seconds};
use super::table::Row;
use crate::mlnet::MlNet;
use crate::shell;

/// Blocks whose columns all hold as many rows are carried over as they are; so many columns has the table.
const COLUMNS: u64 = 4;
const ROWS_PER_BLOCK: u64 = 8192;

/// The work whose checksum is that of the whole table.
const TABLE: &str = "deflate all";

/// What is saved and joined, and where.
pub(super) struct Writing {
    program: PathBuf,
    file: PathBuf,
    directory: PathBuf,
    /// Four files of whole blocks, and their rows in one.
    parts: Vec<PathBuf>,
    whole: PathBuf,
}

impl Writing {
    /// Makes ready what is measured: the parts of a file that ML.NET wrote.
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

    /// Everybody's turn, once.
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

    /// Measures one program that saves the table, and what it takes: seconds, bytes, memory. What was written holds the table.
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
        // ML.NET says what it saves.
        let equal = [("rows", "rows"), ("checksum", TABLE)];
        let equal = if who == "ML.NET" { &equal[..] } else { &equal[..1] };
        let lines = bench.measure(process, who, &work, equal, "seconds")?;
        // Each further repetition leaves more behind in ML.NET's memory.
        let first = lines.first().ok_or("nothing was saved")?;
        bench.sample(who, &format!("bytes of {work}"), number(first, "bytes")?);
        bench.sample(who, &format!("memory of {work}"), number(first, "peak_kb")? / 1024.0);
        bench.check(out, TABLE)?;
        remove(out)
    }

    /// Four files into one, beside a copy of that one by `cp`: whole processes, each into a file that was not there.
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
            let told = shell::text(merge)?;
            bench.sample("ours", work, start.elapsed().as_secs_f64());
            self.check_joined(&told, &joined)?;
            remove(&joined)?;
            remove(&copied)?;
        }
        Ok(())
    }

    /// All blocks were carried over, and the file has the bytes of one that was written at once.
    fn check_joined(&self, told: &str, joined: &Path) -> Result<(), String> {
        let told: Value = serde_json::from_str(told).map_err(|error| format!("merge printed no JSON: {error}"))?;
        let field = |name: &str| told.get(name).and_then(Value::as_u64);
        let blocks = field("rows").map(|rows| rows / ROWS_PER_BLOCK * COLUMNS);
        if field("carried") != blocks || field("encoded") != Some(0) || blocks == Some(0) {
            return Err(format!("not all blocks were carried over: {told}"));
        }
        let read = |path: &Path| fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
        if read(joined)? != read(&self.whole)? {
            return Err("the files joined are not the file that was written at once".to_owned());
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
