//! Record batches: containers of them, and what the readers and writers of Parquet and Arrow IPC share.

/// Calls a function that is generic over an Arrow type for the integer type `$of`, which other arms may follow:
/// `of_integer!(data_type, convert(array), _ => None)`.
macro_rules! of_integer {
    ($of:expr, $($call:ident).+ ($($argument:expr),*), $($other:tt)*) => {
        match $of {
            arrow_schema::DataType::Int8 => $($call).+::<arrow_array::types::Int8Type>($($argument),*),
            arrow_schema::DataType::Int16 => $($call).+::<arrow_array::types::Int16Type>($($argument),*),
            arrow_schema::DataType::Int32 => $($call).+::<arrow_array::types::Int32Type>($($argument),*),
            arrow_schema::DataType::Int64 => $($call).+::<arrow_array::types::Int64Type>($($argument),*),
            arrow_schema::DataType::UInt8 => $($call).+::<arrow_array::types::UInt8Type>($($argument),*),
            arrow_schema::DataType::UInt16 => $($call).+::<arrow_array::types::UInt16Type>($($argument),*),
            arrow_schema::DataType::UInt32 => $($call).+::<arrow_array::types::UInt32Type>($($argument),*),
            arrow_schema::DataType::UInt64 => $($call).+::<arrow_array::types::UInt64Type>($($argument),*),
            $($other)*
        }
    };
}
pub(crate) use of_integer;

pub(crate) mod columns;
mod container;
mod dictionaries;
mod guard;
pub(crate) mod hidden;
#[cfg(test)]
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "values are small")]
pub(crate) mod samples;
pub(crate) mod size;

pub(crate) use columns::{
    Projection, RowsWithLosses, describe, json_or_text, metadata, name, project, rows, rows_of, same_columns, summary,
};
pub use container::{BatchContainer, BoxedBatches};
pub(crate) use dictionaries::{Dictionaries, has_dictionary, max_labels};
pub(crate) use guard::guarded;
pub use guard::is_guarded;
pub(crate) use size::batch_slices;
