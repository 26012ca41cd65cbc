//! Datasets described by `tests/reference/python/ds_describe.py`: compared with what is read, and written from the description alone.
#![allow(dead_code, unreachable_pub, reason = "the program `ds-interop` uses it too")]

use dsfmt::{Array, Builder, DataType, Endian, Field, Json, JsonBuf, JsonKind, Mask, Reader, Strings, Values};

/// An error in words.
pub type Outcome<T> = std::result::Result<T, String>;

/// A dataset.
pub struct Described {
    /// Its attributes in order.
    pub attributes: Vec<(String, JsonBuf)>,
    /// In the order of their names.
    pub variables: Vec<DescribedVariable>,
}

/// A variable.
pub struct DescribedVariable {
    pub name: String,
    /// The metadata before it was written.
    pub members: Vec<(String, JsonBuf)>,
    pub data_type: Option<DataType>,
    pub shape: Option<Vec<u64>>,
    pub endian: Option<Endian>,
    /// How the reference reads the file: `same`, `nothing`, `fails`, `other`.
    pub python: String,
    /// One per element, `null` if missing.
    pub values: Vec<JsonBuf>,
}

fn member<'a>(json: Json<'a>, name: &str) -> Outcome<Json<'a>> {
    let found = json.members().find(|(found, _)| found.to_text().is_some_and(|found| found == name));
    found.map(|(_, value)| value).ok_or_else(|| format!("{name} is missing in the description"))
}

/// Rebuilds the value from its parts.
fn made(json: Json<'_>) -> JsonBuf {
    match json.kind() {
        JsonKind::Null => JsonBuf::null(),
        JsonKind::Bool => json.as_bool().into(),
        JsonKind::Integer => match (json.as_i64(), json.as_u64(), json.as_text().parse::<i128>()) {
            (Some(number), ..) => number.into(),
            (None, Some(number), _) => number.into(),
            (None, None, Ok(number)) => number.into(),
            _ => json.into(),
        },
        JsonKind::Float => json.as_f64().into(),
        // Lone surrogates are not valid UTF-8.
        JsonKind::String => json.as_str().map_or_else(|| json.into(), Into::into),
        JsonKind::Array => JsonBuf::list(json.items().map(made)),
        JsonKind::Object => JsonBuf::object(members(json)),
    }
}

fn members(json: Json<'_>) -> Vec<(String, JsonBuf)> {
    json.members().map(|(name, value)| (name.to_text().unwrap_or_default().into_owned(), made(value))).collect()
}

impl Described {
    pub fn parse(text: &str) -> Outcome<Self> {
        let json = Json::parse(text).map_err(|error| error.to_string())?;
        let variables = member(json, "variables")?.items().map(DescribedVariable::parse).collect::<Outcome<_>>()?;
        Ok(Self { attributes: members(member(json, "attributes")?), variables })
    }

    /// Compares a file: names, types, sizes, dimensions, attributes, and every value; of `skipped` variables only the header. Returns the number of
    /// elements.
    pub fn compare(&self, reader: &Reader, skipped: impl Fn(&DescribedVariable) -> bool) -> Outcome<usize> {
        let names: Vec<_> = reader.variables().map(|variable| variable.name()).collect();
        let described: Vec<_> = self.variables.iter().map(|described| described.name.as_str()).collect();
        if names != described {
            return Err(format!("the variables are {names:?}, not {described:?}"));
        }
        let attributes: Vec<_> = reader.attributes().map(|(name, value)| (name, value.as_text().to_owned())).collect();
        let expected: Vec<_> = self.attributes.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
        if attributes != expected {
            return Err(format!("the attributes are {attributes:?}, not {expected:?}"));
        }
        let mut elements = 0;
        for described in &self.variables {
            let compared = described.compare(reader, skipped(described));
            elements += compared.map_err(|error| format!("{:?}: {error}", described.name))?;
        }
        Ok(elements)
    }

    /// The dataset to write, from the description alone.
    pub fn builder(&self) -> Outcome<Builder<'static>> {
        let mut builder = Builder::new();
        for (name, value) in &self.attributes {
            builder.attribute(name, value.clone());
        }
        for described in &self.variables {
            let field = match described.array()? {
                Some(array) => Field::new(array),
                None => Field::empty(),
            };
            builder.field(&described.name, described.with_metadata(field));
        }
        Ok(builder)
    }
}

