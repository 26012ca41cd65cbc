//! What is kept of rows that were looked at.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use container_arrow::Observation;

/// What was seen of which rows, the last time.
pub(crate) type Observed = Mutex<Option<(Range<u64>, Arc<Observation>)>>;
