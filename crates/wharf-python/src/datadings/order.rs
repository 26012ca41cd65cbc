//! Sample orders.

use std::num::NonZeroU32;

use container_core::Error;
use datadings::order::{Iter, QuasiShuffle, Shard, Split};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::error::Result;

/// An order of samples as a pure function of epoch and position, which every process computes alike.
///
/// It begins with `Order.sequential(length)`; each method returns a new order with one more step. Nothing is read, and no state is kept: any
/// position is there at once.
#[pyclass(module = "wharf_data.sampling", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct Order(datadings::order::Order);

impl Order {
    /// The positions of a rank from `position` on, round-robin.
    fn share(&self, epoch: u64, position: u64, rank: u32, ranks: NonZeroU32) -> Result<Iter> {
        Ok(self.0.shard(epoch, position, Shard::new(rank, ranks.get(), 0, 1)?, Split::Strided)?)
    }
}

#[pymethods]
impl Order {
    /// The samples from 0 to `length` in the order of the file.
    #[staticmethod]
    fn sequential(length: u64) -> Self {
        Self(datadings::order::Order::sequential(length))
    }

    /// Shuffles all positions, differently in every epoch.
    fn shuffled(&self, seed: u64) -> Result<Self> {
        Ok(Self(self.0.clone().shuffled(seed)?))
    }

    /// Shuffles chunks of neighbors, and mixes the samples of as many chunks as fit into the buffer: differently in every epoch. Reading is
    /// nearly sequential.
    fn quasi_shuffled(&self, seed: u64, chunk: u64, buffer: u64) -> Result<Self> {
        Ok(Self(self.0.clone().quasi_shuffled(QuasiShuffle { chunk, buffer }, seed)?))
    }

    /// Selects the positions from `start` to `end`.
    fn range(&self, start: u64, end: u64) -> Result<Self> {
        Ok(Self(self.0.clone().range(start..end)?))
    }

    /// Joins `times` epochs into one.
    fn repeat(&self, times: u64) -> Result<Self> {
        Ok(Self(self.0.clone().repeat(times)?))
    }

    /// The number of positions in an epoch.
    fn __len__(&self) -> Result<usize> {
        let len = self.0.len().unwrap_or(u64::MAX);
        Ok(usize::try_from(len).map_err(|_| Error::limit("number of positions", len, usize::MAX as u64))?)
    }

    /// The sample at a position of an epoch; `None` past the end.
    fn get(&self, epoch: u64, position: u64) -> Option<u64> {
        self.0.get(epoch, position)
    }

    /// The samples of one of `ranks` processes: of the positions from `position` on every `ranks`-th, without the first `skip` of these, and at
    /// most `count`.
    #[pyo3(signature = (epoch=0, position=0, *, rank=0, ranks=NonZeroU32::MIN, skip=0, count=usize::MAX))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn samples(
        &self,
        py: Python<'_>,
        epoch: u64,
        position: u64,
        rank: u32,
        ranks: NonZeroU32,
        skip: usize,
        count: usize,
    ) -> Result<Vec<u64>> {
        let share = self.share(epoch, position, rank, ranks)?;
        Ok(py.detach(|| share.skip(skip).take(count).collect()))
    }

    /// The number of positions that `samples()` divides among a rank.
    #[pyo3(signature = (epoch=0, position=0, *, rank=0, ranks=NonZeroU32::MIN))]
    fn share_len(&self, epoch: u64, position: u64, rank: u32, ranks: NonZeroU32) -> Result<u64> {
        Ok(self.share(epoch, position, rank, ranks)?.remaining())
    }

    /// The description as JSON, for checkpoints.
    fn to_json(&self) -> Result<String> {
        Ok(serde_json::to_string(&self.0).map_err(|error| Error::invalid(error.to_string()))?)
    }

    /// The order of a description.
    #[classmethod]
    fn from_json(_class: &Bound<'_, PyType>, text: &str) -> Result<Self> {
        let order = serde_json::from_str(text);
        Ok(Self(order.map_err(|error| Error::invalid(format!("not the description of an order: {error}")))?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().to_json()?,)))
    }

    fn __repr__(&self) -> Result<String> {
        Ok(format!("Order({})", self.to_json()?))
    }
}