impl DescribedVariable {
    fn parse(json: Json<'_>) -> Outcome<Self> {
        let get = |name| member(json, name);
        let text = |name| get(name)?.as_str().map(String::from).ok_or_else(|| format!("{name} is no text"));
        let shape = get("shape")?;
        let sizes = shape.items().map(|size| size.as_u64().ok_or("a size is no number")).collect::<Result<_, _>>()?;
        Ok(Self {
            name: text("name")?,
            members: members(get("members")?),
            data_type: get("type")?.as_str().and_then(|name| DataType::from_name(&name)),
            shape: (!shape.is_null()).then_some(sizes),
            endian: match get("endian")?.as_text() {
                "\"b\"" => Some(Endian::Big),
                "\"l\"" => Some(Endian::Little),
                _ => None,
            },
            python: text("python")?,
            values: get("values")?.items().map(JsonBuf::from).collect(),
        })
    }

    /// A field with its dimensions, attributes, byte order.
    pub fn with_metadata<'a>(&self, mut field: Field<'a>) -> Field<'a> {
        for (name, value) in &self.members {
            let json = value.as_json();
            let texts = || json.items().map(|item| item.as_str().unwrap_or_default().into_owned());
            field = match name.as_str() {
                ".dims" => field.with_dimensions(texts()),
                ".time" => field.with_time(json.as_bool() == Some(true)),
                ".type" => field.with_type(self.data_type),
                _ => field.with_attribute(name, value.clone()),
            };
        }
        match self.endian {
            Some(endian) => field.with_endian(endian),
            None => field,
        }
    }

    /// The described values; `None` for an empty variable.
    pub fn array(&self) -> Outcome<Option<Array<'static>>> {
        let (Some(shape), Some(data_type)) = (&self.shape, self.data_type) else { return Ok(None) };
        let present = || self.values.iter().map(JsonBuf::as_json);
        macro_rules! numbers {
            ($number:ty, $get:ident) => {{
                let number = |json: Json<'_>| match json.is_null() {
                    true => Ok(<$number>::default()),
                    false => json.$get().and_then(|number| number.try_into().ok()).ok_or("a number is out of bounds"),
                };
                present().map(number).collect::<Result<Vec<$number>, _>>()?.into()
            }};
        }
        #[allow(clippy::cast_possible_truncation, reason = "the float was one of 32 bits before it was described")]
        let narrow = |number: f64| number as f32;
        let float = |json: Json<'_>| json.as_f64().unwrap_or_default();
        let values: Values<'static> = match data_type {
            DataType::Float32 => present().map(|json| narrow(float(json))).collect::<Vec<_>>().into(),
            DataType::Float64 => present().map(float).collect::<Vec<_>>().into(),
            DataType::Int8 => numbers!(i8, as_i64),
            DataType::Int16 => numbers!(i16, as_i64),
            DataType::Int32 => numbers!(i32, as_i64),
            DataType::Int64 => numbers!(i64, as_i64),
            DataType::Uint8 => numbers!(u8, as_u64),
            DataType::Uint16 => numbers!(u16, as_u64),
            DataType::Uint32 => numbers!(u32, as_u64),
            DataType::Uint64 => numbers!(u64, as_u64),
            DataType::Bool => present().map(|json| json.as_bool() == Some(true)).collect::<Vec<_>>().into(),
            DataType::Unicode | DataType::Str => {
                let mut strings = Strings::default();
                for json in present() {
                    let text = json.as_str().unwrap_or_default();
                    match data_type {
                        DataType::Str => strings.push(&bytes_of(&text)?),
                        _ => strings.push(text.as_bytes()),
                    }
                }
                if data_type == DataType::Str { Values::Str(strings) } else { Values::Unicode(strings) }
            }
        };
        let array = Array::new(shape.clone(), values).map_err(|error| error.to_string())?;
        if !present().any(|json| json.is_null()) {
            return Ok(Some(array));
        }
        let mask = Mask::from_bools(present().map(|json| json.is_null()));
        array.with_mask(mask).map(Some).map_err(|error| error.to_string())
    }

    fn compare(&self, reader: &Reader, skip: bool) -> Outcome<usize> {
        let variable = reader.variable(&self.name).map_err(|error| error.to_string())?;
        // Described metadata may include special keys, which were replaced.
        let specials = [".dims", ".time", ".type", ".size", ".offset", ".len", ".missing", ".endian"];
        let expected = self.members.iter().filter(|(name, _)| !specials.contains(&name.as_str()));
        let expected: Vec<_> = expected.map(|(name, value)| (name.clone(), value.to_string())).collect();
        let found: Vec<_> = variable.attributes().map(|(name, value)| (name, value.as_text().to_owned())).collect();
        if found != expected {
            return Err(format!("the attributes are {found:?}, not {expected:?}"));
        }
        let time = self.members.iter().any(|(name, value)| name == ".time" && value.as_json().as_bool() == Some(true));
        if skip {
            return Ok(0);
        }
        if let Some(problem) = variable.problem() {
            return Err(problem.to_string());
        }
        let declared = (variable.data_type(), variable.shape(), variable.is_time());
        if declared != (self.data_type, self.shape.as_deref(), time) {
            return Err(format!("it is {declared:?}, not {:?}", (self.data_type, &self.shape, time)));
        }
        if self.endian.is_some_and(|endian| endian != variable.endian()) {
            return Err(format!("the bytes are in the order {:?}, not {:?}", variable.endian(), self.endian));
        }
        let dimensions = self.members.iter().find(|(name, _)| name == ".dims");
        let named = dimensions.map(|(_, list)| list.as_json().items().filter_map(|name| name.as_str()).collect());
        let count = self.shape.as_ref().map_or(0, Vec::len);
        let named: Vec<_> = named.unwrap_or_else(|| (1..=count).map(|n| format!("{}_{n}", self.name).into()).collect());
        if variable.dimensions() != named {
            return Err(format!("the dimensions are {:?}, not {named:?}", variable.dimensions()));
        }
        let Some(expected) = self.array()? else { return Ok(0) };
        same(&variable.read().map_err(|error| error.to_string())?, &expected)
    }
}

