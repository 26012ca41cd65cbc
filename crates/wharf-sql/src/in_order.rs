//! Inputs of a union, one after the other.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, replace_children_if_necessary};
use datafusion::physical_plan::limit::LimitStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt, stream};

use crate::order::needs_order;

/// Keeps the order of the inputs of `UNION ALL` where the result has it: DataFusion takes whichever batch comes first. It must run last.
#[derive(Debug)]
pub(crate) struct UnionOrder;

impl PhysicalOptimizerRule for UnionOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = order(plan, true)?;
        Ok(if plan.output_partitioning().partition_count() > 1 && is_union(&plan) {
            Arc::new(InOrderExec::new(plan, None))
        } else {
            plan
        })
    }

    fn name(&self) -> &'static str {
        "union_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn order(plan: Arc<dyn ExecutionPlan>, in_order: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let in_order = in_order || needs_order(&plan);
    if let Some(merge) = plan.downcast_ref::<CoalescePartitionsExec>()
        && in_order
        && is_union(merge.input())
    {
        return Ok(Arc::new(InOrderExec::new(Arc::clone(merge.input()), merge.fetch())));
    }
    let ordered = plan.maintains_input_order();
    let children = plan.children().into_iter().zip(ordered);
    let children = children.map(|(child, is_ordered)| order(Arc::clone(child), in_order && is_ordered));
    let children = children.collect::<Result<_>>()?;
    replace_children_if_necessary(plan, children)
}

/// Whether the partitions of a plan are the inputs of a union, which are one partition each, in order.
fn is_union(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let children = plan.children();
    if plan.is::<UnionExec>() {
        return children.iter().all(|child| child.output_partitioning().partition_count() == 1);
    }
    match (children.as_slice(), plan.maintains_input_order().as_slice()) {
        ([child], [true]) => is_union(child),
        _ => false,
    }
}

/// Executes the partitions of its input one after the other.
#[derive(Debug)]
pub(crate) struct InOrderExec {
    input: Arc<dyn ExecutionPlan>,
    limit: Option<usize>,
    /// Rules do not see the input, which they would divide.
    is_undivided: bool,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl InOrderExec {
    fn new(input: Arc<dyn ExecutionPlan>, limit: Option<usize>) -> Self {
        let equivalence = EquivalenceProperties::new(input.schema());
        let partitioning = Partitioning::UnknownPartitioning(1);
        let properties =
            PlanProperties::new(equivalence, partitioning, EmissionType::Incremental, Boundedness::Bounded);
        let metrics = ExecutionPlanMetricsSet::new();
        Self { input, limit, is_undivided: false, properties: Arc::new(properties), metrics }
    }

    /// All rows of a table in their order, whatever rules come after this.
    pub(crate) fn undivided(input: Arc<dyn ExecutionPlan>) -> Self {
        Self { is_undivided: true, ..Self::new(input, None) }
    }
}

impl DisplayAs for InOrderExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InOrderExec")?;
        match self.limit {
            Some(limit) => write!(f, ": limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for InOrderExec {
    fn name(&self) -> &'static str {
        "InOrderExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        if self.is_undivided { Vec::new() } else { vec![&self.input] }
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue) // it has no expressions
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if self.is_undivided {
            return Ok(self);
        }
        let input = children.into_iter().next();
        let input = input.ok_or_else(|| DataFusionError::Internal("InOrderExec has one input".to_owned()))?;
        Ok(Arc::new(Self::new(input, self.limit)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        use datafusion::physical_plan::ChildrenPropertiesMode::Recompute;
        self.replace_children(children, ReplaceChildrenOptions::new(Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = Arc::clone(&self.input);
        let partitions = 0..input.output_partitioning().partition_count();
        let batches = stream::iter(partitions).map(move |number| input.execute(number, Arc::clone(&context)));
        let batches = RecordBatchStreamAdapter::new(self.input.schema(), batches.try_flatten());
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        Ok(Box::pin(LimitStream::new(Box::pin(batches), 0, self.limit, metrics)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
