//! Values of columns as the format has them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, BinaryType, ByteArrayType, Date32Type, Date64Type, Decimal32Type, Decimal64Type,
    Decimal128Type, Decimal256Type, DecimalType, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, LargeBinaryType, LargeUtf8Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type, Utf8Type,
};
use arrow_array::{Array as _, ArrayRef, PrimitiveArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType as ArrowType, TimeUnit};
use arrow_select::take::take;
use container_arrow::from_arrow;
use container_core::{Error, Result};

use super::super::meta::{CALENDAR, FieldMetadata, UNITS};
use super::super::times::Counted;
use super::spool::Spool;
use crate::array::Values;
use crate::json::{JsonBuf, quoted};
use crate::read::values::by_number;
use crate::time::{Calendar, Date, Units};
use crate::types::{DataType, Endian};
use crate::write::bits::Packer;
use crate::write::emit;
use crate::write::put::Put;

/// What the values of a column are written as.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) data_type: DataType,
    endian: Endian,
    /// Times that are counted in these units, as they were before.
    units: Option<Units>,
    lengths: usize,
    values: usize,
    packer: Packer,
}

/// What a type becomes, and attributes that say what its numbers mean.
struct Chosen {
    data_type: DataType,
    units: Option<&'static str>,
    calendar: bool,
}

fn chosen(arrow_type: &ArrowType) -> Result<Chosen> {
    let plain = |data_type| Ok(Chosen { data_type, units: None, calendar: false });
    let counted = |data_type, units| Ok(Chosen { data_type, units: Some(units), calendar: false });
    let dated = |data_type, units| Ok(Chosen { data_type, units: Some(units), calendar: true });
    match arrow_type {
        ArrowType::Null | ArrowType::Float64 => plain(DataType::Float64),
        ArrowType::Float16 | ArrowType::Float32 => plain(DataType::Float32),
        ArrowType::Int8 => plain(DataType::Int8),
        ArrowType::Int16 => plain(DataType::Int16),
        ArrowType::Int32 => plain(DataType::Int32),
        ArrowType::Int64 => plain(DataType::Int64),
        ArrowType::UInt8 => plain(DataType::Uint8),
        ArrowType::UInt16 => plain(DataType::Uint16),
        ArrowType::UInt32 => plain(DataType::Uint32),
        ArrowType::UInt64 => plain(DataType::Uint64),
        ArrowType::Boolean => plain(DataType::Bool),
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => plain(DataType::Unicode),
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView | ArrowType::FixedSizeBinary(_) => {
            plain(DataType::Str)
        }
        ArrowType::Decimal32(..) | ArrowType::Decimal64(..) | ArrowType::Decimal128(..) | ArrowType::Decimal256(..) => {
            plain(DataType::Float64)
        }
        ArrowType::Date32 => dated(DataType::Int32, "days since 1970-01-01"),
        ArrowType::Date64 => dated(DataType::Int64, "milliseconds since 1970-01-01"),
        ArrowType::Timestamp(unit, _) => dated(
            DataType::Int64,
            match unit {
                TimeUnit::Second => "seconds since 1970-01-01",
                TimeUnit::Millisecond => "milliseconds since 1970-01-01",
                TimeUnit::Microsecond | TimeUnit::Nanosecond => "microseconds since 1970-01-01",
            },
        ),
        ArrowType::Time32(unit) => counted(DataType::Int32, name(*unit)),
        ArrowType::Time64(unit) | ArrowType::Duration(unit) => counted(DataType::Int64, name(*unit)),
        ArrowType::Dictionary(_, values) => chosen(values),
        other => Err(Error::unsupported(format!("values of the type {other} are not written as ds"))),
    }
}

fn name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Nanosecond => "nanoseconds",
    }
}

