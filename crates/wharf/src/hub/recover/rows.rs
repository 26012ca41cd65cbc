//! Copies the readable rows of a damaged file into a new one, for formats that are read and written in batches.
//!
//! Reading ends at a damaged batch. The first and last unreadable row are found by galloping search: ranges that double, then bisection of the last.
//! The search for the last one does not pass over the start of a block: what is damaged there is another damage.

use std::error::Error as _;
use std::fmt;
use std::ops::Range;

use container_arrow::{ArrowTable, BatchScan, BatchWriter};
use container_core::{Error, ErrorKind, Format, Loss, OpenOptions, Result, Scan, Unit};

use super::super::convert::{Streaming, TargetInfo, TargetUnit, To};
use super::super::env::Opener;
use super::super::{Bar, Lost, copy_rows, output};
use super::{MAX_LISTED, Operation, Recover, Recoverer, Report};

/// Maximum number of ranges tried: each can take as long as reading a block of the file.
const MAX_TRIES: u32 = 4096;

/// Maximum number of lost ranges that are reported one by one.
const MAX_LOSSES: usize = 20;

/// Recovers files of a format without a recoverer.
pub(super) struct RowRecoverer(pub(super) &'static dyn Format);

impl fmt::Debug for RowRecoverer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RowRecoverer").field(&self.0.name()).finish()
    }
}

impl Operation for RowRecoverer {
    fn info(&self) -> TargetInfo {
        TargetInfo::new(self.0.name(), TargetUnit::Rows, Streaming::Unsupported("rows are recovered into a file"))
    }
}

impl Recoverer for RowRecoverer {
    fn run(&self, job: &Recover, to: To<'_>, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let (path, force) = to.file();
        let (format, location) = (self.0, &job.input);
        let named = |error: Error| error.in_file(location.name()).in_format(format.name());
        let of_output = |error: Error| error.in_file(path.display().to_string()).in_format(format.name());
        let input = location.input(opener).map_err(named)?;
        let options = output::options(path, force, std::slice::from_ref(location))?;
        job.progress().name(&location.name());
        let open = OpenOptions::default().with_access(opener.access);
        if let Some(recovered) = format.recover(&input, &open, path, options).map_err(named)? {
            report.rows = recovered.rows;
            report.losses.extend(Lost::all(recovered.losses, Some(&location.name())));
            report.bytes = path.metadata().map_or(0, |metadata| metadata.len());
            return Ok(());
        }
        if !format.is_writable() {
            let recoverers = opener.registry.recoverers();
            let is_recovered = |format: &&&dyn Format| {
                format.is_writable() || recoverers.iter().any(|own| own.info().format == format.name())
            };
            let known: Vec<&str> =
                opener.registry.formats().iter().filter(is_recovered).map(|own| own.name()).collect();
            let detail = format!("files of this format cannot be recovered, only those of {}", known.join(", "));
            return Err(named(Error::usage(detail)));
        }
        let container = opener.registry.open_with(&input, &open).map_err(named)?;
        let tables = container.tables();
        let unable = |why: &str| named(Error::unsupported(format!("cannot be recovered: {why}")));
        let [table] = *tables.as_slice() else { return Err(unable("expected one table")) };
        let len = table.len().ok_or_else(|| unable("the start of the row after a damaged one is unknown"))?;
        let arrow = table.arrow().ok_or_else(|| unable("its rows cannot be read as record batches"))?;
        report.declared = Some(len);
        report.losses.extend(copy_rows::unreadable(location, arrow));
        let schema = arrow.schema(&BatchScan::default()).map_err(named)?;
        report.columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        let writer = format.batch_writer(path, schema, options).map_err(|error| match error.kind() {
            ErrorKind::Unsupported => named(Error::unsupported("cannot be recovered").caused_by(error)),
            _ => of_output(error),
        })?;
        let mut walk = Walk {
            table: arrow,
            bar: job.progress().as_ref(),
            writer,
            len,
            blocks: table.block_starts(),
            row: 0,
            written: 0,
            tries: 0,
            threads: job.threads,
        };
        job.progress().begin(Unit::Rows, Some(len));
        let mut damages = Vec::new();
        while walk.row < len {
            if let Some(damage) = walk.next(&of_output).map_err(named)? {
                damages.push(damage);
            }
        }
        report.rows = walk.written;
        report.losses.extend(Lost::all(losses(&damages), Some(&location.name())));
        report.lost_ranges = damages.iter().map(|damage| damage.rows.clone()).take(MAX_LISTED).collect();
        if let Some(first) = damages.into_iter().next().filter(|_| walk.written == 0) {
            return Err(named(Error::invalid("no row can be read").caused_by(first.error)));
        }
        let losses = walk.writer.finish().map_err(of_output)?;
        report.losses.extend(Lost::all(losses, None));
        report.bytes = path.metadata().map_or(0, |metadata| metadata.len());
        Ok(())
    }
}

/// Rows that cannot be read, and why the first of them cannot.
struct Damage {
    rows: Range<u64>,
    error: Error,
    /// They were not tried one by one.
    is_untried: bool,
}

