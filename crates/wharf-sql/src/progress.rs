//! Progress of a query: the rows that its tables have read.

use std::fmt;
use std::sync::Arc;

use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use wharf::{Progress, Unit};

use crate::source::TableSource;

/// Listens to the readers of a query. They find it among the extensions of its configuration.
pub(crate) struct ScanProgress(Arc<dyn Progress>);

impl fmt::Debug for ScanProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScanProgress")
    }
}

impl ScanProgress {
    /// Begins with the number of rows that the tables of a plan will read, if all of them know theirs.
    pub(crate) fn begin(progress: Arc<dyn Progress>, plan: &Arc<dyn ExecutionPlan>) -> Self {
        let mut tables = Tables::default();
        tables.visit(plan);
        progress.name(&tables.name.unwrap_or_default());
        progress.begin(Unit::Rows, tables.rows.filter(|_| !tables.is_unknown));
        Self(progress)
    }

    pub(crate) fn advance(&self, rows: u64) -> wharf::Result<()> {
        self.0.advance(rows)
    }
}

/// The tables of a plan.
#[derive(Default)]
struct Tables {
    name: Option<String>,
    rows: Option<u64>,
    is_unknown: bool,
}

impl Tables {
    fn visit(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        let scan = plan.downcast_ref::<DataSourceExec>();
        if let Some(source) = scan.and_then(|scan| scan.data_source().downcast_ref::<TableSource>()) {
            self.name = Some(match self.name.take() {
                None => source.label().to_owned(),
                Some(_) => "all tables".to_owned(),
            });
            match source.rows_to_read() {
                Some(rows) => self.rows = Some(self.rows.unwrap_or(0).saturating_add(rows)),
                None => self.is_unknown = true,
            }
        }
        for child in plan.children() {
            self.visit(child);
        }
    }
}
