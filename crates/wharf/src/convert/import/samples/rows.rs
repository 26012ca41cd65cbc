//! Rows of any container as samples.

use container_core::{Error, ErrorKind, Progress, Result, Scan, Table};
use datadings::ser::extend;
use datadings::{Kind, RawValue, Writer, json};

use super::message::{put_key_before, put_sample};
use super::{KEY, Keys, SampleOptions, Sampled, no_column, no_key, no_key_text, number, of_input, two_keys};

/// Rows between two words to a progress.
const STRIDE: u64 = 256;

/// Writes rows of a table as samples, in their order: floats stay floats of their size, texts and numbers are what they are, times and row
/// ids become texts. `before` is the number of rows in the inputs before this one; [`SampleOptions::rows`] counts them too.
///
/// # Errors
/// Of the table and of the writer; a row without a key or with one that is no text, with its number;
/// [`Usage`](ErrorKind::Usage) for a column that does not exist.
pub fn write_rows(
    table: &dyn Table,
    scan: &Scan,
    writer: &mut Writer,
    options: &SampleOptions,
    before: u64,
    progress: Option<&dyn Progress>,
) -> Result<Sampled> {
    let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    let find = |name: &str| names.iter().position(|known| *known == name);
    let mut scan = scan.clone();
    scan.rows = options.rows.start.saturating_sub(before)..options.rows.end.saturating_sub(before);
    // Where the length is not known, the range may begin behind it.
    if let Some(len) = table.len() {
        scan.rows = scan.rows.start.min(len)..scan.rows.end.min(len);
    }
    let key = match options.key_column() {
        None => None,
        Some(KEY) => Some(find(KEY).ok_or_else(|| no_key(KEY))?),
        Some(column) => Some(find(column).ok_or_else(|| no_column(column))?),
    };
    // A column that is read for the key alone, the last one.
    let mut key_alone = false;
    if let Some(columns) = &options.columns {
        let mut chosen = Vec::new();
        for name in columns {
            chosen.push(find(name).ok_or_else(|| no_column(name))?);
        }
        match key.filter(|key| !chosen.contains(key)) {
            Some(key) if options.keys == Keys::Key => chosen.insert(0, key),
            Some(key) => {
                chosen.push(key);
                key_alone = true;
            }
            None => {}
        }
        scan.columns = Some(chosen);
    }
    let wanted = |index: usize| scan.columns.as_ref().is_none_or(|chosen| chosen.contains(&index));
    if options.makes_key() && find(KEY).is_some_and(wanted) {
        return Err(two_keys());
    }
    let as_text: Vec<bool> = match &scan.columns {
        Some(chosen) => {
            chosen.iter().filter_map(|&index| table.columns().get(index)).map(|c| is_word(&c.kind)).collect()
        }
        None => table.columns().iter().filter(|c| c.unreadable.is_none()).map(|c| is_word(&c.kind)).collect(),
    };
    let mut rows = table.rows(&scan)?;
    let mut row =
        Row { options, as_text, key_alone, plain: Vec::new(), told: Vec::new(), text: Vec::new(), out: Vec::new() };
    let mut sampled = Sampled { passed: before, ..Sampled::default() };
    while rows.advance()? {
        let index = rows.index();
        let place = |error: Error| of_input(error).in_row(index);
        row.make(rows.as_ref(), before).map_err(place)?;
        writer
            .append_message(&row.out)
            .map_err(|error| if error.kind() == ErrorKind::Io { error } else { place(error) })?;
        sampled.rows += 1;
        sampled.passed = before + index + 1;
        if let Some(progress) = progress.filter(|_| sampled.rows.is_multiple_of(STRIDE)) {
            progress.advance(STRIDE);
        }
    }
    if let Some(len) = table.len() {
        sampled.passed = before.saturating_add(len);
    }
    sampled.losses = rows.losses();
    Ok(sampled)
}

/// Columns whose values are numbers to serde and words to people.
fn is_word(kind: &str) -> bool {
    ["DateTime", "TimeSpan", "RowId"].iter().any(|word| kind.contains(word))
}

/// Makes a sample of a row. The buffers are used again.
struct Row<'a> {
    options: &'a SampleOptions,
    as_text: Vec<bool>,
    key_alone: bool,
    plain: Vec<u8>,
    told: Vec<u8>,
    text: Vec<u8>,
    out: Vec<u8>,
}

impl Row<'_> {
    fn make(&mut self, rows: &dyn container_core::Rows, before: u64) -> Result<()> {
        self.plain.clear();
        self.out.clear();
        extend(&mut self.plain, rows.row())?;
        if self.as_text.contains(&true) {
            self.words(rows)?;
        }
        let map = RawValue::new(&self.plain);
        let key = match self.options.key_column() {
            None => Some(number(before + rows.index())),
            Some(column) => {
                let key = map.get(column)?.ok_or_else(|| no_key(column))?;
                let key = text(key, column)?;
                self.options.makes_key().then_some(key)
            }
        };
        let Some(key) = key else {
            self.out.extend_from_slice(&self.plain);
            return Ok(());
        };
        if !self.key_alone {
            return put_key_before(&mut self.out, &key, &self.plain);
        }
        let mut fields = fields(map)?;
        fields.pop();
        put_sample(&mut self.out, Some(&key), fields.into_iter())
    }

    /// Exchanges the values that are words to people.
    fn words(&mut self, rows: &dyn container_core::Rows) -> Result<()> {
        self.text.clear();
        self.told.clear();
        rows.json(&mut self.text)?;
        json::to_msgpack(&self.text, &mut self.told)?;
        let (plain, told) = (fields(RawValue::new(&self.plain))?, fields(RawValue::new(&self.told))?);
        let mixed: Vec<_> = plain
            .into_iter()
            .zip(told)
            .zip(&self.as_text)
            .map(|((plain, told), &as_text)| if as_text { told } else { plain })
            .collect();
        let mut out = Vec::with_capacity(self.plain.len());
        put_sample(&mut out, None, mixed.into_iter())?;
        self.plain = out;
        Ok(())
    }
}

fn fields(map: RawValue<'_>) -> Result<Vec<(&str, &[u8])>> {
    map.entries()?.map(|entry| entry.and_then(|(name, value)| Ok((name.str()?, value.as_bytes())))).collect()
}

fn text(key: RawValue<'_>, column: &str) -> Result<String> {
    match key.kind()? {
        Kind::Str => Ok(key.str()?.to_owned()),
        Kind::Integer if column != KEY => {
            key.u64().map(|n| n.to_string()).or_else(|_| key.i64().map(|n| n.to_string()))
        }
        found => {
            let found = format!("a value of the kind {found:?}").to_lowercase();
            let wanted = if column == KEY { "a text" } else { "a text or an integer" };
            Err(no_key_text(&found, wanted))
        }
    }
}
