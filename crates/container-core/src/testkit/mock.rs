//! A mock format for tests: a JSON document defines the tables, and where reading them fails.
//!
//! ```json
//! {"mock": 1, "version": "7", "details": {"flavour": "sour"},
//!  "tables": [{"name": "rows", "unknown_length": false, "fail_at": 2, "losses": [["NaN shown as null", 1, 0]],
//!              "columns": [{"name": "a", "type": "int", "details": {}, "more": {}, "unreadable": "unknown codec"},
//!                          {"name": "b", "type": "int", "more_fails": "metadata is damaged"}],
//!              "rows": [[1, 2], [3, 4]], "keys": ["k1", "k2"]}],
//!  "findings": [{"severity": "error", "message": "bad sum", "byte": 7}], "verify_fails": "disk on fire"}
//! ```

use crate::{
    ColumnInfo, Container, Error, Finding, Format, Input, Loss, OpenOptions, Position, Probe, Recognition, Result,
    Rows, Scan, Table, VerifyOptions,
};
use serde_json::{Map, Value};

/// The mock format, for [`detect`](crate::detect).
pub const MOCK: &dyn Format = &Mock;

struct Mock;

impl Format for Mock {
    fn name(&self) -> &'static str {
        "mock"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["mock"]
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if probe.head.starts_with(br#"{"mock""#) {
            Recognition::Content
        } else if probe.has_extension(self.extensions()) {
            Recognition::Name
        } else {
            Recognition::No
        }
    }

    fn open(&self, input: &Input, _: &OpenOptions) -> Result<Box<dyn Container>> {
        let source = input.source().ok_or_else(|| Error::unsupported("a directory"))?;
        let bytes = source.read(0..source.len())?;
        let document: Value =
            serde_json::from_slice(&bytes).map_err(|cause| Error::invalid("invalid JSON").at(0).caused_by(cause))?;
        let tables = array(&document, "tables").iter().map(MockTable::new).collect();
        Ok(Box::new(MockContainer { document, tables }))
    }
}

fn array<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value, member: &str) -> String {
    value.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn object(value: &Value, member: &str) -> Map<String, Value> {
    value.get(member).and_then(Value::as_object).cloned().unwrap_or_default()
}

struct MockContainer {
    document: Value,
    tables: Vec<MockTable>,
}

impl Container for MockContainer {
    fn format(&self) -> &'static str {
        "mock"
    }

    fn version(&self) -> String {
        text(&self.document, "version")
    }

    fn details(&self) -> Map<String, Value> {
        object(&self.document, "details")
    }

    fn tables(&self) -> Vec<&dyn Table> {
        self.tables.iter().map(|table| table as &dyn Table).collect()
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        if let Some(progress) = &options.progress {
            progress.begin(crate::Unit::Rows, Some(1));
            progress.advance(1)?;
        }
        for finding in array(&self.document, "findings") {
            let mut error = Error::invalid(text(finding, "message")).in_format("mock");
            if let Some(byte) = finding["byte"].as_u64() {
                error = error.at(byte);
            }
            report(if finding["severity"] == "warning" { Finding::warning(error) } else { Finding::error(error) });
        }
        match self.document.get("verify_fails") {
            Some(_) => Err(Error::io("cannot read", std::io::Error::other(text(&self.document, "verify_fails")))),
            None => Ok(()),
        }
    }
}

struct MockTable {
    document: Value,
    name: String,
    columns: Vec<ColumnInfo>,
    rows: Vec<Vec<Value>>,
}

impl MockTable {
    fn new(document: &Value) -> Self {
        let columns = array(document, "columns").iter().map(|column| {
            let mut info = ColumnInfo::new(text(column, "name"), text(column, "type"));
            info.details = object(column, "details").into_iter().collect();
            info.unreadable = column.get("unreadable").and_then(Value::as_str).map(str::to_owned);
            info
        });
        let rows = array(document, "rows").iter().map(|row| row.as_array().cloned().unwrap_or_default());
        Self {
            name: text(document, "name"),
            columns: columns.collect(),
            rows: rows.collect(),
            document: document.clone(),
        }
    }

