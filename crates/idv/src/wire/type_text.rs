//! Types from text: what they print, and names people use besides.

use std::str::FromStr;

use container_core::{Error, Result};

use super::{ItemType, KeyType, KeyWidth, Type};

/// What may stand for a type, for messages.
const KNOWN: &str = "SByte, Byte, Int16, UInt16, Int32, UInt32, Int64, UInt64, Single, Double, TimeSpan, DateTime, DateTimeOffset, RowId, \
    Boolean, Text, Key<UInt32, 5>, Vector<Single, 28>, and the older DvBool, DvTimeSpan, DvDateTime, DvDateTimeZone";

impl FromStr for Type {
    type Err = Error;

    /// Reads what [`Display`](std::fmt::Display) prints: `Single`, `Key<UInt32, 5>`, `Vector<Single, 28>`, `Vector<Text>` where the
    /// length varies, `Vector<Key<Byte, 3>, 2, *>` with a dimension that is unknown.
    ///
    /// Case and blanks do not matter. Other names are understood too: `f32`, `float`, `f64`, `i8` to `i64`, `u8` to `u64`, `int`, `bool`,
    /// `str`, `string` and the format's own, such as `TextSpan`. Some types print alike; the older ones have names of their own here:
    /// `DvBool` (a bool that can be missing), `DvTimeSpan`, `DvDateTime`, `DvDateTimeZone`.
    ///
    /// ```
    /// use idv::{ItemType, Type};
    /// let kind: Type = "vector<f32, 28>".parse()?;
    /// assert_eq!(kind, Type::Vector { item: ItemType::Single, dimensions: vec![28] });
    /// assert_eq!(kind.to_string(), "Vector<Single, 28>");
    /// # Ok::<(), container_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage): a name that is none (with those that are), a part that is missing or too much, a
    /// [key count](KeyType::new) or dimensions that cannot be.
    fn from_str(text: &str) -> Result<Self> {
        parse_whole(Words { text, rest: text, uncounted: false })
    }
}

impl Type {
    /// The same, where what is printed for keys of old files that have no count is read too.
    pub(crate) fn from_shown(text: &str) -> Result<Self> {
        parse_whole(Words { text, rest: text, uncounted: true })
    }

    /// The text that this type alone is read from: what it prints, but for the older types that print like others.
    pub(crate) fn exact_text(&self) -> String {
        let (shown, item) = (self.to_string(), self.item());
        match item {
            ItemType::DvTimeSpan | ItemType::DvDateTime | ItemType::DvDateTimeZone | ItemType::DvBool => {
                shown.replacen(&item.to_string(), item.codec_name(), 1)
            }
            _ => shown,
        }
    }
}

fn parse_whole(mut words: Words<'_>) -> Result<Type> {
    let kind = parse(&mut words)?;
    if !words.rest.trim_start().is_empty() {
        return Err(words.wanted("nothing more"));
    }
    kind.check().map_err(|error| words.no(error.detail()))?;
    Ok(kind)
}

/// The type with which the text begins, and what follows it.
#[cfg(feature = "nom")]
pub(super) fn type_of_text(text: &str) -> Result<(&str, Type)> {
    let mut words = Words { text, rest: text, uncounted: false };
    let kind = parse(&mut words)?;
    kind.check().map_err(|error| words.no(error.detail()))?;
    Ok((words.rest, kind))
}

/// What is left of a type's text.
struct Words<'a> {
    text: &'a str,
    rest: &'a str,
    /// Keys without a count are keys of old files.
    uncounted: bool,
}

impl<'a> Words<'a> {
    #[cold]
    fn no(&self, why: &str) -> Error {
        Error::usage(format!("{:?} is no type: {why}", self.text))
    }

    #[cold]
    fn wanted(&self, what: &str) -> Error {
        let found = self.rest.trim_start();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("{found:?}") };
        self.no(&format!("{what} is wanted, found {found}"))
    }

    fn skip(&mut self, mark: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Letters and digits; nothing where there are none.
    fn word(&mut self) -> &'a str {
        let rest = self.rest.trim_start();
        let end = rest.find(|character: char| !character.is_alphanumeric()).unwrap_or(rest.len());
        let (word, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        self.rest = rest;
        word
    }
}

