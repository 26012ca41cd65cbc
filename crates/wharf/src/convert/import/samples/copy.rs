//! Copies samples from one dataset into another.

use container_core::{Error, ErrorKind, Progress, Result};
use datadings::{Reader, Writer};

use super::message::write_sample;
use super::{KEY, SampleOptions, Sampled, as_input_error, unknown_column};

/// Samples between two progress reports.
const PROGRESS_SAMPLES: u64 = 256;

/// Appends samples of a dataset, byte for byte unless columns are selected. `before` is the number of samples in earlier inputs, which
/// [`SampleOptions::rows`] counts as well. [`SampleOptions::keys`] is ignored: samples keep their keys. Python's `RawWriter` can write
/// samples under other keys than their own; the writer must then accept [any message](datadings::WriterOptions::any_message), and such
/// samples are losses.
///
/// # Errors
/// Those of the reader and of the writer, with the row; a duplicate key; [`Usage`](ErrorKind::Usage) for a column that no sample has.
pub fn copy_samples(
    reader: &Reader,
    writer: &mut Writer,
    options: &SampleOptions,
    before: u64,
    progress: Option<&dyn Progress>,
) -> Result<Sampled> {
    let (len, range) = match &options.picked {
        None => (reader.len(), &options.rows),
        Some(picked) => (picked.rows.len() as u64, &picked.range),
    };
    let from = |row: u64| row.saturating_sub(before).min(len);
    let rows = from(range.start)..from(range.end);
    let samples: Box<dyn Iterator<Item = _>> = match &options.picked {
        None => {
            let mut keys = reader.keys(rows.clone())?;
            let mut next_key = move |row: u64| {
                let missing = || as_input_error(Error::invalid("fewer keys than samples")).in_row(row);
                keys.next().transpose()?.ok_or_else(missing)
            };
            Box::new(
                reader
                    .samples(rows)?
                    .map(move |sample| sample.and_then(|sample| Ok((next_key(sample.index())?, sample)))),
            )
        }
        Some(picked) => {
            let at = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
            let picked = picked.rows.get(at(rows.start)..at(rows.end)).unwrap_or_default();
            Box::new(picked.iter().map(|row| Ok((reader.key(*row)?, reader.get(*row)?))))
        }
    };
    let mut present = vec![false; options.columns.as_ref().map_or(0, Vec::len)];
    let mut out = Vec::new();
    let mut sampled = Sampled { passed: before + len, ..Sampled::default() };
    for sample in samples {
        let (key, sample) = sample?;
        let row = sample.index();
        let in_row = |error: Error| as_input_error(error).in_row(row);
        let message = match &options.columns {
            None => sample.as_bytes(),
            Some(columns) => {
                out.clear();
                project(&sample, columns, &mut present, &mut out).map_err(in_row)?;
                &out
            }
        };
        writer
            .append_raw(&key, message)
            .map_err(|error| if error.kind() == ErrorKind::Io { error } else { in_row(error) })?;
        sampled.rows += 1;
        if let Some(progress) = progress.filter(|_| sampled.rows.is_multiple_of(PROGRESS_SAMPLES)) {
            progress.advance(PROGRESS_SAMPLES)?;
        }
    }
    sampled.losses = writer.take_losses();
    let missing = options.columns.iter().flatten().zip(&present).find(|(_, present)| !**present);
    match missing {
        Some((name, _)) if sampled.rows > 0 => Err(unknown_column(name)),
        _ => Ok(sampled),
    }
}

/// Writes a sample's selected fields, and its key.
fn project(sample: &datadings::Sample<'_>, columns: &[String], present: &mut [bool], out: &mut Vec<u8>) -> Result<()> {
    let raw = sample.raw();
    let mut fields = Vec::with_capacity(columns.len() + 1);
    if !columns.iter().any(|column| column == KEY)
        && let Some(key) = raw.get(KEY)?
    {
        fields.push((KEY, key.as_bytes()));
    }
    for (column, present) in columns.iter().zip(present) {
        if let Some(value) = raw.get(column)? {
            *present = true;
            fields.push((column, value.as_bytes()));
        }
    }
    write_sample(out, None, fields.into_iter())
}
