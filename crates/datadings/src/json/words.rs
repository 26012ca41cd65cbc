//! Decides which strings are non-finite floats, which JSON cannot represent otherwise.

use std::collections::HashMap;
use std::fmt;

use container_core::{Limits, Result};
use serde_core::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::PREFIX;
use super::error::json_error;

/// Learns from rows where the strings `NaN`, `Infinity` and `-Infinity` are floats.
///
/// A position is a member of a row, the items of a list, or a member of an object in it. These strings are floats if numbers occur at the
/// same position and no other string does; otherwise they remain strings.
///
/// ```
/// use datadings::json::{FloatWords, to_msgpack_with};
/// let mut words = FloatWords::default();
/// words.observe(br#"{"x":1.5,"name":"NaN"}"#)?;
/// words.observe(br#"{"x":"NaN","name":"NaN"}"#)?;
/// let mut out = Vec::new();
/// to_msgpack_with(br#"{"x":"NaN","name":"NaN"}"#, &words, &mut out)?;
/// assert_eq!(out, b"\x82\xa1x\xcb\x7f\xf8\0\0\0\0\0\0\xa4name\xa3NaN");
/// # Ok::<(), datadings::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct FloatWords {
    numbers: bool,
    words: bool,
    /// Other strings occur.
    texts: bool,
    items: Option<Box<Self>>,
    members: HashMap<Box<str>, Self>,
}

/// The float that a string stands for.
pub(super) fn float_of(word: &str) -> Option<f64> {
    match word {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

impl FloatWords {
    /// Observes a value, given as JSON.
    ///
    /// # Errors
    /// As [`to_msgpack`](super::to_msgpack); an object with more members than the limits allow columns.
    pub fn observe(&mut self, text: &[u8]) -> Result<()> {
        let mut reader = serde_json::Deserializer::from_slice(text);
        Observer(self).deserialize(&mut reader).and_then(|()| reader.end()).map_err(|cause| json_error(text, cause))
    }

    /// What was observed of a member of objects.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Self> {
        self.members.get(name)
    }

    /// The same, mutably; adds the member if necessary.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for too many members.
    pub fn member_mut(&mut self, name: &str) -> Result<&mut Self> {
        if !self.members.contains_key(name) {
            Limits::default().check_columns("number of members", self.members.len() as u64 + 1)?;
        }
        Ok(self.members.entry(name.into()).or_default())
    }

    /// Adds what was observed in other rows.
    pub fn merge(&mut self, other: Self) {
        self.numbers |= other.numbers;
        self.words |= other.words;
        self.texts |= other.texts;
        match (&mut self.items, other.items) {
            (Some(own), Some(other)) => own.merge(*other),
            (own @ None, other) => *own = other,
            (Some(_), None) => {}
        }
        for (name, other) in other.members {
            self.members.entry(name).or_default().merge(other);
        }
    }

    pub(super) fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// The value of a string at this position if it is a float.
    pub(super) fn float(&self, text: &str) -> Option<f64> {
        float_of(text).filter(|_| self.words && self.numbers && !self.texts)
    }
}

struct Observer<'w>(&'w mut FloatWords);

impl<'de> DeserializeSeed<'de> for Observer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Observer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.0.numbers = true;
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.0.numbers = true;
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.0.numbers = true;
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        match float_of(text) {
            Some(_) => self.0.words = true,
            None => self.0.texts = true,
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let items = self.0.items.get_or_insert_default();
        while seq.next_element_seed(Observer(&mut *items))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            // This module's own objects are typed already.
            if name.starts_with(PREFIX) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let member = self.0.member_mut(&name).map_err(A::Error::custom)?;
            map.next_value_seed(Observer(member))?;
        }
        Ok(())
    }
}
