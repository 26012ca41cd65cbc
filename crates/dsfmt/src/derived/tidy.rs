//! n-dimensional variables as long rows.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use container_core::{Error, Result};

use super::{Part, ViewHeader, ViewVariable, read_owned};
use crate::array::{Mask, Values};
use crate::read::foreign::ForeignSource;
use crate::read::{Plan, Reader, Run, Variable};
use crate::types::DataType;
use crate::write::field::Field;

/// The dimension of the rows.
const ROW: &str = "row";

/// Elements of a variable that are read for a block of rows, unless the block has more; otherwise element by element.
const MAX_SPAN: u64 = 1 << 20;

/// Bytes of variables that are kept in memory, because each block of rows needs them: coordinates.
const MAX_KEPT_BYTES: u64 = 64 << 20;

/// A table of long rows: for each combination of the dimensions a row with the coordinates and the values there, such as `time, lat, lon, t2m`.
///
/// The dimensions are those of the variable that has most of them, in its order; the last varies fastest. The other variables have these dimensions
/// or some of them, in any order: along the others, their values repeat. A dimension without a coordinate variable becomes a column of indexes.
///
/// ```no_run
/// use dsfmt::container::DsContainer;
/// use dsfmt::{Reader, Tidy};
/// let rows = Tidy::new().with_variables(["t2m"]).apply(Reader::open("climate.ds")?)?;
/// let container = DsContainer::new(rows); // one table
/// # Ok::<(), dsfmt::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tidy {
    /// Empty for all.
    variables: Vec<String>,
}

impl Tidy {
    /// All variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only these variables, in this order, after the coordinates of their dimensions.
    #[must_use]
    pub fn with_variables<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.variables = names.into_iter().map(Into::into).collect();
        self
    }

    /// A reader of the rows: variables along the dimension `row`, computed when they are read. Memory for coordinates, and a block of rows.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an unknown variable, and for two variables of which neither has all dimensions of the other;
    /// [`Limit`](container_core::ErrorKind::Limit) for a header longer than the limits allow.
    pub fn apply(&self, reader: Reader) -> Result<Reader> {
        let format = reader.format();
        self.applied(reader).map_err(|error| error.in_format(format))
    }

    fn applied(&self, of: Reader) -> Result<Reader> {
        let selected = self.selected(&of)?;
        let dimensions = dimensions(&selected)?;
        let rows = dimensions.iter().try_fold(1u64, |all, (_, size)| all.checked_mul(*size));
        let rows = rows.ok_or_else(|| Error::usage("the dimensions together have more than 2^64 rows"))?;
        let (mut variables, mut columns, mut kept) = (Vec::new(), Vec::new(), 0);
        let mut add = |variable: &Variable<'_>| -> Result<()> {
            let view = match unreadable(variable) {
                Some(problem) => ViewVariable::unreadable(variable, problem, Some((ROW, rows))),
                None => ViewVariable::new(variable, Some(&[ROW.to_owned()]), &[rows])?,
            };
            columns.push(Column::new(&of, variable, &dimensions, &mut kept)?);
            variables.push(view);
            Ok(())
        };
        let mut names: Vec<&str> = Vec::new();
        let mut indexes: Vec<(usize, &str)> = Vec::new();
        for (number, (name, _)) in dimensions.iter().enumerate() {
            match of.variable(name) {
                Ok(variable)
                    if variable.dimensions() == std::slice::from_ref(name) && unreadable(&variable).is_none() =>
                {
                    add(&variable)?;
                    names.push(name);
                }
                // The column of indexes needs the name.
                Ok(variable) if selected.iter().any(|selected| selected.name() == variable.name()) => {}
                _ => indexes.push((number, name)),
            }
        }
        for variable in selected.iter().filter(|variable| !names.contains(&variable.name())) {
            add(variable)?;
        }
        for (number, name) in indexes.into_iter().rev() {
            let field = Field::stream(DataType::Int64, [rows]).with_dimensions([ROW]);
            let len = rows.saturating_mul(8);
            let position =
                dimensions.iter().take(number).filter(|(before, _)| names.contains(&before.as_str())).count();
            variables
                .insert(position, ViewVariable { name: name.to_owned(), field, masked: false, len, problem: None });
            let strides = dimensions.iter().enumerate().map(|(other, (_, size))| (*size, u64::from(other == number)));
            let plan = Plan::broadcast(&strides.collect::<Vec<_>>())?;
            columns.insert(position, Column::Indexes(plan));
        }
        let options = of.options;
        let header = ViewHeader::new(&of, variables)?;
        header.reader(options, Box::new(Rows { of, columns }))
    }

    fn selected<'r>(&self, of: &'r Reader) -> Result<Vec<Variable<'r>>> {
        if self.variables.is_empty() {
            return Ok(of.variables().collect());
        }
        let selected: Vec<Variable<'_>> = self.variables.iter().map(|name| of.variable(name)).collect::<Result<_>>()?;
        for (number, variable) in selected.iter().enumerate() {
            if let Some(problem) = variable.problem() {
                return Err(problem);
            }
            if selected.iter().take(number).any(|earlier| earlier.name() == variable.name()) {
                return Err(Error::usage(format!("column {:?} is selected twice", variable.name())));
            }
        }
        Ok(selected)
    }
}

