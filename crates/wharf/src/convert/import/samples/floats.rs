//! Texts of JSON that stand for floats, told by all values of their column.

use std::ops::Range;

use container_core::{Progress, Result};
use datadings::json::FloatWords;
use memchr::memmem::Finder;

use super::super::{Inputs, RECORDS, TextTable};
use crate::text::records::Options;
use crate::text::records::chunk::Input;
use crate::text::records::chunk::{Chunk, part};
use crate::text::records::place::Place;
use crate::text::records::record::{Look, records};
use crate::workers::Workers;

/// Bytes that are searched at once.
const WINDOW: u64 = 1 << 20;

/// How texts that stand for floats end.
const ENDS: [&[u8]; 2] = [b"NaN\"", b"Infinity\""];

/// Looks at the values of a chunk.
#[derive(Default)]
struct Survey(FloatWords);

impl Survey {
    fn of(chunk: &Chunk, options: &Options, wanted: &Range<u64>) -> Result<FloatWords> {
        let mut survey = Self::default();
        records(chunk, options, 0, wanted, &mut survey)?;
        Ok(survey.0)
    }
}

impl Look for Survey {
    fn begin(&mut self, _: Place) {}

    fn member(&mut self, name: &str, value: &str, _: Place) -> Result<()> {
        self.0.member_mut(name)?.observe(value.as_bytes())
    }

    fn cell(&mut self, _: usize, _: &str, _: bool, _: Place) -> Result<()> {
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

impl TextTable {
    /// Reads the wanted rows of JSON and finds where texts stand for floats; `None` where no text can.
    pub(super) fn float_words(&self, rows: &Range<u64>, progress: Option<&dyn Progress>) -> Result<Option<FloatWords>> {
        if !self.may_have_words()? {
            return Ok(None);
        }
        self.begin(progress);
        let workers = Workers::new(self.options.threads);
        let mut cutter = self.chunks(RECORDS);
        let mut all = FloatWords::default();
        let mut passed = 0;
        while passed < rows.end {
            let (chunks, failure) = Self::gather(cutter.as_mut(), &workers);
            let look = |chunk: &Chunk| Survey::of(chunk, &self.options, &part(rows, chunk));
            for (chunk, words) in chunks.iter().zip(workers.map(chunks.iter().collect(), look)) {
                all.merge(words.map_err(|error| self.name(error, chunk))?);
                passed = chunk.row + chunk.records;
                self.told(progress, chunk);
            }
            if passed < rows.end {
                failure?;
            }
            if chunks.is_empty() {
                break;
            }
        }
        Ok(Some(all))
    }

    /// Nearly all inputs have no texts that end as those that stand for floats, and need not be looked at more closely.
    fn may_have_words(&self) -> Result<bool> {
        if let Inputs::Texts(texts) = &self.inputs {
            return Ok(texts.iter().map(has_words).collect::<Result<Vec<_>>>()?.contains(&true));
        }
        let finders = ENDS.map(Finder::new);
        let mut chunks = self.chunks(RECORDS);
        // What is wrong is told when samples are made.
        while let Ok(Some(chunk)) = chunks.next() {
            if finders.iter().any(|finder| finder.find(&chunk.bytes).is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Looks for the ends of texts that stand for floats.
fn has_words(input: &Input) -> Result<bool> {
    let finders = ENDS.map(Finder::new);
    let overlap = ENDS.iter().map(|end| end.len() as u64).max().unwrap_or(0);
    let (mut start, len) = (0, input.source.len());
    while start < len {
        let bytes = input.source.read(start..len.min(start + WINDOW + overlap))?;
        if finders.iter().any(|finder| finder.find(&bytes).is_some()) {
            return Ok(true);
        }
        start += WINDOW;
    }
    Ok(false)
}
