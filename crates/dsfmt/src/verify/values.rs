//! What a variable stores: its mask, its truth values, its strings.

use container_core::{Error, Result};

use super::Report;
use crate::array::Values;
use crate::read::Variable;
use crate::read::layout::Layout;
use crate::types::DataType;

/// Strings that are looked at at once.
const CHUNK: u64 = 4096;

/// Texts of a variable that are told one by one.
const MOST: u64 = 100;

/// Checks one variable, and says how many bytes less it takes than it states, if that is what Python's writer does.
///
/// # Errors
/// What keeps the rest of it from being checked.
pub(super) fn check(variable: &Variable<'_>, report: &mut Report<'_>) -> Result<u64> {
    if variable.shape().is_none() || variable.data_type().is_none() {
        return Ok(0);
    }
    variable.placed(|layout| {
        if let Some(mask) = &layout.mask {
            padding(variable, mask.end, layout.count, "mask", report)?;
        }
        let stored = variable.stored(layout)?;
        if layout.data_type == DataType::Bool {
            padding(variable, layout.data.end, stored, "last truth values", report)?;
        }
        if !layout.data_type.is_text() {
            return Ok(0);
        }
        // What is wrong with their lengths is seen here.
        let taken = variable.text_bytes(layout)?;
        if layout.data_type == DataType::Unicode {
            texts(variable, layout, report)?;
        }
        // A difference that has another cause than these was an error above.
        let (stated, missing) = (variable.entry.stated, layout.count - stored);
        let less = stated.saturating_sub(taken);
        if less > 0 {
            let counted = match less == missing * 2 {
                true => format!("2 bytes for each missing text ({missing})"),
                false => "strings of bytes as they are printed".to_owned(),
            };
            let detail = format!(
                "its .len is {stated} where it takes {taken} bytes: it counts {counted}, as Python's writer does"
            );
            report.warning(variable.place(Error::invalid(detail)).at(layout.data.start));
        }
        Ok(less)
    })
}

/// The bits behind the last of `count` are 0, in the byte before `end`.
fn padding(variable: &Variable<'_>, end: u64, count: u64, what: &str, report: &mut Report<'_>) -> Result<()> {
    let used = u32::try_from(count % 8).unwrap_or(0); // less than 8
    if used == 0 {
        return Ok(());
    }
    let last = variable.reader.source.read(end - 1..end)?;
    let byte = last.first().copied().unwrap_or(0);
    if byte & (0xff >> used) != 0 {
        let detail =
            format!("the bits behind its {what} are not 0: the last byte is {byte:#04x} where {used} bits are used");
        report.warning(variable.place(Error::invalid(detail)).at(end - 1));
    }
    Ok(())
}

/// Each text is UTF-8.
fn texts(variable: &Variable<'_>, layout: &Layout, report: &mut Report<'_>) -> Result<()> {
    // As strings of bytes they are not looked into when they are read.
    let plain = Layout { data_type: DataType::Str, ..layout.clone() };
    let stored = variable.stored(layout)?;
    let (mut start, mut found) = (0, 0u64);
    while start < layout.count {
        let end = layout.count.min(start + CHUNK);
        let (values, _) = variable.elements(&plain, start..end)?;
        let Values::Str(strings) = values else { break };
        let first = variable.text_start(layout, variable.rank(layout, start)?)?;
        let mut at = layout.data.start + stored * 8 + first;
        for (string, element) in strings.iter().zip(start..) {
            if let Err(error) = std::str::from_utf8(string) {
                found += 1;
                if found <= MOST {
                    let valid = error.valid_up_to() as u64;
                    let detail = format!("the text of element {element} is not UTF-8 at its byte {valid}");
                    report.error(variable.place(Error::invalid(detail)).at(at + valid));
                }
            }
            at += string.len() as u64;
        }
        start = end;
    }
    if found > MOST {
        let detail = format!("{} more of its texts are not UTF-8", found - MOST);
        report.error(variable.place(Error::invalid(detail)));
    }
    Ok(())
}
