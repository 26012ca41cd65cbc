//! Converts files of any format, with progress and losses: `cargo run --example convert -- a.csv b.csv days.parquet`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wharf::{Convert, Overwrite, Progress, Registry, Unit};

/// Counts completed units.
#[derive(Default)]
struct Count(AtomicU64);

impl Progress for Count {
    fn name(&self, name: &str) {
        eprintln!("reading {name}");
    }

    fn begin(&self, unit: Unit, total: Option<u64>) {
        eprintln!("total: {total:?} {unit:?}");
    }

    fn advance(&self, done: u64) -> wharf::Result<()> {
        self.0.fetch_add(done, Ordering::Relaxed);
        Ok(())
    }
}

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let Some(output) = names.pop().filter(|_| !names.is_empty()) else {
        eprintln!("usage: convert INPUT... OUTPUT");
        return ExitCode::from(2);
    };
    let count = Arc::new(Count::default());
    let convert = Convert::new(names).with_progress(Arc::clone(&count) as Arc<dyn Progress>);
    match convert.write(&output, Overwrite::Refuse, &Registry::builtin()) {
        Ok(report) => {
            report.losses.iter().for_each(|lost| eprintln!("lost: {lost}"));
            println!(
                "{output}: {} rows, {} bytes; {} units of progress",
                report.rows,
                report.bytes,
                count.0.load(Ordering::Relaxed)
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
