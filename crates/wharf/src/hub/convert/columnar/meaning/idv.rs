//! What is said of a variable, as metadata of a column: attributes under their names, and what the format says itself.

use dsfmt::{DataType, Json, JsonBuf, JsonKind, Variable};
use idv::{Cell, ItemType, Type, Values, Vectors};

use super::fill::{Filler, exact};

/// Names of dimensions: the metadata is called as the member of the header is, which no attribute can be.
pub(in crate::hub::convert) const DIMS: &str = ".dims";

/// Values are Julian dates.
pub(in crate::hub::convert) const TIME: &str = ".time";

/// NaN stands for what is missing.
pub(in crate::hub::convert) const MISSING: &str = ".missing";

/// The type that integers had before some were missing, and strings of bytes before they were texts.
pub(in crate::hub::convert) const BEFORE: &str = ".type";

/// The attribute that says what type of IDV it was, where that of the variable does not.
pub(in crate::hub::convert) const TYPE: &str = "idv_type";

/// What whole microseconds count from: the attributes of times.
pub(in crate::hub::convert) const UNITS: &str = "microseconds since 0001-01-01T00:00:00";
pub(in crate::hub::convert) const CALENDAR: &str = "proleptic_gregorian";

/// Lists in lists that metadata are made of.
const DEPTH: usize = 8;

/// A type that an attribute says.
pub(super) struct Said {
    pub(super) item: ItemType,
    pub(super) micros: bool,
}

/// The type that the attribute says, where values such as those of the variable can have it.
pub(super) fn said_type(variable: &Variable<'_>) -> Option<Said> {
    let attributes = variable.attributes();
    let text = |name: &str| attributes.get(name).and_then(|value| value.as_str());
    let Ok(Type::Item(item)) = text(TYPE)?.parse::<Type>() else { return None };
    let data_type = variable.data_type()?;
    let texts = data_type == DataType::Unicode;
    let micros = data_type == DataType::Int64
        && text("units").as_deref() == Some(UNITS)
        && text("calendar").as_deref() == Some(CALENDAR);
    let can = match item {
        ItemType::Key(_) => true,
        ItemType::DateTime | ItemType::DvDateTime => texts || micros,
        ItemType::TimeSpan
        | ItemType::DvTimeSpan
        | ItemType::DateTimeOffset
        | ItemType::DvDateTimeZone
        | ItemType::RowId => texts,
        _ => false,
    };
    can.then_some(Said { item, micros: micros && !matches!(item, ItemType::Key(_)) })
}

/// Metadata, and the names of attributes that are none.
pub(super) struct Told {
    pub(super) kept: Vec<(String, Type, Values)>,
    pub(super) left_out: Vec<String>,
}

/// All attributes with their texts: equal where the same is said.
pub(super) fn attributes(variable: &Variable<'_>) -> Vec<(String, JsonBuf)> {
    variable.attributes().map(|(name, value)| (name, value.into())).collect()
}

/// What is said of a variable.
pub(super) fn metadata(variable: &Variable<'_>, filler: &Filler) -> Told {
    let mut told = Told { kept: Vec::new(), left_out: Vec::new() };
    let names = JsonBuf::list(variable.dimensions().iter().map(Into::into));
    let before = variable.data_type().filter(|data_type| filler.widens() || *data_type == DataType::Str);
    let own = [
        (DIMS, Some(names)),
        (TIME, variable.is_time().then(|| true.into())),
        (MISSING, filler.nan_is_missing().then(|| true.into())),
        (BEFORE, before.map(|data_type| data_type.name().into())),
    ];
    for (name, json) in own {
        if let Some((value_type, value)) = json.and_then(|json: JsonBuf| value(json.as_json(), None)) {
            told.kept.push((name.to_owned(), value_type, value));
        }
    }
    // Of a name that comes again the last value counts.
    let mut last: Vec<(String, Json<'_>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (name, json) in variable.attributes() {
        let place = *places.entry(name.clone()).or_insert(last.len());
        match last.get_mut(place) {
            Some(known) => known.1 = json,
            None => last.push((name, json)),
        }
    }
    for (name, json) in last {
        let is_type = filler.is_said() && name == TYPE;
        let is_count = filler.counts_micros() && (name == "units" || name == "calendar");
        if is_type || is_count {
            continue; // it is in the type of the column
        }
        let numbers = match name.as_str() {
            "CategoricalSlotRanges" => Some(ItemType::Int32),
            // Labels are looked up among numbers of their own type.
            "KeyValues" => variable.data_type().and_then(number_type),
            _ => None,
        };
        let found = value(json, numbers).filter(|(value_type, _)| match name.as_str() {
            "" => false,
            // ML.NET takes it for what it is called.
            "SlotNames" => {
                let names = matches!(value_type, Type::Vector { item: ItemType::Text, .. });
                names && filler.kind().is_vector() && value_type.size() == filler.kind().size()
            }
            _ => true,
        });
        match found {
            Some((value_type, value)) => told.kept.push((name, value_type, value)),
            None => told.left_out.push(name),
        }
    }
    told
}