impl Leaf {
    /// How values of a type are written whose metadata says this, which is told what else there is to say.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for a type that is not written.
    pub(super) fn new(
        arrow_type: &ArrowType,
        said: &mut FieldMetadata,
        endian: Option<Endian>,
        spool: &mut Spool,
    ) -> Result<Self> {
        let mut chosen = chosen(arrow_type)?;
        let mut units = None;
        if let ArrowType::Timestamp(..) = arrow_type {
            // A number that became a time becomes that number again.
            units = said.data_type.filter(|data_type| data_type.width().is_some()).and_then(|_| before(said));
            if let (Some(_), Some(data_type)) = (units, said.data_type) {
                chosen = Chosen { data_type, units: None, calendar: false };
            }
        }
        let told =
            [chosen.units.map(|units| (UNITS, units)), chosen.calendar.then_some((CALENDAR, "proleptic_gregorian"))];
        for (name, value) in told.into_iter().flatten() {
            said.attributes.retain(|(found, _)| *found != quoted(name));
            said.attributes.push((quoted(name), JsonBuf::from(value)));
            said.time = false;
        }
        said.time &= chosen.data_type.width().is_some();
        let endian = endian.or(said.endian).unwrap_or(Endian::NATIVE);
        let (lengths, values) = (spool.section(), spool.section());
        Ok(Self { data_type: chosen.data_type, endian, units, lengths, values, packer: Packer::default() })
    }

    pub(super) fn endian(&self) -> Endian {
        self.endian
    }

    /// The sections that its values are in: lengths of strings, then all else.
    pub(super) fn sections(&self) -> [usize; 2] {
        [self.lengths, self.values]
    }

    pub(super) fn end(&mut self, spool: &mut Spool) -> Result<()> {
        self.packer.end(&mut spool.tail(self.values))
    }

    fn values(&mut self, values: &Values<'_>, spool: &mut Spool) -> Result<()> {
        emit::values(values, None, self.endian, &mut self.packer, &mut spool.tail(self.values))
    }

