//! Parsing of type names: their displayed form and common aliases.

use std::str::FromStr;

use container_core::{Error, Result};

use super::{ItemType, KeyType, KeyWidth, Type};

/// Type names, for messages.
const KNOWN: &str = "SByte, Byte, Int16, UInt16, Int32, UInt32, Int64, UInt64, Single, Double, TimeSpan, DateTime, DateTimeOffset, RowId, \
    Boolean, Text, Key<UInt32, 5>, Vector<Single, 28>, and the older DvBool, DvTimeSpan, DvDateTime, DvDateTimeZone";

impl FromStr for Type {
    type Err = Error;

    /// Parses the [`Display`](std::fmt::Display) form: `Single`, `Key<UInt32, 5>`, `Vector<Single, 28>`, `Vector<Text>` for variable
    /// length, `Vector<Key<Byte, 3>, 2, *>` with an unknown dimension.
    ///
    /// Case and spaces are ignored. Aliases: `f32`, `float`, `f64`, `i8` to `i64`, `u8` to `u64`, `int`, `bool`, `str`, `string` and codec
    /// names such as `TextSpan`. Legacy types, which are displayed like current ones, have their own names: `DvBool` (a Boolean that can
    /// be missing), `DvTimeSpan`, `DvDateTime`, `DvDateTimeZone`.
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
    /// [`Usage`](container_core::ErrorKind::Usage): an unknown name (with the known ones), a syntax error, an invalid
    /// [key count](KeyType::new) or invalid dimensions.
    fn from_str(text: &str) -> Result<Self> {
        parse_whole(Tokens { text, rest: text, allow_no_count: false })
    }
}

impl Type {
    /// Like [`FromStr`], and also parses legacy keys without a key count.
    pub(crate) fn from_display(text: &str) -> Result<Self> {
        parse_whole(Tokens { text, rest: text, allow_no_count: true })
    }

    /// The unambiguous name: the displayed form, but with the codec name for legacy types that display like current ones.
    pub(crate) fn exact_text(&self) -> String {
        let (displayed, item) = (self.to_string(), self.item());
        match item {
            ItemType::DvTimeSpan | ItemType::DvDateTime | ItemType::DvDateTimeZone | ItemType::DvBool => {
                displayed.replacen(&item.to_string(), item.codec_name(), 1)
            }
            _ => displayed,
        }
    }
}

fn parse_whole(mut tokens: Tokens<'_>) -> Result<Type> {
    let kind = parse(&mut tokens)?;
    if !tokens.rest.trim_start().is_empty() {
        return Err(tokens.expected("the end"));
    }
    kind.check().map_err(|error| tokens.invalid(error.detail()))?;
    Ok(kind)
}

/// Parses a type at the start of the text and returns the rest.
#[allow(dead_code, reason = "for the feature `nom`")]
pub(super) fn parse_prefix(text: &str) -> Result<(&str, Type)> {
    let mut tokens = Tokens { text, rest: text, allow_no_count: false };
    let kind = parse(&mut tokens)?;
    kind.check().map_err(|error| tokens.invalid(error.detail()))?;
    Ok((tokens.rest, kind))
}

/// A tokenizer over a type name.
struct Tokens<'a> {
    text: &'a str,
    rest: &'a str,
    /// Accept legacy keys without a key count.
    allow_no_count: bool,
}

impl<'a> Tokens<'a> {
    #[cold]
    fn invalid(&self, why: &str) -> Error {
        Error::usage(format!("invalid type {:?}: {why}", self.text))
    }

    #[cold]
    fn expected(&self, what: &str) -> Error {
        let found = self.rest.trim_start();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("{found:?}") };
        self.invalid(&format!("expected {what}, found {found}"))
    }

    fn skip(&mut self, mark: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes letters and digits, possibly none.
    fn word(&mut self) -> &'a str {
        let rest = self.rest.trim_start();
        let end = rest.find(|character: char| !character.is_alphanumeric()).unwrap_or(rest.len());
        let (word, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        self.rest = rest;
        word
    }
}

fn parse(tokens: &mut Tokens<'_>) -> Result<Type> {
    let before = tokens.rest;
    let name = tokens.word();
    if !name.eq_ignore_ascii_case("vector") {
        return parse_item(name, tokens).map(Type::Item);
    }
    if !tokens.skip('<') {
        tokens.rest = before;
        return Err(tokens.expected("an item type, as in Vector<Single> or Vector<Single, 28>"));
    }
    let name = tokens.word();
    if name.eq_ignore_ascii_case("vector") {
        return Err(tokens.invalid("vectors of vectors are not supported"));
    }
    let item = parse_item(name, tokens)?;
    let mut dimensions = Vec::new();
    while tokens.skip(',') {
        if tokens.skip('*') {
            dimensions.push(0);
            continue;
        }
        let before = tokens.rest;
        let dimension = tokens.word().parse().ok().filter(|&dimension: &u32| dimension > 0);
        dimensions.push(dimension.ok_or_else(|| {
            tokens.rest = before;
            tokens.expected("a dimension (1 to 2147483647, or * if unknown)")
        })?);
    }
    if !tokens.skip('>') {
        return Err(tokens.expected("\",\" or \">\""));
    }
    if dimensions.is_empty() {
        dimensions.push(0);
    }
    Ok(Type::Vector { item, dimensions })
}

