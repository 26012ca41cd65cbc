//! Rows in the order of their files, wherever a query does not reorder them.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{Distribution, ExecutionPlan};

use crate::source::TableSource;

/// Keeps tables in one partition when the result has the order of their rows: `SELECT` with a filter or a limit, `COPY`. Decoding uses all
/// cores all the same. Otherwise a result would depend on which partition came first.
///
/// It must run before DataFusion divides tables into partitions, and needs `enable_round_robin_repartition` off.
#[derive(Debug)]
pub(crate) struct FileOrder;

impl PhysicalOptimizerRule for FileOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        keep_order(plan)
    }

    fn name(&self) -> &'static str {
        "file_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn keep_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        return Ok(match scan.data_source().downcast_ref::<TableSource>() {
            Some(source) => DataSourceExec::from_data_source(source.keep_order()),
            None => plan,
        });
    }
    // `UnionOrder` takes the inputs of a union one after the other.
    let is_union = plan.is::<UnionExec>();
    let ordered = plan.maintains_input_order();
    let distributions = plan.input_distribution_requirements();
    let mut children = Vec::new();
    for (number, child) in plan.children().into_iter().enumerate() {
        let is_ordered = is_union || ordered.get(number).copied().unwrap_or(false);
        let is_spread = matches!(distributions.child_distribution(number), Some(Distribution::KeyPartitioned(_)));
        if is_ordered && !is_spread {
            children.push(keep_order(Arc::clone(child))?);
        } else {
            children.push(Arc::clone(child));
        }
    }
    replace_children_if_necessary(plan, children)
}
