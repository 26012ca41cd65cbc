//! Rows in the order of their files, wherever a query does not reorder them, and below every limit and window: which rows are the first ones must
//! not depend on which partition comes first.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{Distribution, ExecutionPlan};

use crate::in_order::InOrderExec;
use crate::source::TableSource;

/// Keeps tables in one partition where the result depends on the order of their rows: `SELECT` with a filter, `LIMIT`, `COPY`. Decoding uses all
/// cores all the same.
///
/// It must run before DataFusion divides tables into partitions, and needs `enable_round_robin_repartition` off.
#[derive(Debug)]
pub(crate) struct FileOrder;

impl PhysicalOptimizerRule for FileOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        keep_order(plan, true)
    }

    fn name(&self) -> &'static str {
        "file_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// `in_order`: whether the rows of this plan must be in order.
fn keep_order(plan: Arc<dyn ExecutionPlan>, in_order: bool) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        return Ok(match scan.data_source().downcast_ref::<TableSource>() {
            _ if !in_order => plan,
            Some(source) => DataSourceExec::from_data_source(source.keep_order()),
            // Tables in memory would be divided, too.
            None => Arc::new(InOrderExec::undivided(plan)),
        });
    }
    let in_order = in_order || needs_order(&plan);
    // `UnionOrder` takes the inputs of a union one after the other.
    let is_union = plan.is::<UnionExec>();
    let ordered = plan.maintains_input_order();
    let distributions = plan.input_distribution_requirements();
    let mut children = Vec::new();
    for (number, child) in plan.children().into_iter().enumerate() {
        let is_ordered = is_union || ordered.get(number).copied().unwrap_or(false);
        let is_spread = matches!(distributions.child_distribution(number), Some(Distribution::KeyPartitioned(_)));
        children.push(keep_order(Arc::clone(child), in_order && is_ordered && !is_spread)?);
    }
    replace_children_if_necessary(plan, children)
}

/// Whether the result of an operator depends on the order of its input, though the result need not have it: limits, and functions of windows.
pub(crate) fn needs_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<GlobalLimitExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<WindowAggExec>()
        || plan.is::<BoundedWindowAggExec>()
        || plan.fetch().is_some()
}
