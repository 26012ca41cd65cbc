//! Converts values to another type.

use container_core::{Error, Result};

use crate::array::{Array, Mask, Values, each_kind};
use crate::read::by_number;
use crate::types::{DataType, Element};

/// The smallest type that holds all values of both types, if any.
pub(crate) fn widest(one: DataType, other: DataType) -> Option<DataType> {
    const WIDER: [DataType; 10] = [
        DataType::Int8,
        DataType::Uint8,
        DataType::Int16,
        DataType::Uint16,
        DataType::Int32,
        DataType::Uint32,
        DataType::Int64,
        DataType::Uint64,
        DataType::Float32,
        DataType::Float64,
    ];
    if one == other {
        return Some(one);
    }
    WIDER.into_iter().find(|wide| holds(*wide, one) && holds(*wide, other))
}

/// Bits of integers that a type holds exactly; whether it is signed; whether it is a float.
const fn range(data_type: DataType) -> Option<(u32, bool, bool)> {
    match data_type {
        DataType::Int8 => Some((7, true, false)),
        DataType::Int16 => Some((15, true, false)),
        DataType::Int32 => Some((31, true, false)),
        DataType::Int64 => Some((63, true, false)),
        DataType::Uint8 => Some((8, false, false)),
        DataType::Uint16 => Some((16, false, false)),
        DataType::Uint32 => Some((32, false, false)),
        DataType::Uint64 => Some((64, false, false)),
        DataType::Float32 => Some((24, true, true)),
        DataType::Float64 => Some((53, true, true)),
        DataType::Bool | DataType::Str | DataType::Unicode => None,
    }
}

fn holds(wide: DataType, narrow: DataType) -> bool {
    match (range(wide), range(narrow)) {
        (Some((bits, signed, float)), Some((narrow, narrow_signed, narrow_float))) => {
            bits >= narrow && (signed || !narrow_signed) && (float || !narrow_float)
        }
        _ => false,
    }
}

/// A number of any type, widened.
#[derive(Clone, Copy)]
enum Wide {
    Integer(i128),
    Float(f64),
}

trait Number: Element {
    fn wide(self) -> Wide;
    /// Converts to this type, and reports whether it was rounded; `None` when out of range.
    fn narrow(wide: Wide) -> Option<(Self, bool)>;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Number for $integer {
            #[inline]
            fn wide(self) -> Wide {
                Wide::Integer(self.into())
            }

            #[inline]
            fn narrow(wide: Wide) -> Option<(Self, bool)> {
                let whole = match wide {
                    Wide::Integer(number) => number,
                    Wide::Float(number) if number.fract() == 0.0 => {
                        #[expect(clippy::cast_possible_truncation, reason = "integral; saturates to a value that does not fit")]
                        let whole = number as i128;
                        whole
                    }
                    Wide::Float(_) => return None,
                };
                Self::try_from(whole).ok().map(|number| (number, false))
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

impl Number for f64 {
    #[inline]
    fn wide(self) -> Wide {
        Wide::Float(self)
    }

    #[inline]
    fn narrow(wide: Wide) -> Option<(Self, bool)> {
        match wide {
            Wide::Float(number) => Some((number, false)),
            Wide::Integer(whole) => {
                #[expect(clippy::cast_precision_loss, reason = "what is rounded is counted")]
                let number = whole as Self;
                #[expect(clippy::cast_possible_truncation, reason = "no 64-bit integer is beyond 128 bits")]
                let back = number as i128;
                Some((number, back != whole))
            }
        }
    }
}

impl Number for f32 {
    #[inline]
    fn wide(self) -> Wide {
        Wide::Float(self.into())
    }

    #[inline]
    fn narrow(wide: Wide) -> Option<(Self, bool)> {
        match wide {
            Wide::Float(number) => {
                #[expect(clippy::cast_possible_truncation, reason = "what is rounded is counted")]
                let narrow = number as Self;
                let lost = narrow.is_infinite() && number.is_finite();
                (!lost).then_some((narrow, f64::from(narrow) != number && !number.is_nan()))
            }
            Wide::Integer(whole) => {
                #[expect(clippy::cast_precision_loss, reason = "what is rounded is counted")]
                let number = whole as Self;
                #[expect(clippy::cast_possible_truncation, reason = "no 64-bit integer is beyond 128 bits")]
                let back = number as i128;
                Some((number, back != whole))
            }
        }
    }
}

/// Converts to another type. Returns the number of rounded values. Missing elements become zero.
pub(crate) fn converted<'a>(array: Array<'a>, to: DataType) -> Result<(Array<'a>, u64)> {
    if array.data_type() == to {
        return Ok((array, 0));
    }
    let (shape, values, mask) = array.into_parts();
    let (values, rounded) = match (&values, to) {
        (Values::Unicode(strings), DataType::Str) => (Values::Str(strings.clone().into_owned()), 0),
        (Values::Str(strings), DataType::Unicode) => {
            strings.check_utf8().map_err(|error| Error::invalid(error.detail().to_owned()))?;
            (Values::Unicode(strings.clone().into_owned()), 0)
        }
        (Values::Bool(bools), _) if to.width().is_some() => {
            let numbers: Vec<u8> = bools.iter().map(|truth| u8::from(*truth)).collect();
            numbers_to(&Values::from(numbers), mask.as_ref(), to)?
        }
        (values, _) => numbers_to(values, mask.as_ref(), to)?,
    };
    Ok((Array::new_unchecked(shape, values, mask), rounded))
}

fn numbers_to(values: &Values<'_>, mask: Option<&Mask<'_>>, to: DataType) -> Result<(Values<'static>, u64)> {
    let unsupported = || Err(Error::usage(format!("cannot convert {} to {to}", values.data_type())));
    by_number!(to,
            To => each_kind!(values,
    numbers => {
    let mut rounded = 0;
    let numbers = narrowed::<_, To>(numbers, mask, &mut rounded)?;
    Ok((Values::from(numbers), rounded))
    },
    _bools => unsupported(),
    _strings => unsupported()
    ),
    DataType::Bool | DataType::Str | DataType::Unicode => unsupported()
        )
}

fn narrowed<F: Number, T: Number>(from: &[F], mask: Option<&Mask<'_>>, rounded: &mut u64) -> Result<Vec<T>> {
    let mut out = Vec::with_capacity(from.len());
    for (index, number) in from.iter().enumerate() {
        match T::narrow(number.wide()) {
            Some((number, lossy)) => {
                *rounded += u64::from(lossy && !mask.is_some_and(|mask| mask.is_missing(index)));
                out.push(number);
            }
            None if mask.is_some_and(|mask| mask.is_missing(index)) => out.push(T::default()),
            None => {
                return Err(Error::invalid(format!("element {index} is {number:?}, out of range for {}", T::TYPE)));
            }
        }
    }
    Ok(out)
}
