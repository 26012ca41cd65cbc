//! How stored numbers stand for others: `scale_factor`, `add_offset` and `_Unsigned`.

use crate::FORMAT_NAME;
use crate::read::Variable;
use crate::types::DataType;

/// Packing that changes numbers: `scale * stored + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Packing {
    pub(crate) scale: f64,
    pub(crate) offset: f64,
    /// Signed integers stand for unsigned ones of the same bits.
    pub(crate) unsigned: bool,
}

impl Packing {
    /// The packing of a variable; `None` when its numbers are the values they mean.
    pub(crate) fn of(variable: &Variable<'_>) -> Option<Self> {
        use DataType::{Float32, Float64, Int8, Int16, Int32, Int64};
        let data_type = variable.data_type().filter(|data_type| data_type.width().is_some())?;
        // ds-format unpacks NetCDF to floats, and keeps the attributes.
        if variable.reader.format() == FORMAT_NAME && matches!(data_type, Float32 | Float64) {
            return None;
        }
        let attributes = variable.attributes();
        let number = |name| attributes.get(name).and_then(|value| value.as_f64());
        let is_true = || {
            attributes
                .get("_Unsigned")
                .and_then(|value| value.as_str())
                .is_some_and(|text| matches!(&*text, "true" | "True"))
        };
        let unsigned = matches!(data_type, Int8 | Int16 | Int32 | Int64) && is_true();
        let (scale, offset) = (number("scale_factor").unwrap_or(1.0), number("add_offset").unwrap_or(0.0));
        (unsigned || scale != 1.0 || offset != 0.0).then_some(Self { scale, offset, unsigned })
    }

    /// Whether each stored number stands for another value.
    pub(crate) fn is_invertible(self) -> bool {
        self.scale != 0.0 && self.scale.is_finite() && self.offset.is_finite()
    }
}