    fn unknown_length(&self) -> bool {
        self.document["unknown_length"] == true
    }
}

impl Table for MockTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        let column = array(&self.document, "columns").get(index).ok_or_else(|| Error::usage("no such column"))?;
        match column.get("more_fails") {
            Some(reason) => {
                Err(Error::invalid(reason.as_str().unwrap_or_default().to_owned()).in_format("mock").at(99))
            }
            None => Ok(object(column, "more")),
        }
    }

    fn len(&self) -> Option<u64> {
        (!self.unknown_length()).then_some(self.rows.len() as u64)
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        let readable = || (0..self.columns.len()).filter(|&i| self.columns[i].unreadable.is_none()).collect();
        let columns: Vec<usize> = scan.columns.clone().unwrap_or_else(readable);
        for &column in &columns {
            let info = self.columns.get(column).ok_or_else(|| Error::usage("no such column"))?;
            if let Some(reason) = &info.unreadable {
                return Err(Error::usage(format!("the column cannot be read: {reason}")).in_column(info.name.clone()));
            }
        }
        if !self.unknown_length() && scan.rows.start > self.rows.len() as u64 {
            return Err(Error::usage("row range starts past the end"));
        }
        let next = scan.rows.start;
        let end = scan.rows.end.min(self.rows.len() as u64);
        let all = scan.columns.is_none();
        Ok(Box::new(MockRows { table: self, columns, all, next, end, row: Map::new() }))
    }

    fn find(&self, key: &str) -> Result<Option<u64>> {
        if self.document.get("keys").is_none() {
            return Err(Error::usage("rows of this format have no keys"));
        }
        Ok(array(&self.document, "keys").iter().position(|known| known == key).map(|row| row as u64))
    }
}

struct MockRows<'a> {
    table: &'a MockTable,
    columns: Vec<usize>,
    /// No projection was given.
    all: bool,
    next: u64,
    end: u64,
    row: Map<String, Value>,
}

impl Rows for MockRows<'_> {
    fn advance(&mut self) -> Result<bool> {
        if self.next >= self.end {
            return Ok(false);
        }
        if self.table.document["fail_at"] == self.next {
            let error = Error::invalid("the block is damaged").in_format("mock").in_row(self.next);
            self.next = self.end;
            return Err(error);
        }
        let values = &self.table.rows[usize::try_from(self.next).unwrap_or(usize::MAX)];
        let fields = self.columns.iter().map(|&i| (self.table.columns[i].name.clone(), values[i].clone()));
        self.row = fields.collect();
        self.next += 1;
        Ok(true)
    }

    fn index(&self) -> u64 {
        self.next - 1
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        &self.row
    }

    /// Fails within the row for a value `{"$no_json": true}`.
    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        if self.row.values().any(|value| value.get("$no_json").is_some()) {
            out.extend_from_slice(b"{\"half");
            return Err(Error::invalid("the value has no JSON form").in_format("mock"));
        }
        serde_json::to_writer(out, &self.row).map_err(|cause| Error::invalid("no JSON").caused_by(cause))
    }

    fn losses(&self) -> Vec<Loss> {
        let losses = array(&self.table.document, "losses").iter().map(|loss| {
            let first = Position { row: loss[2].as_u64(), ..Position::default() };
            Loss::new(loss[0].as_str().unwrap_or_default().to_owned(), loss[1].as_u64().unwrap_or(0), first)
        });
        // Skipped columns come before losses of the rows.
        let skipped = self.table.columns.iter().filter(|_| self.all).filter_map(|column| {
            let first = Position { column: Some(column.name.clone().into()), ..Position::default() };
            Some(Loss::new(format!("column left out ({})", column.unreadable.as_ref()?), 1, first))
        });
        skipped.chain(losses).collect()
    }
}