/// Each of the first ranges, and the others together.
fn losses(damages: &[Damage]) -> Vec<Loss> {
    let loss = |damage: &Damage| {
        let Damage { rows, error, .. } = damage;
        let which = match rows.end - rows.start {
            1 => format!("row {} is lost", rows.start),
            _ => format!("rows {} to {} are lost", rows.start, rows.end - 1),
        };
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        let mut first = error.position().clone();
        (first.file, first.row) = (None, Some(rows.start));
        Loss::new(format!("{which}: {}{cause}", error.detail()), rows.end - rows.start, first)
    };
    // What was not tried is the last, and is reported by itself.
    let (damages, rest) = match damages {
        [damages @ .., rest] if rest.is_untried => (damages, Some(rest)),
        _ => (damages, None),
    };
    let (each, others) = damages.split_at_checked(MAX_LOSSES).unwrap_or((damages, &[]));
    let mut losses: Vec<Loss> = each.iter().map(loss).collect();
    if let Some(first) = others.first() {
        let mut all = loss(first);
        all.what = format!("rows are lost in {} more places", others.len());
        all.count = others.iter().map(|damage| damage.rows.end - damage.rows.start).sum();
        losses.push(all);
    }
    losses.extend(rest.map(loss));
    losses
}

/// A walk over all rows that can be read.
struct Walk<'a> {
    table: &'a dyn ArrowTable,
    bar: &'a Bar,
    writer: Box<dyn BatchWriter>,
    len: u64,
    /// The first rows of blocks.
    blocks: Vec<u64>,
    /// The next row.
    row: u64,
    written: u64,
    tries: u32,
    threads: usize,
}

impl Walk<'_> {
    /// Writes rows up to the next damage, and goes behind it. Errors are those that are no damage.
    fn next(&mut self, of_output: &dyn Fn(Error) -> Error) -> Result<Option<Damage>> {
        let Some(error) = self.copy(self.len, of_output)? else {
            let missing = self.row..self.len;
            self.row = self.len;
            let error = Error::invalid("the file has fewer rows than it says");
            return Ok((!missing.is_empty()).then_some(Damage { rows: missing, error, is_untried: false }));
        };
        // Of the batch that cannot be read, the first rows may be whole.
        let start = self.row;
        let whole = self.boundary(start..self.len, &|row| start..row + 1, false)?;
        let error = self.copy(whole, of_output)?.unwrap_or(error);
        let start = self.row;
        let mut behind = self.readable_from(start + 1)?;
        let is_untried = self.tries >= MAX_TRIES;
        let error = if is_untried {
            behind = self.len;
            Error::invalid("the file is damaged in too many places to try them all").caused_by(error)
        } else {
            error
        };
        self.row = behind;
        Ok(Some(Damage { rows: start..behind, error, is_untried }))
    }

    fn scan(&self, rows: Range<u64>) -> BatchScan {
        BatchScan::from(Scan::default().with_rows(rows).with_threads(self.threads))
    }

    /// Copies rows up to `end`, or up to a batch that cannot be read, whose error it returns.
    fn copy(&mut self, end: u64, of_output: &dyn Fn(Error) -> Error) -> Result<Option<Error>> {
        if self.row >= end {
            return Ok(None);
        }
        let mut batches = match self.table.batches(&self.scan(self.row..end)) {
            Ok(batches) => batches,
            Err(error) => return damage(error).map(Some),
        };
        loop {
            match batches.try_next() {
                Ok(None) => return Ok(None),
                Ok(Some(batch)) => {
                    self.writer.write(&batch).map_err(of_output)?;
                    let rows = batch.num_rows() as u64;
                    self.row += rows;
                    self.written += rows;
                    self.bar.advance(rows)?;
                }
                Err(error) => return damage(error).map(Some),
            }
        }
    }

    /// The first readable row from `start` on, or else the number of rows.
    fn readable_from(&mut self, start: u64) -> Result<u64> {
        let mut row = start;
        while row < self.len {
            let next = self.blocks.partition_point(|block| *block <= row);
            let end = self.blocks.get(next).copied().unwrap_or(self.len);
            // A block without its first and last row is taken for one without any, or the tries would not suffice.
            let is_first = self.blocks.binary_search(&row).is_ok();
            if is_first && self.can_read(row..row + 1)? {
                return Ok(row);
            }
            if !is_first || self.can_read(end - 1..end)? {
                let found = self.boundary(row..end, &|row| row..row + 1, true)?;
                if found < end {
                    return Ok(found);
                }
            }
            row = end;
        }
        Ok(self.len)
    }

    /// The first row of `among` whose `range` is `readable`, or else the end.
    fn boundary(&mut self, among: Range<u64>, range: &dyn Fn(u64) -> Range<u64>, readable: bool) -> Result<u64> {
        let (mut low, mut step) = (among.start, 1);
        let mut high = among.start;
        loop {
            if high >= among.end {
                return Ok(among.end);
            }
            if self.can_read(range(high))? == readable {
                break;
            }
            if high + 1 >= among.end {
                return Ok(among.end);
            }
            low = high + 1;
            high = high.saturating_add(step).min(among.end - 1);
            step *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.can_read(range(middle))? == readable { high = middle } else { low = middle + 1 }
        }
        Ok(high)
    }

    /// Whether all of these rows can be read. Always false after [`MAX_TRIES`].
    fn can_read(&mut self, rows: Range<u64>) -> Result<bool> {
        self.tries += 1;
        if self.tries > MAX_TRIES {
            return Ok(false);
        }
        let expected = rows.end - rows.start;
        let mut batches = match self.table.batches(&self.scan(rows)) {
            Ok(batches) => batches,
            Err(error) => return damage(error).map(|_| false),
        };
        let mut found = 0;
        loop {
            match batches.try_next() {
                Ok(None) => return Ok(found == expected),
                Ok(Some(batch)) => found += batch.num_rows() as u64,
                Err(error) => return damage(error).map(|_| false),
            }
        }
    }
}

/// Separates damage from errors of the disk or the caller.
fn damage(error: Error) -> Result<Error> {
    match error.kind() {
        ErrorKind::Io | ErrorKind::Usage => Err(error),
        _ => Ok(error),
    }
}