fn parse(words: &mut Words<'_>) -> Result<Type> {
    let before = words.rest;
    let name = words.word();
    if !name.eq_ignore_ascii_case("vector") {
        return parse_item(name, words).map(Type::Item);
    }
    if !words.skip('<') {
        words.rest = before;
        return Err(words.wanted("what the vectors hold, as in Vector<Single> or Vector<Single, 28>,"));
    }
    let name = words.word();
    if name.eq_ignore_ascii_case("vector") {
        return Err(words.no("a vector holds vectors, which the format does not have"));
    }
    let item = parse_item(name, words)?;
    let mut dimensions = Vec::new();
    while words.skip(',') {
        if words.skip('*') {
            dimensions.push(0);
            continue;
        }
        let before = words.rest;
        let dimension = words.word().parse().ok().filter(|&dimension: &u32| dimension > 0);
        dimensions.push(dimension.ok_or_else(|| {
            words.rest = before;
            words.wanted("a dimension (1 to 2147483647, * where it is not known)")
        })?);
    }
    if !words.skip('>') {
        return Err(words.wanted("\",\" or \">\""));
    }
    if dimensions.is_empty() {
        dimensions.push(0);
    }
    Ok(Type::Vector { item, dimensions })
}

fn parse_item(name: &str, words: &mut Words<'_>) -> Result<ItemType> {
    if name.eq_ignore_ascii_case("key") {
        return parse_key(words).map(ItemType::Key);
    }
    Ok(match name.to_ascii_lowercase().as_str() {
        "sbyte" | "i8" | "int8" => ItemType::SByte,
        "byte" | "u8" | "uint8" => ItemType::Byte,
        "int16" | "i16" => ItemType::Int16,
        "uint16" | "u16" => ItemType::UInt16,
        "int32" | "i32" | "int" => ItemType::Int32,
        "uint32" | "u32" => ItemType::UInt32,
        "int64" | "i64" => ItemType::Int64,
        "uint64" | "u64" => ItemType::UInt64,
        "single" | "f32" | "float" | "float32" => ItemType::Single,
        "double" | "f64" | "float64" => ItemType::Double,
        "timespan" => ItemType::TimeSpan,
        "dvtimespan" => ItemType::DvTimeSpan,
        "datetime" => ItemType::DateTime,
        "dvdatetime" => ItemType::DvDateTime,
        "datetimeoffset" => ItemType::DateTimeOffset,
        "dvdatetimezone" => ItemType::DvDateTimeZone,
        "rowid" | "dataviewrowid" => ItemType::RowId,
        "boolean" | "bool" => ItemType::Boolean,
        "dvbool" => ItemType::DvBool,
        "text" | "textspan" | "string" | "str" => ItemType::Text,
        "" => return Err(words.wanted(&format!("the name of a type ({KNOWN})"))),
        _ => return Err(words.no(&format!("{name:?} is none of {KNOWN}"))),
    })
}

