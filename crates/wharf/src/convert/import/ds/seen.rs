//! What a column has been seen to hold, and the type that follows.

use container_core::{Error, Result};
use dsfmt::{DataType, Json, JsonKind};

use super::super::json::{Kind, shortened, unescaped};
use super::super::number::{Number, is_float_word, is_number, number};
use super::super::place::Place;

/// How values are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// A value's kind is told by its first byte, and values of two kinds have no type in common.
    Json,
    /// Words: what is nothing else is text.
    Words,
}

/// Everything that has been seen of a column; of each kind where it was first.
#[derive(Debug, Default)]
pub(super) struct Seen {
    missing: bool,
    bools: Option<Place>,
    integers: Option<Place>,
    least: i128,
    greatest: i128,
    /// The first integer that a float does not hold, and its text.
    inexact: Option<(Place, String)>,
    /// The first number that is greater than any float.
    beyond: Option<(Place, String)>,
    floats: Option<Place>,
    /// Texts that are a float's word.
    words: Option<Place>,
    texts: Option<Place>,
    bytes: Option<Place>,
    objects: Option<Place>,
    /// Values that are no arrays, and arrays, with the sizes of the first.
    plain: Option<Place>,
    arrays: Option<(Place, Vec<u64>)>,
    /// The first array of other sizes.
    ragged: Option<Place>,
    /// Bytes of all texts.
    text_bytes: u64,
}

/// A column's type, the sizes of its values, and whether some are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) data_type: DataType,
    pub(super) sizes: Vec<u64>,
    pub(super) missing: bool,
    pub(super) text_bytes: u64,
}

fn note(slot: &mut Option<Place>, place: Place) {
    slot.get_or_insert(place);
}

impl Seen {
    /// Notes a value, a valid JSON text.
    pub(super) fn see_json(&mut self, text: &str, place: Place) -> Result<()> {
        match Kind::of(text) {
            Kind::Null => self.missing = true,
            Kind::Array => {
                self.text_bytes += text.len() as u64;
                let json = Json::parse(text)?;
                let mut sizes = Vec::new();
                let even = self.see_array(json, 0, &mut sizes, &mut None, place)?;
                match &self.arrays {
                    None => self.arrays = Some((place, sizes)),
                    Some((_, first)) if *first == sizes => {}
                    Some(_) => note(&mut self.ragged, place),
                }
                if !even {
                    note(&mut self.ragged, place);
                }
            }
            _ => {
                note(&mut self.plain, place);
                self.see_item(text, place)?;
            }
        }
        Ok(())
    }

