//! Converts column values to the format's types.

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
use container_arrow::{decimal_text, from_arrow};
use container_core::{Error, Result};

use super::super::meta::{CALENDAR, FieldMetadata, UNITS};
use super::super::times::TimeNumber;
use crate::array::Values;
use crate::json::{JsonBuf, quoted};
use crate::read::values::by_number;
use crate::time::{Calendar, Date, Units};
use crate::types::{DataType, Endian};
use crate::write::bits::Packer;
use crate::write::emit;
use crate::write::put::Put;
use crate::write::spool::Spool;

/// The values of a column and their target type.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) data_type: DataType,
    endian: Endian,
    /// Units that times are converted back to.
    units: Option<Units>,
    lengths: usize,
    values: usize,
    packer: Packer,
}

/// The target type, and attributes that give its numbers their meaning.
struct Target {
    data_type: DataType,
    units: Option<&'static str>,
    calendar: bool,
}

fn target(arrow_type: &ArrowType) -> Result<Target> {
    let plain = |data_type| Ok(Target { data_type, units: None, calendar: false });
    let counted = |data_type, units| Ok(Target { data_type, units: Some(units), calendar: false });
    let dated = |data_type, units| Ok(Target { data_type, units: Some(units), calendar: true });
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
        ArrowType::Time32(unit) => counted(DataType::Int32, unit_name(*unit)),
        ArrowType::Time64(unit) | ArrowType::Duration(unit) => counted(DataType::Int64, unit_name(*unit)),
        ArrowType::Dictionary(_, values) => target(values),
        other => Err(Error::unsupported(format!("unsupported type {other}"))),
    }
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Nanosecond => "nanoseconds",
    }
}

impl Leaf {
    /// Chooses the target type, and completes the metadata accordingly.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for an unsupported type.
    pub(super) fn new(
        arrow_type: &ArrowType,
        metadata: &mut FieldMetadata,
        endian: Option<Endian>,
        spool: &mut Spool,
    ) -> Result<Self> {
        let mut target = target(arrow_type)?;
        let mut units = None;
        if let ArrowType::Timestamp(..) = arrow_type {
            // Numbers that were read as times are converted back.
            units = metadata
                .data_type
                .filter(|data_type| data_type.width().is_some())
                .and_then(|_| original_units(metadata));
            if let (Some(_), Some(data_type)) = (units, metadata.data_type) {
                target = Target { data_type, units: None, calendar: false };
            }
        }
        let attributes =
            [target.units.map(|units| (UNITS, units)), target.calendar.then_some((CALENDAR, "proleptic_gregorian"))];
        for (name, value) in attributes.into_iter().flatten() {
            metadata.attributes.retain(|(key, _)| *key != quoted(name));
            metadata.attributes.push((quoted(name), JsonBuf::from(value)));
            metadata.time = false;
        }
        metadata.time &= target.data_type.width().is_some();
        let endian = endian.or(metadata.endian).unwrap_or(Endian::NATIVE);
        let (lengths, values) = (spool.section(), spool.section());
        Ok(Self { data_type: target.data_type, endian, units, lengths, values, packer: Packer::default() })
    }

    pub(super) fn endian(&self) -> Endian {
        self.endian
    }

    /// Its sections: string lengths, then everything else.
    pub(super) fn sections(&self) -> [usize; 2] {
        [self.lengths, self.values]
    }

    pub(super) fn end(&mut self, spool: &mut Spool) -> Result<()> {
        self.packer.end(&mut spool.tail(self.values))
    }

    fn values(&mut self, values: &Values<'_>, spool: &mut Spool) -> Result<()> {
        emit::values(values, None, self.endian, &mut self.packer, &mut spool.tail(self.values))
    }

