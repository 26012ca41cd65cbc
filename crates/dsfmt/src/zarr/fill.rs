//! Fill values of written arrays: what stands for missing elements.

use container_core::{Error, Loss, Position, Result};
use serde_json::Value;

use super::read::zeros;
use super::types::{FILL, MISSING, encoded_float};
use crate::array::{Strings, Values};
use crate::json::Json;
use crate::netcdf::{
    Attribute, AttributeValue, Fill, attribute, choose_fill, for_each_source_chunk, loss, with_number,
};
use crate::read::Variable;
use crate::types::DataType;

/// Whether an element is missing.
pub(super) fn has_missing(variable: &Variable<'_>) -> Result<bool> {
    let mut found = variable.shape().is_none();
    if variable.is_masked() {
        for_each_source_chunk(variable, |array| {
            found |= array.missing() > 0;
            Ok(())
        })?;
    }
    Ok(found)
}

/// The fill value of an array.
pub(super) struct FillValue {
    /// One element.
    pub(super) value: Values<'static>,
    /// As `fill_value`.
    pub(super) zarr: Value,
    /// As `_FillValue` of numbers or `missing_value` of texts, when elements are missing or the source has one.
    pub(super) attribute: Option<(&'static str, Value)>,
    /// Attributes that are left out.
    pub(super) masking: Vec<&'static str>,
}

/// Chooses the fill value of an array.
pub(super) fn fill(source: &Variable<'_>, data_type: DataType, losses: &mut Vec<Loss>) -> Result<FillValue> {
    let name = source.name();
    let of_source = |(key, json): (String, Json<'_>)| {
        let value = attribute(&key, json, Some(data_type), true).0?;
        Some(Attribute { name: key, value })
    };
    let attributes: Vec<Attribute> = source.attributes().filter_map(of_source).collect();
    if data_type.is_text() {
        return texts_fill(source, data_type, &attributes, losses);
    }
    let own = attributes.iter().rfind(|attribute| attribute.name == FILL).map(|attribute| attribute.value.clone());
    if data_type == DataType::Bool {
        return Ok(FillValue {
            value: Values::Bool(vec![false].into()),
            zarr: false.into(),
            attribute: None,
            masking: Vec::new(),
        });
    }
    let chosen: Fill = match source.data_type() {
        Some(DataType::Bool) => Fill { value: vec![-127i8].into(), declared: true, missing: true, masking: Vec::new() },
        None => Fill { value: vec![f64::NAN].into(), declared: true, missing: true, masking: Vec::new() },
        _ => with_number!(
            data_type,
            T => choose_fill::<T>(source, &attributes)?,
            return Err(Error::usage("expected numbers"))
        ),
    };
    let numbers = own.as_ref().and_then(AttributeValue::as_numbers);
    let misfit = own.is_some() && numbers.is_none_or(|own| own.data_type() != data_type || own.len() != 1);
    if misfit || (own.is_some() && chosen.declared) {
        let why = if misfit { "it is not a value of the variable's type" } else { "present elements have this value" };
        losses.push(loss(format!("attribute {FILL:?} of variable {name:?} replaced or left out: {why}")));
    }
    losses.extend(chosen.masking_losses(name));
    let is_declared = chosen.missing || (own.is_some() && !misfit);
    if !is_declared {
        let zero = zeros(data_type, 1);
        return Ok(FillValue { zarr: number(&zero, false), value: zero, attribute: None, masking: chosen.masking });
    }
    let attribute = Some((FILL, number(&chosen.value, true)));
    Ok(FillValue { zarr: number(&chosen.value, false), value: chosen.value, attribute, masking: chosen.masking })
}

/// A number as `fill_value`, or as an attribute in the encoding of xarray.
fn number(value: &Values<'_>, as_attribute: bool) -> Value {
    let float = |number: f64| match as_attribute {
        true => encoded_float(number),
        false if number.is_nan() => "NaN".into(),
        false if number.is_infinite() => if number > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        false => number.into(),
    };
    match value {
        Values::Float32(all) => all.first().map(|number| float(f64::from(*number))),
        Values::Float64(all) => all.first().map(|number| float(*number)),
        Values::Int8(all) => all.first().map(|number| (*number).into()),
        Values::Int16(all) => all.first().map(|number| (*number).into()),
        Values::Int32(all) => all.first().map(|number| (*number).into()),
        Values::Int64(all) => all.first().map(|number| (*number).into()),
        Values::Uint8(all) => all.first().map(|number| (*number).into()),
        Values::Uint16(all) => all.first().map(|number| (*number).into()),
        Values::Uint32(all) => all.first().map(|number| (*number).into()),
        Values::Uint64(all) => all.first().map(|number| (*number).into()),
        Values::Bool(_) | Values::Str(_) | Values::Unicode(_) => None,
    }
    .unwrap_or_default()
}

/// Texts that may stand for missing ones, if no element has them.
const MISSING_TEXTS: [&str; 4] = ["", "NA", "<missing>", "<no value>"];

/// Chooses the text that stands for missing ones.
fn texts_fill(
    source: &Variable<'_>,
    data_type: DataType,
    attributes: &[Attribute],
    losses: &mut Vec<Loss>,
) -> Result<FillValue> {
    let own = || attributes.iter().filter(|attribute| [FILL, MISSING].contains(&attribute.name.as_str()));
    let texts = || own().flat_map(|attribute| attribute.value.texts()).map(String::as_str);
    let candidates: Vec<&str> = texts().chain(MISSING_TEXTS).collect();
    let mut occurs = vec![false; candidates.len()];
    let mut missing = u64::from(source.shape().is_none());
    for_each_source_chunk(source, |array| {
        missing += array.missing() as u64;
        let mask = array.mask();
        for (index, text) in array.values().as_strings().into_iter().flat_map(|all| all.iter()).enumerate() {
            if mask.is_some_and(|mask| mask.is_missing(index)) {
                continue;
            }
            for (candidate, occurs) in candidates.iter().zip(&mut occurs) {
                *occurs |= candidate.as_bytes() == text;
            }
        }
        Ok(())
    })?;
    let unused = candidates.iter().zip(&occurs).find(|(_, occurs)| !**occurs).map(|(candidate, _)| *candidate);
    let text = if missing > 0 || texts().next().is_some() { unused } else { None };
    if let Some((present, _)) = texts().zip(&occurs).find(|(_, occurs)| **occurs) {
        let name = source.name();
        let what =
            format!("missing text {present:?} of variable {name:?} replaced or left out: present elements have it");
        losses.push(loss(what));
    }
    if missing > 0 && text.is_none() {
        let what = format!("missing strings of {:?} written as empty strings", source.name());
        losses.push(Loss::new(what, missing, Position::default()));
    }
    let mut value = Strings::default();
    value.push(text.unwrap_or_default().as_bytes());
    let is_bytes = data_type == DataType::Str;
    Ok(FillValue {
        // Not the text: `zarrs` takes the texts "" and "NA" for a chunk of fill values "NA", and does not write it.
        zarr: "".into(),
        // xarray fails on a `_FillValue` of texts or bytes.
        attribute: text.map(|text| (MISSING, text.into())),
        value: if is_bytes { Values::Str(value) } else { Values::Unicode(value) },
        masking: own()
            .filter(|attribute| !attribute.value.texts().is_empty())
            .map(|attribute| if attribute.name == FILL { FILL } else { MISSING })
            .collect(),
    })
}