/// Why a variable cannot be a column.
fn unreadable(variable: &Variable<'_>) -> Option<String> {
    let empty = || variable.shape().is_none().then(|| "the variable is empty".to_owned());
    variable.problem().map(|problem| problem.detail().to_owned()).or_else(empty)
}

/// The dimensions of the rows, and their sizes.
fn dimensions(variables: &[Variable<'_>]) -> Result<Vec<(String, u64)>> {
    let readable = || variables.iter().filter(|variable| unreadable(variable).is_none());
    let mut widest: Option<&Variable<'_>> = None;
    for variable in readable() {
        if widest.is_none_or(|widest| variable.dimensions().len() > widest.dimensions().len()) {
            widest = Some(variable);
        }
    }
    let Some(widest) = widest else { return Err(Error::usage("no variable has values")) };
    let sized = |variable: &Variable<'_>| -> Vec<(String, u64)> {
        variable.dimensions().iter().cloned().zip(variable.shape().unwrap_or_default().iter().copied()).collect()
    };
    let all = sized(widest);
    for variable in readable() {
        let own = sized(variable);
        if let Some((twice, _)) = own
            .iter()
            .enumerate()
            .find(|(number, one)| own.iter().take(*number).any(|other| other.0 == one.0))
            .map(|(_, one)| one)
        {
            return Err(variable.in_variable(Error::usage(format!("the dimension {twice:?} occurs twice"))));
        }
        if own.iter().any(|one| !all.contains(one)) {
            let list = |all: &[(String, u64)]| {
                all.iter().map(|(name, size)| format!("{name}={size}")).collect::<Vec<_>>().join(", ")
            };
            let detail = format!(
                "variables do not share their dimensions: {:?} has ({}), {:?} ({})",
                widest.name(),
                list(&all),
                variable.name(),
                list(&own)
            );
            return Err(Error::usage(detail).advising("{columns} selects variables of the same dimensions"));
        }
    }
    Ok(all)
}

/// How a column is computed.
enum Column {
    /// The elements of a variable, by its index in the header, in order.
    Direct(usize),
    /// Elements of a variable that repeat, or in another order.
    Gathered {
        variable: usize,
        plan: Plan,
        /// All elements, if they are kept in memory.
        kept: Option<OnceLock<Arc<Part>>>,
    },
    /// Indexes along a dimension.
    Indexes(Plan),
}