    /// Notes a cell of a table of words.
    pub(super) fn see_word(&mut self, text: &str, place: Place) -> Result<()> {
        if text.is_empty() {
            self.missing = true;
            return Ok(());
        }
        if text.starts_with('[') && self.texts.is_none() && serde_json::from_str::<serde_json::Value>(text).is_ok() {
            return self.see_json(text, place);
        }
        note(&mut self.plain, place);
        self.text_bytes += text.len() as u64;
        if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
            note(&mut self.bools, place);
        } else if is_number(text) {
            self.see_number(text, place);
        } else if is_float_word(text) {
            note(&mut self.words, place);
        } else {
            note(&mut self.texts, place);
        }
        Ok(())
    }

    /// Are all lists equally long, and equally deep?
    fn see_array(
        &mut self,
        json: Json<'_>,
        depth: usize,
        sizes: &mut Vec<u64>,
        deepest: &mut Option<usize>,
        place: Place,
    ) -> Result<bool> {
        if json.kind() != JsonKind::Array {
            self.see_item(json.as_text(), place)?;
            return Ok(*deepest.get_or_insert(depth) == depth);
        }
        if deepest.is_some_and(|deepest| depth >= deepest) {
            return Ok(false);
        }
        let first = sizes.len() == depth;
        if first {
            sizes.push(0);
        }
        let (mut count, mut even) = (0, true);
        for item in json.items() {
            even &= self.see_array(item, depth + 1, sizes, deepest, place)?;
            count += 1;
        }
        match sizes.get_mut(depth) {
            Some(size) if first => *size = count,
            Some(size) => even &= *size == count,
            None => even = false,
        }
        Ok(even)
    }

    fn see_item(&mut self, text: &str, place: Place) -> Result<()> {
        match Kind::of(text) {
            Kind::Null => self.missing = true,
            Kind::Bool => note(&mut self.bools, place),
            Kind::Number => self.see_number(text, place),
            Kind::String => {
                self.text_bytes += text.len() as u64;
                if is_float_word(&unescaped(text)?) {
                    note(&mut self.words, place);
                } else {
                    note(&mut self.texts, place);
                }
            }
            Kind::Object if super::column::bytes_of(text).is_some() => {
                self.text_bytes += text.len() as u64;
                note(&mut self.bytes, place);
            }
            Kind::Array | Kind::Object => note(&mut self.objects, place),
        }
        Ok(())
    }

    fn see_number(&mut self, text: &str, place: Place) {
        match number(text) {
            Number::Float => note(&mut self.floats, place),
            Number::Beyond => self.beyond = self.beyond.take().or_else(|| Some((place, shortened(text)))),
            Number::Integer { value, exact } => {
                if self.integers.is_none() {
                    (self.least, self.greatest) = (value, value);
                }
                note(&mut self.integers, place);
                self.least = self.least.min(value);
                self.greatest = self.greatest.max(value);
                if !exact && self.inexact.is_none() {
                    self.inexact = Some((place, shortened(text)));
                }
            }
        }
    }

    /// The type that holds all that was seen.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) where there is none, with the place; never for words.
    pub(super) fn resolve(&self, syntax: Syntax, names: &[String]) -> Result<Resolved> {
        let resolved = self.typed(names).and_then(|data_type| {
            let sizes = self.sizes(names)?;
            Ok(Resolved { data_type, sizes, missing: self.missing, text_bytes: self.text_bytes })
        });
        match syntax {
            Syntax::Json => resolved,
            // An empty cell among texts is an empty text.
            Syntax::Words => Ok(match resolved {
                Ok(resolved) if resolved.data_type != DataType::Unicode || !resolved.sizes.is_empty() => resolved,
                _ => Resolved {
                    data_type: DataType::Unicode,
                    sizes: Vec::new(),
                    missing: false,
                    text_bytes: self.text_bytes,
                },
            }),
        }
    }

    fn sizes(&self, names: &[String]) -> Result<Vec<u64>> {
        let Some((first, sizes)) = &self.arrays else { return Ok(Vec::new()) };
        if let Some(plain) = self.plain {
            let detail = format!("a value that is no array where others are arrays, such as in line {}", first.line);
            return Err(plain.mark(Error::invalid(detail), names));
        }
        if let Some(ragged) = self.ragged {
            let detail =
                format!("the sizes of an array are not {sizes:?} as in line {}: a variable has one shape", first.line);
            return Err(ragged.mark(Error::invalid(detail), names));
        }
        Ok(sizes.clone())
    }

    fn typed(&self, names: &[String]) -> Result<DataType> {
        if let Some(place) = self.objects {
            return Err(place.mark(Error::invalid("an object where a value is wanted"), names));
        }
        let beyond = self.beyond.as_ref().map(|(place, _)| *place);
        let numbers = self.integers.or(self.floats).or(beyond);
        // Words are floats beside numbers and texts otherwise.
        let texts = if numbers.is_some() { self.texts } else { self.texts.or(self.words) };
        let kinds = [
            ("a bool", self.bools, DataType::Bool),
            ("a number", numbers, DataType::Float64),
            ("a text", texts, DataType::Unicode),
            ("bytes", self.bytes, DataType::Str),
        ];
        let mut found = kinds.into_iter().filter_map(|(kind, place, data_type)| Some((kind, place?, data_type)));
        let data_type = match (found.next(), found.next()) {
            (None, _) => DataType::Float64,
            (Some((_, _, data_type)), None) => data_type,
            (Some((one, first, _)), Some((other, second, _))) => {
                let ((one, first), (other, second)) =
                    if first <= second { ((one, first), (other, second)) } else { ((other, second), (one, first)) };
                let detail = format!("{other} where line {} has {one}: a variable has one type", first.line);
                return Err(second.mark(Error::invalid(detail), names));
            }
        };
        if let (DataType::Float64, Some((place, text))) = (data_type, &self.beyond) {
            let detail = format!("the number {text} is greater than any float64");
            return Err(place.mark(Error::invalid(detail), names));
        }
        if data_type != DataType::Float64 || self.integers.is_none() {
            return Ok(data_type);
        }
        let floats = self.floats.is_some() || self.words.is_some();
        if !floats && i64::try_from(self.least).is_ok() && i64::try_from(self.greatest).is_ok() {
            return Ok(DataType::Int64);
        }
        if !floats && u64::try_from(self.least).is_ok() && u64::try_from(self.greatest).is_ok() {
            return Ok(DataType::Uint64);
        }
        match &self.inexact {
            Some((place, text)) => Err(self.no_float(*place, text, names)),
            None => Ok(DataType::Float64),
        }
    }

    #[cold]
    fn no_float(&self, place: Place, text: &str, names: &[String]) -> Error {
        let detail = format!("the number {text} is no float64 exactly, and the column has no type of integers");
        place.mark(Error::invalid(detail), names)
    }
}
