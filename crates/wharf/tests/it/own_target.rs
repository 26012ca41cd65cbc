//! A target of a program: it has an option of its own, and gets the rows of every format as record batches.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;

use arrow_array::{Array, RecordBatch};
use container_arrow::BatchWriter;
use wharf::convert::{Context, Job, OptionSpec, Streaming, Target, TargetInfo, TargetUnit, To};
use wharf::convert::{Opener, Report};
use wharf::{Convert, Error, Loss, Output, Overwrite, Registry, Result};

/// Writes the name and the number of nulls of each column.
#[derive(Debug, Default)]
struct NullCounts {
    separator: String,
}

struct Counter {
    output: Output,
    separator: String,
    counts: Vec<(String, usize)>,
}

impl BatchWriter for Counter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        for (index, (field, column)) in batch.schema().fields().iter().zip(batch.columns()).enumerate() {
            if self.counts.len() <= index {
                self.counts.push((field.name().clone(), 0));
            }
            self.counts[index].1 += column.null_count();
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<Loss>> {
        for (name, count) in &self.counts {
            let written = writeln!(self.output, "{name}{}{count}", self.separator);
            written.map_err(|cause| Error::io("cannot write the output", cause))?;
        }
        self.output.finish().map(|()| Vec::new())
    }
}

impl Target for NullCounts {
    fn info(&self) -> TargetInfo {
        TargetInfo::new("nulls", TargetUnit::Rows, Streaming::Unsupported("null counts are written to a file"))
    }

    fn options(&self) -> &'static [OptionSpec] {
        const SEPARATOR: OptionSpec = OptionSpec::text("separator", "What separates name and count");
        &[SEPARATOR]
    }

    fn set(&mut self, option: &str, value: &OsStr) -> Result<()> {
        assert_eq!(option, "separator");
        self.separator = value.to_string_lossy().into_owned();
        Ok(())
    }

    fn run(&self, job: &Job<'_>, context: &mut Context<'_, '_>, report: &mut Report) -> Result<()> {
        let path = job.path().ok_or_else(|| Error::usage("null counts are written to a file"))?;
        let begin = |_| {
            let output = Output::create(path, job.output_options())?;
            Ok(Box::new(Counter { output, separator: self.separator.clone(), counts: Vec::new() }))
        };
        job.copy_batches(context, report, begin)?.finish().map(drop)
    }
}

#[test]
fn rows_of_every_format_reach_a_target_of_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.jsonl"), "{\"id\":1,\"n\":null}\n{\"id\":2,\"n\":0.5}\n").unwrap();
    let registry = Registry::builtin();
    for name in ["a.jsonl", "a.csv", "a.parquet", "a.arrow", "a.zds"] {
        if name != "a.jsonl" {
            Convert::new([at("a.jsonl")])
                .with_columns(["id", "n"])
                .write(at(name), Overwrite::Refuse, &registry)
                .unwrap();
        }
        let (mut target, mut report) = (NullCounts::default(), Report::default());
        let mut convert = Convert::new([at(name)]).with_columns(["id", "n"]);
        convert.set(&mut target, "separator", "=", &registry).unwrap();
        let to = at("nulls.txt");
        let to = To::Path(&to, Overwrite::Replace);
        convert.run(&target, to, &mut Opener::new(registry.clone()), &mut report).unwrap();
        assert_eq!((report.rows, fs::read_to_string(at("nulls.txt")).unwrap().as_str()), (2, "id=0\nn=1\n"), "{name}");
    }
    let mut target = NullCounts::default();
    let error = Convert::default().set(&mut target, "level", "1", &registry).unwrap_err().to_string();
    assert_eq!(error, "level is an option of idv, the output is nulls");
    let error = Convert::new([at("a.csv")]).stream(&target, &mut Vec::new(), &registry).unwrap_err().to_string();
    assert_eq!(error, "null counts are written to a file");
}
