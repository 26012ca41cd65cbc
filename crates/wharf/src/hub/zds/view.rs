//! Which documents are shown, and which of their fields.

use container_core::{Container, Error, Format, Input, OpenOptions, Result, Scan};
use serde_json::Value;
use zdx::{Predicate, ZdsContainer};

use super::super::select::{self, Selection};

/// Maximum number of names in a path.
const MAX_DEPTH: usize = 128;

/// A filter and projection of documents.
#[derive(Debug, Clone, Default)]
pub struct View {
    filter: Option<Predicate>,
    /// Fields that a filter compares with a value.
    compared: Vec<String>,
    /// The selected columns.
    columns: Vec<String>,
}

impl View {
    /// Applies a selection.
    pub fn set(&mut self, selection: &Selection) -> Result<()> {
        let all = selection.filters.iter().map(|text| predicate(text)).collect::<Result<Vec<_>>>()?;
        let compared = all.iter().filter_map(|predicate| match predicate {
            // A missing field can count as null.
            Predicate::Eq(field, value) if !value.is_null() => Some(field.clone()),
            _ => None,
        });
        self.compared = compared.collect();
        self.filter = Some(Predicate::And(all)).filter(|_| !selection.filters.is_empty());
        self.columns(&selection.columns)
    }

    /// Sets the selected columns.
    pub fn columns(&mut self, asked: &[String]) -> Result<()> {
        self.columns.clear();
        for argument in asked {
            self.columns.extend(select::split(argument)?);
        }
        self.columns.iter().try_for_each(|name| checked(name))
    }

    /// Whether a filter compares a field with a value.
    pub fn compares(&self) -> bool {
        !self.compared.is_empty()
    }

    /// The first compared field that no document of these stores has. Stores that cannot be read are skipped: reading their rows reports why.
    pub fn unknown_field(
        &self,
        inputs: &[Input],
        table: Option<&str>,
        options: &OpenOptions,
    ) -> Option<(String, Vec<String>)> {
        let has = |field: &String| {
            let exists = Predicate::Exists(field.clone());
            inputs.iter().any(|input| {
                let Ok(container) = ZdsContainer::open(input, options) else { return true };
                let container = container.with_filter(&exists);
                let mut tables =
                    container.tables().into_iter().filter(|found| table.is_none_or(|name| found.name() == name));
                tables.any(|table| table.rows(&Scan::default()).and_then(|mut rows| rows.advance()).unwrap_or(true))
            })
        };
        let field = self.compared.iter().find(|field| !has(field))?.clone();
        let mut known = Vec::new();
        for container in inputs.iter().filter_map(|input| ZdsContainer::open(input, options).ok()) {
            for table in container.tables().into_iter().filter(|found| table.is_none_or(|name| found.name() == name)) {
                table.infer_columns().ok()?;
                known.extend(table.columns().iter().map(|column| column.name.clone()));
            }
        }
        known.sort_unstable();
        known.dedup();
        // Stores without documents have no known fields.
        (!known.is_empty()).then_some((field, known))
    }

    /// Opens a store with this filter and projection; `None` when there is neither.
    pub fn open(
        &self,
        input: &Input,
        formats: &[&'static dyn Format],
        options: &OpenOptions,
    ) -> Result<Option<Box<dyn Container>>> {
        if self.filter.is_none() && self.columns.is_empty() {
            return Ok(None);
        }
        let format = match container_core::detect(formats, input) {
            Ok(format) => format.name(),
            // Without filters, the registry reports it.
            Err(_) => return Ok(None),
        };
        // Filters and paths into documents exist only in ZDS: its container takes them, not a scan of tables.
        match (&self.filter, super::is_of(Some(format))) {
            (Some(_), false) => {
                Err(Error::usage(format!("filters documents of ZDS, the input is {format}")).in_option("where"))
            }
            (None, false) => Ok(None),
            (filter, true) => {
                let mut container = ZdsContainer::open(input, options)?.with_columns(&self.columns);
                if let Some(predicate) = filter {
                    container = container.with_filter(predicate);
                }
                Ok(Some(Box::new(container)))
            }
        }
    }
}

fn checked(path: &str) -> Result<()> {
    match path.split('.').count() {
        names if names > MAX_DEPTH => {
            Err(Error::usage(format!("a path of {names} names exceeds the depth limit {MAX_DEPTH}")))
        }
        _ => Ok(()),
    }
}

/// `FIELD=VALUE`, `FIELD`, `!FIELD`.
fn predicate(text: &str) -> Result<Predicate> {
    let path = |path: &str| checked(path).map(|()| path.to_owned());
    match (text.split_once('='), text.strip_prefix('!')) {
        (Some(("", _)), _) | (None, Some("")) => {
            Err(Error::usage(format!("{text:?} names no field")).in_option("where"))
        }
        (Some((field, value)), _) if field.ends_with(COMPARISONS) || value.starts_with('=') => Err(comparison(text)),
        (None, _) if text.contains(['<', '>']) => Err(comparison(text)),
        (Some((field, value)), _) => {
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            Ok(Predicate::Eq(path(field)?, value))
        }
        (None, Some(field)) => Ok(Predicate::NotExists(path(field)?)),
        (None, None) if text.is_empty() => Err(Error::usage("\"\" names no field").in_option("where")),
        (None, None) => Ok(Predicate::Exists(path(text)?)),
    }
}

/// Operators of other languages that end in `=`.
const COMPARISONS: [char; 4] = ['<', '>', '!', '~'];

fn comparison(text: &str) -> Error {
    Error::usage(format!(
        "{text:?} is a comparison: allowed are FIELD=VALUE, FIELD (it is there) and !FIELD (it is not)"
    ))
    .in_option("where")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_asked() {
        let eq = |field: &str, value: Value| Predicate::Eq(field.to_owned(), value);
        for (text, wanted) in [
            ("a=1", eq("a", json!(1))),
            ("a.b=1.0", eq("a.b", json!(1.0))),
            ("a=\"1\"", eq("a", json!("1"))),
            ("a=oak", eq("a", json!("oak"))),
            ("a=01", eq("a", json!("01"))),
            ("a=", eq("a", json!(""))),
            ("a=b=c", eq("a", json!("b=c"))),
            ("a=null", eq("a", json!(null))),
            ("a={\"b\": [1]}", eq("a", json!({"b": [1]}))),
            ("a", Predicate::Exists("a".to_owned())),
            ("!a.b", Predicate::NotExists("a.b".to_owned())),
        ] {
            assert_eq!(predicate(text).unwrap(), wanted, "{text}");
        }
        for text in ["", "!", "=1"] {
            assert_eq!(predicate(text).unwrap_err().to_string(), format!("where {text:?} names no field"));
        }
        for text in ["total>490", "total<5", "total>=490", "total<=5", "total!=5", "total==5", "total~=5", "!a<b"] {
            let error = predicate(text).unwrap_err();
            let expected = format!("where {text:?} is a comparison: allowed are FIELD=VALUE, FIELD");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
        assert_eq!(predicate("a=\"=5\"").unwrap(), eq("a", json!("=5")));
        assert_eq!(predicate("a=<b>").unwrap(), eq("a", json!("<b>")));
        assert!(predicate(&".".repeat(128)).is_err());
    }
}
