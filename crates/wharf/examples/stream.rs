//! Streams rows to a writer, such as the body of an HTTP response: `cargo run --example stream -- adult.idv Age,Label`.

use std::io::{self, Write};
use std::process::ExitCode;

use wharf::convert::TextTarget;
use wharf::{Convert, Registry};

/// Writes HTTP chunks: each write with its length in front.
struct Chunked<W>(W);

impl<W: Write> Write for Chunked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write!(self.0, "{:x}\r\n", bytes.len())?;
        self.0.write_all(bytes)?;
        self.0.write_all(b"\r\n")?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(input) = arguments.next() else {
        eprintln!("usage: stream INPUT [COLUMN,...]");
        return ExitCode::from(2);
    };
    let columns = arguments.next().unwrap_or_default();
    let columns = columns.split(',').filter(|name| !name.is_empty());
    let convert = Convert::new([input]).with_columns(columns).with_rows(0..100);
    match convert.stream(&TextTarget::JSON_LINES, &mut Chunked(io::stdout()), &Registry::builtin()) {
        Ok(report) => {
            eprintln!("{} rows", report.rows);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
