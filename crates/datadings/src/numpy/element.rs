use super::dtype::{ByteOrder, Kind, Primitive};

/// A 16-bit float, as its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct F16(pub u16);

impl F16 {
    /// Converts it exactly.
    #[must_use]
    pub fn to_f32(self) -> f32 {
        let sign = u32::from(self.0 >> 15) << 31;
        let exponent = u32::from(self.0 >> 10 & 0x1f);
        let fraction = u32::from(self.0 & 0x3ff);
        let bits = match (exponent, fraction) {
            (0, _) => {
                // Subnormal: a multiple of 2^-24, which is exact.
                #[expect(clippy::cast_precision_loss, reason = "ten bits")]
                let magnitude = fraction as f32 / 16_777_216.0;
                magnitude.to_bits()
            }
            (0x1f, _) => 0x7f80_0000 | fraction << 13,
            _ => (exponent + 112) << 23 | fraction << 13,
        };
        f32::from_bits(sign | bits)
    }

    /// The nearest 16-bit float, ties to even; infinity if too large.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
        let magnitude = value.abs();
        if value.is_nan() {
            return Self(sign | 0x7e00);
        }
        // 65520 is halfway between the largest finite number and the next one there would be.
        if magnitude >= 65_520.0 {
            return Self(sign | 0x7c00);
        }
        // The distance between neighbors is a power of two, so the division does not round.
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
        let steps = magnitude / f64::powi(2.0, exponent - 10);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2048 and not negative")]
        let steps = steps.round_ties_even() as u16;
        // Counts from 1024 on carry into the exponent, as they should.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 29")]
        let scale = (exponent + 14) as u16;
        Self(sign | ((scale << 10) + steps))
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type of array elements: integers, floats, bool, [`F16`], and `[f32; 2]` and `[f64; 2]` for complex numbers. An `i64` is also a
/// datetime or a timedelta, in the units of the dtype.
pub trait Element: Copy + sealed::Sealed + 'static {
    /// The numpy kind.
    const KIND: Kind;
    /// Size in bytes.
    const SIZE: usize;

    /// Reads an element from exactly its bytes; any other number of bytes reads as zero.
    #[doc(hidden)]
    fn read(bytes: &[u8], order: ByteOrder) -> Self;
    /// Appends the bytes of an element.
    #[doc(hidden)]
    fn write(self, order: ByteOrder, out: &mut Vec<u8>);
    /// Views bytes in native order as elements, if aligned and valid.
    #[doc(hidden)]
    fn view(bytes: &[u8]) -> Option<&[Self]>;
    /// The bytes of elements in native order.
    #[doc(hidden)]
    fn raw(values: &[Self]) -> Option<&[u8]>;

    /// Whether an array of this type has such elements.
    #[doc(hidden)]
    fn matches(of: Primitive) -> bool {
        of.size() == Self::SIZE && of.kind() == Self::KIND
    }
}

macro_rules! numbers {
    ($($type:ty: $kind:ident),*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const KIND: Kind = Kind::$kind;
            const SIZE: usize = size_of::<Self>();

            #[inline]
            fn read(bytes: &[u8], order: ByteOrder) -> Self {
                let bytes = bytes.first_chunk().copied().unwrap_or_default();
                match order {
                    ByteOrder::Big => Self::from_be_bytes(bytes),
                    _ => Self::from_le_bytes(bytes),
                }
            }

            #[inline]
            fn write(self, order: ByteOrder, out: &mut Vec<u8>) {
                match order {
                    ByteOrder::Big => out.extend_from_slice(&self.to_be_bytes()),
                    _ => out.extend_from_slice(&self.to_le_bytes()),
                }
            }

            fn view(bytes: &[u8]) -> Option<&[Self]> {
                bytemuck::try_cast_slice(bytes).ok()
            }

            fn raw(values: &[Self]) -> Option<&[u8]> {
                Some(bytemuck::cast_slice(values))
            }

fn matches(of: Primitive) -> bool {
                let time = Self::SIZE == 8 && Self::KIND == Kind::Int && of.unit().is_some();
                of.size() == Self::SIZE && (of.kind() == Self::KIND || time)
            }
        }
    )*};
}

numbers!(i8: Int, i16: Int, i32: Int, i64: Int, u8: Uint, u16: Uint, u32: Uint, u64: Uint, f32: Float, f64: Float);

macro_rules! pairs {
    ($($type:ty),*) => {$(
        impl sealed::Sealed for [$type; 2] {}
        impl Element for [$type; 2] {
            const KIND: Kind = Kind::Complex;
            const SIZE: usize = size_of::<Self>();

            #[inline]
            fn read(bytes: &[u8], order: ByteOrder) -> Self {
                let (re, im) = bytes.split_at_checked(size_of::<$type>()).unwrap_or_default();
                [<$type>::read(re, order), <$type>::read(im, order)]
            }

            #[inline]
            fn write(self, order: ByteOrder, out: &mut Vec<u8>) {
                let [re, im] = self;
                re.write(order, out);
                im.write(order, out);
            }

            fn view(bytes: &[u8]) -> Option<&[Self]> {
                bytemuck::try_cast_slice(bytes).ok()
            }

            fn raw(values: &[Self]) -> Option<&[u8]> {
                Some(bytemuck::cast_slice(values))
            }
        }
    )*};
}

pairs!(f32, f64);

impl sealed::Sealed for bool {}
impl Element for bool {
    const KIND: Kind = Kind::Bool;
    const SIZE: usize = 1;

    #[inline]
    fn read(bytes: &[u8], _: ByteOrder) -> Self {
        bytes.first().is_some_and(|&byte| byte != 0)
    }

    #[inline]
    fn write(self, _: ByteOrder, out: &mut Vec<u8>) {
        out.push(self.into());
    }

    fn view(bytes: &[u8]) -> Option<&[Self]> {
        bytemuck::checked::try_cast_slice(bytes).ok()
    }

    fn raw(values: &[Self]) -> Option<&[u8]> {
        Some(bytemuck::cast_slice(values))
    }
}

impl sealed::Sealed for F16 {}
impl Element for F16 {
    const KIND: Kind = Kind::Float;
    const SIZE: usize = 2;

    #[inline]
    fn read(bytes: &[u8], order: ByteOrder) -> Self {
        Self(u16::read(bytes, order))
    }

    #[inline]
    fn write(self, order: ByteOrder, out: &mut Vec<u8>) {
        self.0.write(order, out);
    }

    fn view(_: &[u8]) -> Option<&[Self]> {
        None
    }

    fn raw(_: &[Self]) -> Option<&[u8]> {
        None
    }
}
