//! datadings: samples as Python objects, and back. `wharf_data.datadings` and `wharf_data.torch` build on it.

mod buffer;
mod collate;
mod decode;
mod encode;
mod lex;
mod order;
mod reader;
mod writer;

use pyo3::prelude::*;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<buffer::Buffer>()?;
    module.add_class::<order::Order>()?;
    module.add_class::<reader::MsgpackReader>()?;
    module.add_class::<reader::Samples>()?;
    module.add_class::<writer::DatadingsWriter>()?;
    module.add_function(wrap_pyfunction!(encode::packb, module)?)?;
    module.add_function(wrap_pyfunction!(decode::unpackb, module)?)?;
    Ok(())
}
