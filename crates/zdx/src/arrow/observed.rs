//! The cache of an observation.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use container_arrow::Observation;

/// The most recent observation and its row range.
pub(crate) type CachedObservation = Mutex<Option<(Range<u64>, Arc<Observation>)>>;