    /// Appends values without nulls.
    ///
    /// # Errors
    /// A value out of range, with its index.
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
                let bools: Vec<bool> = array.as_boolean().values().iter().collect();
                self.values(&bools.into(), spool).map_err(io)
            }
            ArrowType::Utf8 => self.strings::<Utf8Type>(array, spool).map_err(io),
            ArrowType::LargeUtf8 => self.strings::<LargeUtf8Type>(array, spool).map_err(io),
            ArrowType::Binary => self.strings::<BinaryType>(array, spool).map_err(io),
            ArrowType::LargeBinary => self.strings::<LargeBinaryType>(array, spool).map_err(io),
            ArrowType::Utf8View | ArrowType::BinaryView | ArrowType::FixedSizeBinary(_) => {
                (0..array.len()).try_for_each(|at| self.string(array, at, spool)).map_err(io)
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
            other => Err(io(Error::unsupported(format!("unsupported type {other}")))),
        }
    }

    /// Appends contiguous strings.
    fn strings<T: ByteArrayType>(&self, array: &ArrayRef, spool: &mut Spool) -> Result<()> {
        let strings = array.as_bytes::<T>();
        let offsets = strings.value_offsets();
        let mut lengths: Vec<u64> = Vec::with_capacity(strings.len());
        for pair in offsets.windows(2) {
            let [start, end] = pair else { continue };
            lengths.push((end.as_usize() - start.as_usize()) as u64);
        }
        spool.tail(self.lengths).put(bytemuck::cast_slice(&lengths))?;
        let range = offsets.first().zip(offsets.last()).map(|(start, end)| start.as_usize()..end.as_usize());
        let bytes = range.and_then(|range| strings.value_data().get(range)).unwrap_or_default();
        spool.tail(self.values).put(bytes)
    }

    /// Appends one string of any Arrow string type.
    fn string(&self, array: &ArrayRef, at: usize, spool: &mut Spool) -> Result<()> {
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

    /// Appends dictionary values: strings one by one, because decoding all of them may take far more memory than the batch.
    fn dictionary(&mut self, array: &ArrayRef, spool: &mut Spool) -> Result<(), (Error, usize)> {
        let dictionary = array.as_any_dictionary();
        let values = dictionary.values();
        if array.is_empty() {
            return Ok(()); // the dictionary may be empty
        }
        if self.data_type.is_text() && !matches!(values.data_type(), ArrowType::Dictionary(..)) {
            let keys = dictionary.normalized_keys();
            return keys.into_iter().try_for_each(|key| self.string(values, key, spool)).map_err(|error| (error, 0));
        }
        let decoded = take(values, dictionary.keys(), None).map_err(|error| (from_arrow(error), 0))?;
        self.take(&decoded, spool)
    }

    /// Appends times: as their original numbers, or in their own unit, with nanoseconds as microseconds. `scale` is the number of microseconds per
    /// unit as a fraction.
    fn times<T: ArrowPrimitiveType<Native = i64>>(
        &mut self,
        array: &ArrayRef,
        scale: (i128, i128),
        spool: &mut Spool,
    ) -> Result<(), (Error, usize)> {
        let instants = array.as_primitive::<T>().values();
        let finer = |at, instant: i64| {
            let detail = format!("time {instant} nanoseconds since 1970 is finer than a microsecond");
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
        let to_date = |at: usize, instant: i64| {
            let scaled = i128::from(instant) * scale.0;
            if scaled % scale.1 != 0 {
                return Err(finer(at, instant));
            }
            Ok(Date::from_micros(scaled / scale.1, Calendar::ProlepticGregorian))
        };
        let data_type = self.data_type;
        let values: Values<'_> = by_number!(data_type,
            Number => time_numbers::<Number>(instants, units, data_type, to_date)?.into(),
            DataType::Bool => return Ok(()),
            DataType::Str | DataType::Unicode => return Ok(())
        );
        self.values(&values, spool).map_err(|error| (error, 0))
    }

    fn decimals<T: DecimalType>(&mut self, array: &ArrayRef, spool: &mut Spool) -> Result<(), (Error, usize)> {
        let decimals: &PrimitiveArray<T> = array.as_primitive();
        let float = |at: usize| {
            let digits = decimal_text(decimals, at).unwrap_or_default();
            let float: f64 = digits.parse().map_err(|_| (Error::invalid(format!("invalid decimal {digits}")), at))?;
            let places = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
            match format!("{float:.places$}") == digits {
                true => Ok(float),
                false => Err((Error::invalid(format!("decimal {digits} has no exact float64")), at)),
            }
        };
        let floats: Vec<f64> = (0..decimals.len()).map(float).collect::<Result<_, _>>()?;
        self.values(&floats.into(), spool).map_err(|error| (error, 0))
    }
}

fn time_numbers<T: TimeNumber>(
    instants: &[i64],
    units: Units,
    data_type: DataType,
    date: impl Fn(usize, i64) -> Result<Option<Date>, (Error, usize)>,
) -> Result<Vec<T>, (Error, usize)> {
    let number = |(at, instant): (usize, &i64)| {
        let date = date(at, *instant)?;
        date.and_then(|date| T::from_date(units, date)).ok_or_else(|| {
            let time = date.map_or_else(|| instant.to_string(), |date| date.to_string());
            (Error::invalid(format!("time {time} has no exact {data_type} in {units}")), at)
        })
    };
    instants.iter().enumerate().map(number).collect()
}

/// Units of numbers that were read as times.
fn original_units(metadata: &FieldMetadata) -> Option<Units> {
    if metadata.time {
        return Some(Units::JULIAN);
    }
    let calendar = metadata.text(CALENDAR).map_or(Some(Calendar::Standard), |name| Calendar::from_name(&name).ok())?;
    Units::parse(&metadata.text(UNITS)?, calendar).ok().filter(|_| calendar.is_real())
}