/// The numbers of a type, in IDV's words.
fn number_type(data_type: DataType) -> Option<ItemType> {
    match data_type {
        DataType::Float32 => Some(ItemType::Single),
        DataType::Float64 => Some(ItemType::Double),
        DataType::Int8 => Some(ItemType::SByte),
        DataType::Int16 => Some(ItemType::Int16),
        DataType::Int32 => Some(ItemType::Int32),
        DataType::Int64 => Some(ItemType::Int64),
        DataType::Uint8 => Some(ItemType::Byte),
        DataType::Uint16 => Some(ItemType::UInt16),
        DataType::Uint32 => Some(ItemType::UInt32),
        DataType::Uint64 => Some(ItemType::UInt64),
        DataType::Bool | DataType::Str | DataType::Unicode => None,
    }
}

/// A value as metadata: a text, a number, a truth, or lists of one of these in which all have the same length; numbers of a type where
/// one is said.
fn value(json: Json<'_>, numbers: Option<ItemType>) -> Option<(Type, Values)> {
    if json.kind() != JsonKind::Array {
        let item = item_of(&[json], numbers)?;
        let kind = Type::Item(item);
        let mut values = Values::of(&kind);
        push(&mut values, item, json)?;
        return Some((kind, values));
    }
    let mut lists = Lists::default();
    if !lists.walk(json, 0) {
        return None;
    }
    let Lists { sizes, leaves, .. } = lists;
    let item = item_of(&leaves, numbers)?;
    let dimensions = sizes.iter().map(|size| u32::try_from(*size).ok()).collect::<Option<Vec<u32>>>()?;
    i32::try_from(leaves.len()).ok()?;
    let mut vectors = Vectors::of(item);
    leaves.iter().try_for_each(|leaf| push(vectors.items_mut(), item, *leaf))?;
    vectors.close_dense().ok()?;
    Some((Type::Vector { item, dimensions }, Values::Vector(Box::new(vectors))))
}

/// Lists in lists: how many items each has, what is in the innermost, and how deep that is.
#[derive(Default)]
struct Lists<'j> {
    sizes: Vec<usize>,
    leaves: Vec<Json<'j>>,
    depth: Option<usize>,
}

impl<'j> Lists<'j> {
    /// False where lists beside each other differ in size or depth.
    fn walk(&mut self, json: Json<'j>, level: usize) -> bool {
        if level >= DEPTH {
            return false;
        }
        let first = self.sizes.len() <= level;
        if first {
            self.sizes.push(0);
        }
        let mut count = 0;
        for item in json.items() {
            count += 1;
            let fits = match item.kind() {
                JsonKind::Array => self.walk(item, level + 1),
                _ => {
                    self.leaves.push(item);
                    *self.depth.get_or_insert(level) == level
                }
            };
            if !fits {
                return false;
            }
        }
        // Nothing in a list in a list is not told from a list of unknown length.
        if count == 0 && level > 0 {
            return false;
        }
        match self.sizes.get_mut(level) {
            Some(size) if first => *size = count,
            Some(size) => return *size == count,
            None => return false,
        }
        true
    }
}

/// The type that has all of these.
fn item_of(leaves: &[Json<'_>], numbers: Option<ItemType>) -> Option<ItemType> {
    let all = |one: &dyn Fn(&Json<'_>) -> bool| leaves.iter().all(one);
    let number = |json: &Json<'_>| matches!(json.kind(), JsonKind::Integer | JsonKind::Float);
    let nulls = leaves.iter().any(Json::is_null);
    if leaves.is_empty()
        || (all(&|json| json.is_null() || json.as_str().is_some()) && leaves.iter().any(|json| !json.is_null()))
    {
        Some(ItemType::Text)
    } else if all(&|json| json.is_null() || json.as_bool().is_some()) && leaves.iter().any(|json| !json.is_null()) {
        Some(if nulls { ItemType::DvBool } else { ItemType::Boolean })
    } else if let Some(item) = numbers
        && all(&number)
    {
        Some(item)
    } else if all(&|json| json.as_i64().is_some()) {
        Some(ItemType::Int64)
    } else if all(&|json| json.as_u64().is_some()) {
        Some(ItemType::UInt64)
    } else if all(&number) && leaves.iter().any(|json| json.kind() == JsonKind::Float) {
        Some(ItemType::Double)
    } else {
        None
    }
}

/// Appends a value of the type that was found for it; `None` where it does not have it exactly.
fn push(values: &mut Values, item: ItemType, json: Json<'_>) -> Option<()> {
    let text = json.as_str();
    let cell = match (json.kind(), item) {
        (JsonKind::Null, _) => Cell::Missing,
        (JsonKind::Bool, _) => Cell::Bool(json.as_bool()?),
        (JsonKind::String, _) => Cell::Text(text.as_deref()?),
        (JsonKind::Integer, ItemType::Single | ItemType::Double) => Cell::Double(exact(json.as_text().parse().ok()?)?),
        (JsonKind::Integer, _) => Cell::Int(json.as_text().parse().ok()?),
        (JsonKind::Float, _) => Cell::Double(json.as_f64()?),
        _ => return None,
    };
    values.push_cell(&Type::Item(item), None, cell).ok()
}