impl Column {
    fn new(of: &Reader, variable: &Variable<'_>, dimensions: &[(String, u64)], kept: &mut u64) -> Result<Self> {
        let unknown = || Error::usage(format!("unknown variable {:?}", variable.name()));
        let index = of.header.find(variable.name()).ok_or_else(unknown)?;
        if variable.dimensions().iter().eq(dimensions.iter().map(|(name, _)| name)) {
            return Ok(Self::Direct(index));
        }
        let stride = |(name, size): &(String, u64)| {
            let position = variable.dimensions().iter().position(|own| own == name);
            let inner = position.and_then(|position| variable.shape().unwrap_or_default().get(position + 1..));
            (*size, inner.map_or(0, |inner| inner.iter().fold(1, |all: u64, size| all.saturating_mul(*size))))
        };
        let plan = Plan::broadcast(&dimensions.iter().map(stride).collect::<Vec<_>>())?;
        let width = variable.data_type().and_then(DataType::width).unwrap_or(16) as u64;
        let bytes = variable.len().saturating_mul(width).max(variable.stored_bytes());
        let is_kept = kept.saturating_add(bytes) <= MAX_KEPT_BYTES;
        *kept += if is_kept { bytes } else { 0 };
        Ok(Self::Gathered { variable: index, plan, kept: is_kept.then(OnceLock::new) })
    }
}

/// Computes rows.
struct Rows {
    of: Reader,
    columns: Vec<Column>,
}

impl ForeignSource for Rows {
    fn format(&self) -> &'static str {
        self.of.format()
    }

    fn read(&self, index: usize, rows: Range<u64>) -> Result<Part> {
        let unknown = || Error::usage(format!("unknown variable {index}"));
        let variable = |index| self.of.variable_at(index).ok_or_else(unknown);
        match self.columns.get(index).ok_or_else(unknown)? {
            Column::Direct(index) => read_owned(&variable(*index)?, rows),
            Column::Gathered { variable: index, plan, kept } => gathered(&variable(*index)?, plan, kept.as_ref(), rows),
            Column::Indexes(plan) => {
                let numbers = plan.part(rows).runs().flat_map(|run| run.start..run.start + run.len);
                let signed = numbers.map(|number| i64::try_from(number).unwrap_or(i64::MAX));
                Ok((Values::from(signed.collect::<Vec<i64>>()), None))
            }
        }
    }

    fn check_bytes(&self, bytes: u64) -> Result<()> {
        self.of.check_bytes_of_view(bytes)
    }
}

/// Values of a variable at the elements of some rows.
fn gathered(
    variable: &Variable<'_>,
    plan: &Plan,
    kept: Option<&OnceLock<Arc<Part>>>,
    rows: Range<u64>,
) -> Result<Part> {
    let part = plan.part(rows);
    if let Some(kept) = kept {
        let all = match kept.get() {
            Some(all) => Arc::clone(all),
            None => {
                let read = Arc::new(read_owned(variable, 0..variable.len())?);
                Arc::clone(kept.get_or_init(|| read))
            }
        };
        return Ok(take(&all, 0, part.runs(), part.total));
    }
    let (mut start, mut end) = (u64::MAX, 0);
    for run in part.runs() {
        (start, end) = (start.min(run.start), end.max(run.start + run.len));
    }
    match end.saturating_sub(start) <= MAX_SPAN.max(part.total) {
        true => Ok(take(&read_owned(variable, start.min(end)..end)?, start, part.runs(), part.total)),
        false => variable.with_layout(|layout| variable.gather(layout, part)),
    }
}

/// The elements of these runs, from values that begin with element `start`.
fn take((values, mask): &Part, start: u64, runs: impl Iterator<Item = Run>, total: u64) -> Part {
    let total = usize::try_from(total).unwrap_or(0);
    let mut all = Values::with_capacity(values.data_type(), total);
    let mut missing = mask.as_ref().map(|_| Vec::with_capacity(total));
    for run in runs {
        // The values are in memory, so the indices fit.
        let at = usize::try_from(run.start - start).unwrap_or(usize::MAX);
        let range = at..at.saturating_add(usize::try_from(run.len).unwrap_or(usize::MAX));
        if let (Some(missing), Some(mask)) = (&mut missing, mask) {
            missing.extend(range.clone().map(|index| mask.is_missing(index)));
        }
        all.extend(values, range);
    }
    (all, missing.map(Mask::from_bools))
}
