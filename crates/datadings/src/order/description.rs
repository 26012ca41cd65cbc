//! The stored form of an order, for serde.

use container_core::{Error, Result};

use super::Order;
use super::stage::Step;

/// Names and meanings are stable; other algorithms would get other names.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    len: u64,
    steps: Vec<Step>,
}

impl From<Order> for Description {
    fn from(order: Order) -> Self {
        Self { len: order.base, steps: order.stages.iter().map(|stage| stage.step).collect() }
    }
}

impl TryFrom<Description> for Order {
    type Error = Error;

    fn try_from(description: Description) -> Result<Self> {
        description.steps.into_iter().try_fold(Self::sequential(description.len), Self::then)
    }
}