fn parse_key(words: &mut Words<'_>) -> Result<KeyType> {
    const FORM: &str = "a key is written Key<UInt32, 5>: the number it is stored as (Byte, UInt16, UInt32, UInt64) and how many values \
        there are";
    if !words.skip('<') {
        return Err(words.no(FORM));
    }
    let width = match words.word().to_ascii_lowercase().as_str() {
        "byte" | "u8" | "uint8" => KeyWidth::Byte,
        "uint16" | "u16" => KeyWidth::UInt16,
        "uint32" | "u32" => KeyWidth::UInt32,
        "uint64" | "u64" => KeyWidth::UInt64,
        _ => return Err(words.no(FORM)),
    };
    if words.skip('>') {
        if words.uncounted {
            return Ok(KeyType { width, count: 0, min: 0, contiguous: true, old: true });
        }
        let why = format!("it has no count, as only keys of old files do: write Key<{width}, 5> for 5 values");
        return Err(words.no(&why));
    }
    if !words.skip(',') {
        return Err(words.no(FORM));
    }
    let before = words.rest;
    let Ok(count) = words.word().parse() else {
        words.rest = before;
        return Err(words.wanted(&format!("a key count (1 to {})", width.max())));
    };
    if !words.skip('>') {
        return Err(words.wanted("\">\""));
    }
    KeyType::new(width, count).map_err(|error| words.no(error.detail()))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Every item that prints by itself, and the older ones by their name.
    const ITEMS: [(ItemType, &str); 20] = [
        (ItemType::SByte, "SByte i8 INT8"),
        (ItemType::Byte, "Byte u8 uint8"),
        (ItemType::Int16, "Int16 i16"),
        (ItemType::UInt16, "UInt16 u16"),
        (ItemType::Int32, "Int32 i32 int"),
        (ItemType::UInt32, "UInt32 u32"),
        (ItemType::Int64, "Int64 i64"),
        (ItemType::UInt64, "UInt64 u64"),
        (ItemType::Single, "Single f32 Float float32"),
        (ItemType::Double, "Double F64 float64"),
        (ItemType::TimeSpan, "TimeSpan"),
        (ItemType::DvTimeSpan, "DvTimeSpan"),
        (ItemType::DateTime, "DateTime"),
        (ItemType::DvDateTime, "DvDateTime"),
        (ItemType::DateTimeOffset, "DateTimeOffset"),
        (ItemType::DvDateTimeZone, "DvDateTimeZone"),
        (ItemType::RowId, "RowId DataViewRowId"),
        (ItemType::Boolean, "Boolean bool"),
        (ItemType::DvBool, "DvBool"),
        (ItemType::Text, "Text TextSpan string str"),
    ];

    fn item() -> impl Strategy<Value = ItemType> {
        let printed: Vec<ItemType> =
            ITEMS.iter().filter(|(_, names)| !names.starts_with("Dv")).map(|(item, _)| *item).collect();
        assert_eq!(printed.len(), 16);
        let width =
            prop_oneof![Just(KeyWidth::Byte), Just(KeyWidth::UInt16), Just(KeyWidth::UInt32), Just(KeyWidth::UInt64)];
        let key = (width, 1..=u64::MAX).prop_map(|(width, count)| KeyType::new(width, count.min(width.max())).unwrap());
        prop_oneof![proptest::sample::select(printed), key.prop_map(ItemType::Key)]
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(item in item(), dimensions in vec(0..=1290u32, 0..4), blanks in 0usize..3) {
            let kind = if dimensions.is_empty() { Type::Item(item) } else { Type::Vector { item, dimensions } };
            let text = kind.to_string();
            prop_assert_eq!(&text.parse::<Type>().unwrap(), &kind);
            prop_assert_eq!(&kind.exact_text().parse::<Type>().unwrap(), &kind);
            let spaced = text.replace(' ', &" ".repeat(blanks)).replace('<', " < ").replace('>', " > ");
            prop_assert_eq!(&spaced.parse::<Type>().unwrap(), &kind, "{}", spaced);
            prop_assert_eq!(&text.to_uppercase().parse::<Type>().unwrap(), &kind);
        }

        #[test]
        fn no_text_is_too_strange(text in "(Vector|Key|UInt32|Single|[<>,* 0-9é]){0,12}") {
            let _ = text.parse::<Type>();
        }
    }

    #[test]
    fn every_name_is_understood() {
        for (item, names) in ITEMS {
            for name in names.split(' ') {
                assert_eq!(name.parse::<Type>().unwrap(), Type::Item(item));
                let vector = Type::Vector { item, dimensions: vec![2, 0] };
                assert_eq!(format!("vector<{name},2,*>").parse::<Type>().unwrap(), vector);
                assert_eq!(vector.exact_text().parse::<Type>().unwrap(), vector);
            }
        }
        let one = Type::Vector { item: ItemType::Text, dimensions: vec![0] };
        assert_eq!("Vector<Text, *>".parse::<Type>().unwrap(), one);
    }

    #[test]
    fn the_error_says_what_was_found_and_is_allowed() {
        let form = "a key is written Key<UInt32, 5>: the number it is stored as (Byte, UInt16, UInt32, UInt64) and how many values there are";
        for (text, why) in [
            ("Decimal", format!("\"Decimal\" is none of {KNOWN}")),
            ("", format!("the name of a type ({KNOWN}) is wanted, found the end")),
            ("Single x", "nothing more is wanted, found \"x\"".to_owned()),
            (
                "Vector",
                "what the vectors hold, as in Vector<Single> or Vector<Single, 28>, is wanted, found \"Vector\""
                    .to_owned(),
            ),
            ("Vector<Single", "\",\" or \">\" is wanted, found the end".to_owned()),
            ("Vector<Vector<Single>>", "a vector holds vectors, which the format does not have".to_owned()),
            (
                "Vector<Single, 0>",
                "a dimension (1 to 2147483647, * where it is not known) is wanted, found \"0>\"".to_owned(),
            ),
            ("Vector<Single, 2147483648>", "dimension 2147483648 exceeds 2147483647".to_owned()),
            (
                "Vector<Single, 65536, 65536>",
                "the product of the dimensions [65536, 65536] exceeds 2147483647".to_owned(),
            ),
            ("Key", form.to_owned()),
            ("Key<5>", form.to_owned()),
            (
                "Key<UInt32>",
                "it has no count, as only keys of old files do: write Key<UInt32, 5> for 5 values".to_owned(),
            ),
            ("Key<Byte, 0>", "key count 0 is not between 1 and 255, the most Byte holds".to_owned()),
            ("Key<Byte, 256>", "key count 256 is not between 1 and 255, the most Byte holds".to_owned()),
            ("Key<Byte, x>", "a key count (1 to 255) is wanted, found \"x>\"".to_owned()),
            ("Key<Byte, 5", "\">\" is wanted, found the end".to_owned()),
        ] {
            let error = text.parse::<Type>().unwrap_err();
            assert_eq!((error.kind().name(), error.to_string()), ("usage", format!("{text:?} is no type: {why}")));
        }
    }
}
