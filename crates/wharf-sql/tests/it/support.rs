//! What tests share: sessions, and rows as JSON.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{collect, displayable};
use serde_json::Value;
use tokio::runtime::Runtime;
use wharf::convert::JsonLines;
use wharf::{BatchContainer, Container};
use wharf_sql::{Session, SessionOptions, from_datafusion};

/// The golden tables.
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

/// A session, and the threads that it runs on.
pub(crate) struct Engine {
    runtime: Runtime,
    pub(crate) session: Session,
}

impl Engine {
    pub(crate) fn new(options: &SessionOptions) -> Self {
        let runtime = Runtime::new().unwrap();
        let session = Session::new(options).unwrap();
        Self { runtime, session }
    }

    /// The rows of one statement.
    pub(crate) fn rows(&self, sql: &str) -> Result<Vec<Value>, String> {
        self.query(sql).map_err(|error| error.to_string())
    }

    fn query(&self, sql: &str) -> wharf::Result<Vec<Value>> {
        self.runtime.block_on(async {
            let frame = self.session.sql(sql).await?;
            let schema = Arc::new(frame.schema().as_arrow().clone());
            let batches = frame.collect().await.map_err(from_datafusion)?;
            let schema = batches.first().map_or(schema, |batch| batch.schema());
            let container = BatchContainer::from_batches(schema, batches);
            let mut lines = JsonLines::new(Vec::new());
            wharf::convert::copy(container.tables()[0], &wharf::Scan::default(), &mut lines)?;
            let text = String::from_utf8(lines.finish()?).unwrap();
            Ok(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
        })
    }

    /// Runs a statement, and returns the metrics of the table that its plan reads.
    pub(crate) fn metrics(&self, sql: &str) -> MetricsSet {
        self.runtime.block_on(async {
            let frame = self.session.sql(sql).await.unwrap();
            let plan = frame.create_physical_plan().await.unwrap();
            collect(Arc::clone(&plan), self.session.context().task_ctx()).await.unwrap();
            let mut scan = plan;
            while let Some(child) = scan.children().first().map(|child| Arc::clone(child)) {
                scan = child;
            }
            scan.metrics().unwrap()
        })
    }

    /// The physical plan of a query, as text.
    pub(crate) fn plan(&self, sql: &str) -> Result<String, String> {
        let plan = self.runtime.block_on(async {
            let frame = self.session.sql(sql).await?;
            frame.create_physical_plan().await.map_err(from_datafusion)
        });
        plan.map(|plan| displayable(plan.as_ref()).indent(false).to_string()).map_err(|error| error.to_string())
    }

    /// Waits for work.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// The error of a statement.
    #[track_caller]
    pub(crate) fn error(&self, sql: &str) -> String {
        self.rows(sql).unwrap_err()
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new(&SessionOptions::default())
    }
}
