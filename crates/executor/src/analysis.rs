//! EXPLAIN ANALYZE: what each operator of a plan did, counted while it runs.
//!
//! An operator's time is its own and that of what is below it: what its consumer does with the rows is taken out.

use crate::batch::Sink;
use crate::compared_params::as_compared;
use crate::context::StatementContext;
use crate::exec::{Exec, Scratch};
use crate::run::{Flow, Next, Result};
use env::{Clock, RealClock};
use planner::explain::{Actual, Actuals};
use planner::plan::{Body, Node, Plan};
use types::Value;

/// The counts of one execution.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    clock: RealClock,
    actuals: Actuals,
    /// The operator that runs innermost: its row and its batch form call each other, and count once.
    current: usize,
}

fn address(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}

impl<'a> Exec<'a> {
    fn analysis(&mut self) -> &mut Analysis {
        self.analysis.get_or_insert_default()
    }

    /// Whether an operator's run is to be measured, and is not already.
    #[inline]
    pub(crate) fn measures(&self, node: &Node) -> bool {
        self.analysis.as_ref().is_some_and(|analysis| analysis.current != address(node))
    }

    /// [`Exec::run`], measured.
    #[cold]
    #[inline(never)]
    pub(crate) fn run_measured(&mut self, node: &'a Node, next: Next<'_, 'a>) -> Result<Flow> {
        let mut run = Run::begin(self, node);
        let flow = self.run(node, &mut |x| {
            run.give(x, 1);
            let flow = next(x);
            run.take(x);
            flow
        });
        run.end(self);
        flow
    }

    /// [`Exec::run_batches`], measured.
    #[cold]
    #[inline(never)]
    pub(crate) fn run_batches_measured(&mut self, node: &'a Node, sink: Sink<'_, 'a>) -> Result<Flow> {
        let mut run = Run::begin(self, node);
        let flow = self.run_batches(node, &mut |x, chunk| {
            run.give(x, chunk.rows().len() as u64);
            let flow = sink(x, chunk);
            run.take(x);
            flow
        });
        run.end(self);
        flow
    }
}

/// One run of an operator.
struct Run {
    node: usize,
    /// What ran before it.
    outer: usize,
    /// Time that is counted, and since when more of it passes.
    own_ns: u64,
    since_ns: u64,
    first_ns: Option<u64>,
    rows: u64,
}

impl Run {
    fn begin(x: &mut Exec<'_>, node: &Node) -> Run {
        let analysis = x.analysis();
        let node = address(node);
        let outer = std::mem::replace(&mut analysis.current, node);
        Run { node, outer, own_ns: 0, since_ns: analysis.clock.monotonic_ns(), first_ns: None, rows: 0 }
    }

    /// Rows go to the consumer.
    fn give(&mut self, x: &mut Exec<'_>, rows: u64) {
        let analysis = x.analysis();
        self.own_ns += analysis.clock.monotonic_ns() - self.since_ns;
        self.first_ns.get_or_insert(self.own_ns);
        self.rows += rows;
        analysis.current = self.outer;
    }

    /// The consumer is done with them.
    fn take(&mut self, x: &mut Exec<'_>) {
        let analysis = x.analysis();
        self.since_ns = analysis.clock.monotonic_ns();
        analysis.current = self.node;
    }

    fn end(self, x: &mut Exec<'_>) {
        let analysis = x.analysis();
        let own_ns = self.own_ns + (analysis.clock.monotonic_ns() - self.since_ns);
        analysis.current = self.outer;
        let actual: &mut Actual = analysis.actuals.entry(self.node).or_default();
        actual.loops += 1;
        actual.rows += self.rows;
        actual.first_ns += self.first_ns.unwrap_or(own_ns);
        actual.last_ns += own_ns;
    }
}

/// Runs a query for its counts; its rows go nowhere. The counts are there also of a run that failed, with what it failed with.
pub fn analyze(
    plan: &Plan,
    params: &[Value],
    session: &mut engine::Session,
    context: &mut dyn StatementContext,
    scratch: &mut Scratch,
) -> Result<(Actuals, Result<()>)> {
    let params = as_compared(plan, params, context)?;
    let mut x = Exec::new(plan, &params, session, context, scratch);
    x.analysis = Some(Box::default());
    let result = match &plan.body {
        Body::Query(query) => x.run_many(&query.root, &mut |x| {
            for e in &query.output {
                x.eval(e)?;
            }
            Ok(Flow::Continue)
        }),
        _ => Ok(Flow::Continue),
    };
    let actuals = x.analysis.take().map(|analysis| analysis.actuals).unwrap_or_default();
    x.finish(scratch);
    Ok((actuals, result.map(|_| ())))
}
