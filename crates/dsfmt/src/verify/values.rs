//! Checks a variable's mask, booleans and strings.

use container_core::{Error, Result};

use super::Report;
use crate::array::Values;
use crate::read::Variable;
use crate::read::layout::Layout;
use crate::types::DataType;

/// Strings checked at once.
const CHUNK: u64 = 4096;

/// Invalid strings of a variable that are reported individually.
const MAX_REPORTED: u64 = 100;

/// Checks one variable. Returns how many bytes it declares but does not take, if that is a known behavior of Python's writer.
///
/// # Errors
/// Problems that prevent checking the rest of the variable.
pub(super) fn check(variable: &Variable<'_>, report: &mut Report<'_>) -> Result<u64> {
    if variable.shape().is_none() || variable.data_type().is_none() {
        return Ok(0);
    }
    variable.with_layout(|layout| {
        if let Some(mask) = &layout.mask {
            check_padding(variable, mask.end, layout.count, "mask", report)?;
        }
        let stored = variable.stored(layout)?;
        if layout.data_type == DataType::Bool {
            check_padding(variable, layout.data.end, stored, "last booleans", report)?;
        }
        if !layout.data_type.is_text() {
            return Ok(0);
        }
        // Fails for invalid lengths.
        let actual = variable.text_bytes(layout)?;
        if layout.data_type == DataType::Unicode {
            check_utf8(variable, layout, report)?;
        }
        // Any other difference was an error above.
        let (declared, missing) = (variable.entry.declared_len, layout.count - stored);
        let surplus = declared.saturating_sub(actual);
        if surplus > 0 {
            let cause = match surplus == missing * 2 {
                true => format!("2 bytes per missing string ({missing})"),
                false => "byte strings as printed".to_owned(),
            };
            let detail =
                format!(".len: expected {actual}, found {declared}, which counts {cause}, as Python's writer does");
            report.warning(variable.in_variable(Error::invalid(detail)).at(layout.data.start));
        }
        Ok(surplus)
    })
}

/// Checks that the unused bits after `count`, in the byte before `end`, are 0.
fn check_padding(variable: &Variable<'_>, end: u64, count: u64, what: &str, report: &mut Report<'_>) -> Result<()> {
    let used = u32::try_from(count % 8).unwrap_or(0); // below 8
    if used == 0 {
        return Ok(());
    }
    let last = variable.reader.source.read(end - 1..end)?;
    let byte = last.first().copied().unwrap_or(0);
    if byte & (0xff >> used) != 0 {
        let detail = format!(
            "padding bits after its {what} are not 0: the last byte is {byte:#04x}, of which {used} bits are used"
        );
        report.warning(variable.in_variable(Error::invalid(detail)).at(end - 1));
    }
    Ok(())
}

/// Checks that each string is valid UTF-8.
fn check_utf8(variable: &Variable<'_>, layout: &Layout, report: &mut Report<'_>) -> Result<()> {
    // Reading them as byte strings does not validate.
    let plain = Layout { data_type: DataType::Str, ..layout.clone() };
    let stored = variable.stored(layout)?;
    let (mut start, mut invalid) = (0, 0u64);
    while start < layout.count {
        let end = layout.count.min(start + CHUNK);
        let (values, _) = variable.elements(&plain, start..end)?;
        let Values::Str(strings) = values else { break };
        let first = variable.text_start(layout, variable.rank(layout, start)?)?;
        let mut at = layout.data.start + stored * 8 + first;
        for (string, element) in strings.iter().zip(start..) {
            if let Err(error) = std::str::from_utf8(string) {
                invalid += 1;
                if invalid <= MAX_REPORTED {
                    let valid = error.valid_up_to() as u64;
                    let detail = format!("element {element} is not valid UTF-8 at byte {valid}");
                    report.error(variable.in_variable(Error::invalid(detail)).at(at + valid));
                }
            }
            at += string.len() as u64;
        }
        start = end;
    }
    if invalid > MAX_REPORTED {
        let detail = format!("{} more strings are not valid UTF-8", invalid - MAX_REPORTED);
        report.error(variable.in_variable(Error::invalid(detail)));
    }
    Ok(())
}
