//! Samples of a dataset into another.

use container_core::{Error, ErrorKind, Progress, Result};
use datadings::{Reader, Writer};

use super::message::put_sample;
use super::{KEY, SampleOptions, Sampled, no_column, of_input};

/// Samples between two words to a progress.
const STRIDE: u64 = 256;

/// Appends samples of a dataset: byte for byte as they are, unless columns are chosen. `before` is the number of samples in the inputs
/// before this one; [`SampleOptions::rows`] counts them too. [`SampleOptions::keys`] does not matter: samples have keys. For
/// samples that Python's `RawWriter` wrote under keys that are not theirs the writer has to take
/// [any message](datadings::WriterOptions::any_message); such samples are losses.
///
/// # Errors
/// Of the reader and of the writer, with the row; a key that was there before;
/// [`Usage`](ErrorKind::Usage) for a column that no sample has.
pub fn copy_samples(
    reader: &Reader,
    writer: &mut Writer,
    options: &SampleOptions,
    before: u64,
    progress: Option<&dyn Progress>,
) -> Result<Sampled> {
    let len = reader.len();
    let from = |row: u64| row.saturating_sub(before).min(len);
    let rows = from(options.rows.start)..from(options.rows.end);
    let mut keys = reader.keys(rows.clone())?;
    let mut seen = vec![false; options.columns.as_ref().map_or(0, Vec::len)];
    let mut out = Vec::new();
    let mut sampled = Sampled { passed: before + len, ..Sampled::default() };
    for sample in reader.samples(rows)? {
        let sample = sample?;
        let row = sample.index();
        let place = |error: Error| of_input(error).in_row(row);
        let key = keys.next().transpose()?.ok_or_else(|| place(Error::invalid("there are fewer keys than samples")))?;
        let message = match &options.columns {
            None => sample.as_bytes(),
            Some(columns) => {
                out.clear();
                project(&sample, columns, &mut seen, &mut out).map_err(place)?;
                &out
            }
        };
        writer
            .append_raw(&key, message)
            .map_err(|error| if error.kind() == ErrorKind::Io { error } else { place(error) })?;
        sampled.rows += 1;
        if let Some(progress) = progress.filter(|_| sampled.rows.is_multiple_of(STRIDE)) {
            progress.advance(STRIDE);
        }
    }
    sampled.losses = writer.take_losses();
    let missing = options.columns.iter().flatten().zip(&seen).find(|(_, seen)| !**seen);
    match missing {
        Some((name, _)) if sampled.rows > 0 => Err(no_column(name)),
        _ => Ok(sampled),
    }
}

/// A sample's chosen fields, and its key.
fn project(sample: &datadings::Sample<'_>, columns: &[String], seen: &mut [bool], out: &mut Vec<u8>) -> Result<()> {
    let raw = sample.raw();
    let mut fields = Vec::with_capacity(columns.len() + 1);
    if !columns.iter().any(|column| column == KEY)
        && let Some(key) = raw.get(KEY)?
    {
        fields.push((KEY, key.as_bytes()));
    }
    for (column, seen) in columns.iter().zip(seen) {
        if let Some(value) = raw.get(column)? {
            *seen = true;
            fields.push((column, value.as_bytes()));
        }
    }
    put_sample(out, None, fields.into_iter())
}