    /// Takes values of which none is null.
    ///
    /// # Errors
    /// A value that the type cannot hold, with its number as the second part.
    pub(super) fn take(&mut self, array: &ArrayRef, spool: &mut Spool) -> Result<(), (Error, usize)> {
        let io = |error| (error, 0);
        macro_rules! same {
            ($arrow:ty) => {{
                let numbers: &[_] = array.as_primitive::<$arrow>().values();
                self.values(&Values::from(numbers), spool).map_err(io)
            }};
        }
        match array.data_type() {
            ArrowType::Null => Ok(()),
            ArrowType::Int8 => same!(Int8Type),
            ArrowType::Int16 => same!(Int16Type),
            ArrowType::Int32 => same!(Int32Type),
            ArrowType::Int64 => same!(Int64Type),
            ArrowType::UInt8 => same!(UInt8Type),
            ArrowType::UInt16 => same!(UInt16Type),
            ArrowType::UInt32 => same!(UInt32Type),
            ArrowType::UInt64 => same!(UInt64Type),
            ArrowType::Float32 => same!(Float32Type),
            ArrowType::Float64 => same!(Float64Type),
            ArrowType::Float16 => {
                let numbers: Vec<f32> =
                    array.as_primitive::<Float16Type>().values().iter().map(|n| n.to_f32()).collect();
                self.values(&numbers.into(), spool).map_err(io)
            }
            ArrowType::Boolean => {
                let truths: Vec<bool> = array.as_boolean().values().iter().collect();
                self.values(&truths.into(), spool).map_err(io)
            }
            ArrowType::Utf8 => self.texts::<Utf8Type>(array, spool).map_err(io),
            ArrowType::LargeUtf8 => self.texts::<LargeUtf8Type>(array, spool).map_err(io),
            ArrowType::Binary => self.texts::<BinaryType>(array, spool).map_err(io),
            ArrowType::LargeBinary => self.texts::<LargeBinaryType>(array, spool).map_err(io),
            ArrowType::Utf8View | ArrowType::BinaryView | ArrowType::FixedSizeBinary(_) => {
                (0..array.len()).try_for_each(|at| self.text(array, at, spool)).map_err(io)
            }
            ArrowType::Dictionary(..) => self.dictionary(array, spool),
            ArrowType::Date32 => same!(Date32Type),
            ArrowType::Date64 => same!(Date64Type),
            ArrowType::Time32(TimeUnit::Second) => same!(Time32SecondType),
            ArrowType::Time32(_) => same!(Time32MillisecondType),
            ArrowType::Time64(TimeUnit::Microsecond) => same!(Time64MicrosecondType),
            ArrowType::Time64(_) => same!(Time64NanosecondType),
            ArrowType::Duration(TimeUnit::Second) => same!(DurationSecondType),
            ArrowType::Duration(TimeUnit::Millisecond) => same!(DurationMillisecondType),
            ArrowType::Duration(TimeUnit::Microsecond) => same!(DurationMicrosecondType),
            ArrowType::Duration(TimeUnit::Nanosecond) => same!(DurationNanosecondType),
            ArrowType::Timestamp(TimeUnit::Second, _) => {
                self.times::<TimestampSecondType>(array, (1_000_000, 1), spool)
            }
            ArrowType::Timestamp(TimeUnit::Millisecond, _) => {
                self.times::<TimestampMillisecondType>(array, (1000, 1), spool)
            }
            ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
                self.times::<TimestampMicrosecondType>(array, (1, 1), spool)
            }
            ArrowType::Timestamp(TimeUnit::Nanosecond, _) => {
                self.times::<TimestampNanosecondType>(array, (1, 1000), spool)
            }
            ArrowType::Decimal32(..) => self.decimals::<Decimal32Type>(array, spool),
            ArrowType::Decimal64(..) => self.decimals::<Decimal64Type>(array, spool),
            ArrowType::Decimal128(..) => self.decimals::<Decimal128Type>(array, spool),
            ArrowType::Decimal256(..) => self.decimals::<Decimal256Type>(array, spool),
            other => Err(io(Error::unsupported(format!("values of the type {other} are not written as ds")))),
        }
    }

    /// Strings that lie one behind the other.
    fn texts<T: ByteArrayType>(&self, array: &ArrayRef, spool: &mut Spool) -> Result<()> {
        let strings = array.as_bytes::<T>();
        let offsets = strings.value_offsets();
        let mut lengths: Vec<u64> = Vec::with_capacity(strings.len());
        for pair in offsets.windows(2) {
            let [start, end] = pair else { continue };
            lengths.push((end.as_usize() - start.as_usize()) as u64);
        }
        spool.tail(self.lengths).put(bytemuck::cast_slice(&lengths))?;
        let place = offsets.first().zip(offsets.last()).map(|(start, end)| start.as_usize()..end.as_usize());
        let bytes = place.and_then(|place| strings.value_data().get(place)).unwrap_or_default();
        spool.tail(self.values).put(bytes)
    }

    /// One string of any type that strings have.
    fn text(&self, array: &ArrayRef, at: usize, spool: &mut Spool) -> Result<()> {
        let bytes: &[u8] = match array.data_type() {
            ArrowType::Utf8 => array.as_string::<i32>().value(at).as_bytes(),
            ArrowType::LargeUtf8 => array.as_string::<i64>().value(at).as_bytes(),
            ArrowType::Utf8View => array.as_string_view().value(at).as_bytes(),
            ArrowType::Binary => array.as_binary::<i32>().value(at),
            ArrowType::LargeBinary => array.as_binary::<i64>().value(at),
            ArrowType::BinaryView => array.as_binary_view().value(at),
            _ => array.as_fixed_size_binary().value(at),
        };
        spool.tail(self.lengths).put(&(bytes.len() as u64).to_ne_bytes())?;
        spool.tail(self.values).put(bytes)
    }

    /// Values that are told by their places: strings one by one, as all together may be far more than the batch.
    fn dictionary(&mut self, array: &ArrayRef, spool: &mut Spool) -> Result<(), (Error, usize)> {
        let dictionary = array.as_any_dictionary();
        let values = dictionary.values();
        if array.is_empty() {
            return Ok(()); // there may be no values then
        }
        if self.data_type.is_text() && !matches!(values.data_type(), ArrowType::Dictionary(..)) {
            let keys = dictionary.normalized_keys();
            return keys.into_iter().try_for_each(|key| self.text(values, key, spool)).map_err(|error| (error, 0));
        }
        let taken = take(values, dictionary.keys(), None).map_err(|error| (from_arrow(error), 0))?;
        self.take(&taken, spool)
    }

    /// Times: the numbers that they were, or numbers of their own unit; of nanoseconds those of microseconds. `scale` is how many
    /// microseconds the unit has, as a fraction.
    fn times<T: ArrowPrimitiveType<Native = i64>>(
        &mut self,
        array: &ArrayRef,
        scale: (i128, i128),
        spool: &mut Spool,
    ) -> Result<(), (Error, usize)> {
        let instants = array.as_primitive::<T>().values();
        let finer = |at, instant: i64| {
            let detail = format!("the time of {instant} nanoseconds since 1970 is finer than a microsecond");
            (Error::invalid(detail), at)
        };
        let Some(units) = self.units else {
            if scale.1 == 1 {
                return self.values(&Values::from(&instants[..]), spool).map_err(|error| (error, 0));
            }
            let micros = instants.iter().enumerate().map(|(at, instant)| match instant % 1000 {
                0 => Ok(instant / 1000),
                _ => Err(finer(at, *instant)),
            });
            let micros: Vec<i64> = micros.collect::<Result<_, _>>()?;
            return self.values(&micros.into(), spool).map_err(|error| (error, 0));
        };
        let count = |at: usize, instant: i64| {
            let scaled = i128::from(instant) * scale.0;
            if scaled % scale.1 != 0 {
                return Err(finer(at, instant));
            }
            Ok(Date::from_micros(scaled / scale.1, Calendar::ProlepticGregorian))
        };
        let data_type = self.data_type;
        let values: Values<'_> = by_number!(data_type,
            Number => numbers_of::<Number>(instants, units, data_type, count)?.into(),
            DataType::Bool => return Ok(()),
            DataType::Str | DataType::Unicode => return Ok(())
        );
        self.values(&values, spool).map_err(|error| (error, 0))
    }

    fn decimals<T: DecimalType>(&mut self, array: &ArrayRef, spool: &mut Spool) -> Result<(), (Error, usize)> {
        let decimals: &PrimitiveArray<T> = array.as_primitive();
        let float = |at: usize| {
            let digits = decimals.value_as_string(at);
            let float: f64 = digits.parse().map_err(|_| (Error::invalid(format!("{digits} is no number")), at))?;
            let places = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
            match format!("{float:.places$}") == digits {
                true => Ok(float),
                false => Err((Error::invalid(format!("no float leads back to the digits {digits}")), at)),
            }
        };
        let floats: Vec<f64> = (0..decimals.len()).map(float).collect::<Result<_, _>>()?;
        self.values(&floats.into(), spool).map_err(|error| (error, 0))
    }
}

fn numbers_of<T: Counted>(
    instants: &[i64],
    units: Units,
    data_type: DataType,
    date: impl Fn(usize, i64) -> Result<Option<Date>, (Error, usize)>,
) -> Result<Vec<T>, (Error, usize)> {
    let number = |(at, instant): (usize, &i64)| {
        let date = date(at, *instant)?;
        date.and_then(|date| T::count(units, date)).ok_or_else(|| {
            let shown = date.map_or_else(|| instant.to_string(), |date| date.to_string());
            (Error::invalid(format!("the time {shown} is no number of {units} that {data_type} holds")), at)
        })
    };
    instants.iter().enumerate().map(number).collect()
}

/// The units of numbers that became times.
fn before(said: &FieldMetadata) -> Option<Units> {
    if said.time {
        return Some(Units::JULIAN);
    }
    let calendar = said.text(CALENDAR).map_or(Some(Calendar::Standard), |name| Calendar::from_name(&name).ok())?;
    Units::parse(&said.text(UNITS)?, calendar).ok().filter(|_| calendar.is_real())
}