fn parse_item(name: &str, tokens: &mut Tokens<'_>) -> Result<ItemType> {
    if name.eq_ignore_ascii_case("key") {
        return parse_key(tokens).map(ItemType::Key);
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
        "" => return Err(tokens.expected(&format!("a type name ({KNOWN})"))),
        _ => return Err(tokens.invalid(&format!("unknown type {name:?} (known: {KNOWN})"))),
    })
}

fn parse_key(tokens: &mut Tokens<'_>) -> Result<KeyType> {
    const FORM: &str = "expected Key<UInt32, 5>: storage type (Byte, UInt16, UInt32, UInt64) and key count";
    if !tokens.skip('<') {
        return Err(tokens.invalid(FORM));
    }
    let width = match tokens.word().to_ascii_lowercase().as_str() {
        "byte" | "u8" | "uint8" => KeyWidth::Byte,
        "uint16" | "u16" => KeyWidth::UInt16,
        "uint32" | "u32" => KeyWidth::UInt32,
        "uint64" | "u64" => KeyWidth::UInt64,
        _ => return Err(tokens.invalid(FORM)),
    };
    if tokens.skip('>') {
        if tokens.allow_no_count {
            return Ok(KeyType { width, count: 0, min: 0, contiguous: true, old: true });
        }
        let why = format!("missing key count: write Key<{width}, 5> for 5 values");
        return Err(tokens.invalid(&why));
    }
    if !tokens.skip(',') {
        return Err(tokens.invalid(FORM));
    }
    let before = tokens.rest;
    let Ok(count) = tokens.word().parse() else {
        tokens.rest = before;
        return Err(tokens.expected(&format!("a key count (1 to {})", width.max())));
    };
    if !tokens.skip('>') {
        return Err(tokens.expected("\">\""));
    }
    KeyType::new(width, count).map_err(|error| tokens.invalid(error.detail()))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Every item type with all of its names.
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
        let displayed: Vec<ItemType> =
            ITEMS.iter().filter(|(_, names)| !names.starts_with("Dv")).map(|(item, _)| *item).collect();
        assert_eq!(displayed.len(), 16);
        let width =
            prop_oneof![Just(KeyWidth::Byte), Just(KeyWidth::UInt16), Just(KeyWidth::UInt32), Just(KeyWidth::UInt64)];
        let key = (width, 1..=u64::MAX).prop_map(|(width, count)| KeyType::new(width, count.min(width.max())).unwrap());
        prop_oneof![proptest::sample::select(displayed), key.prop_map(ItemType::Key)]
    }

    proptest! {
        #[test]
        fn displayed_form_parses_back(item in item(), dimensions in vec(0..=1290u32, 0..4), spaces in 0usize..3) {
            let kind = if dimensions.is_empty() { Type::Item(item) } else { Type::Vector { item, dimensions } };
            let text = kind.to_string();
            prop_assert_eq!(&text.parse::<Type>().unwrap(), &kind);
            prop_assert_eq!(&kind.exact_text().parse::<Type>().unwrap(), &kind);
            let spaced = text.replace(' ', &" ".repeat(spaces)).replace('<', " < ").replace('>', " > ");
            prop_assert_eq!(&spaced.parse::<Type>().unwrap(), &kind, "{}", spaced);
            prop_assert_eq!(&text.to_uppercase().parse::<Type>().unwrap(), &kind);
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "(Vector|Key|UInt32|Single|[<>,* 0-9é]){0,12}") {
            let _ = text.parse::<Type>();
        }
    }

    #[test]
    fn accepts_every_alias() {
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
    fn errors_give_reason_and_known_names() {
        let form = "expected Key<UInt32, 5>: storage type (Byte, UInt16, UInt32, UInt64) and key count";
        for (text, why) in [
            ("Decimal", format!("unknown type \"Decimal\" (known: {KNOWN})")),
            ("", format!("expected a type name ({KNOWN}), found the end")),
            ("Single x", "expected the end, found \"x\"".to_owned()),
            (
                "Vector",
                "expected an item type, as in Vector<Single> or Vector<Single, 28>, found \"Vector\"".to_owned(),
            ),
            ("Vector<Single", "expected \",\" or \">\", found the end".to_owned()),
            ("Vector<Vector<Single>>", "vectors of vectors are not supported".to_owned()),
            ("Vector<Single, 0>", "expected a dimension (1 to 2147483647, or * if unknown), found \"0>\"".to_owned()),
            ("Vector<Single, 2147483648>", "dimension 2147483648 exceeds 2147483647".to_owned()),
            (
                "Vector<Single, 65536, 65536>",
                "the product of the dimensions [65536, 65536] exceeds 2147483647".to_owned(),
            ),
            ("Key", form.to_owned()),
            ("Key<5>", form.to_owned()),
            ("Key<UInt32>", "missing key count: write Key<UInt32, 5> for 5 values".to_owned()),
            ("Key<Byte, 0>", "key count 0 is not between 1 and 255, the maximum of Byte".to_owned()),
            ("Key<Byte, 256>", "key count 256 is not between 1 and 255, the maximum of Byte".to_owned()),
            ("Key<Byte, x>", "expected a key count (1 to 255), found \"x>\"".to_owned()),
            ("Key<Byte, 5", "expected \">\", found the end".to_owned()),
        ] {
            let error = text.parse::<Type>().unwrap_err();
            assert_eq!((error.kind().name(), error.to_string()), ("usage", format!("invalid type {text:?}: {why}")));
        }
    }
}