fn bytes_of(digits: &str) -> Outcome<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    pairs.map(|pair| u8::from_str_radix(pair, 16).map_err(|_| format!("{pair:?} is no byte"))).collect()
}

/// Compares type, sizes, mask and values bit for bit; returns the number of elements.
pub fn same(found: &Array<'_>, expected: &Array<'_>) -> Outcome<usize> {
    if (found.data_type(), found.shape(), found.missing())
        != (expected.data_type(), expected.shape(), expected.missing())
    {
        let described = |array: &Array<'_>| format!("{} {:?} {}", array.data_type(), array.shape(), array.missing());
        return Err(format!("type, sizes and missing elements are {}, not {}", described(found), described(expected)));
    }
    let (one, two) = (shown(found)?, shown(expected)?);
    if one.len() != two.len() {
        return Err(format!("there are {} elements, not {}", one.len(), two.len()));
    }
    for (index, (one, two)) in one.iter().zip(&two).enumerate() {
        if one != two {
            return Err(format!("element {index} is {one:?}, not {two:?}"));
        }
    }
    Ok(one.len())
}

/// Each element as text; equal texts mean equal elements.
fn shown(array: &Array<'_>) -> Outcome<Vec<String>> {
    let values = array.values();
    let mut all: Option<Vec<String>> = None;
    macro_rules! numbers {
        ($($number:ty)*) => {$(
            if let Some(numbers) = values.as_slice::<$number>() {
                all = Some(numbers.iter().map(|number| format!("{number:?}")).collect());
            }
        )*};
    }
    numbers! { f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 }
    if let Some(bools) = values.as_bools() {
        all = Some(bools.iter().map(bool::to_string).collect());
    }
    if let Some(strings) = values.as_strings() {
        all = Some(strings.iter().map(|string| format!("{string:x?}")).collect());
    }
    let mut all = all.ok_or("the values are of no type")?;
    if let Some(mask) = array.mask() {
        all.iter_mut().zip(mask.iter()).filter(|(_, missing)| *missing).for_each(|(value, _)| *value = "-".to_owned());
    }
    Ok(all)
}
