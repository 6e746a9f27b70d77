//! Computed tables: rows come from the session instead of the engine.

use crate::exec::Exec;
use crate::run::{Flow, Next, Result};
use catalog::VirtualRequest;
use planner::plan::VirtualNode;
use types::Value;

impl<'a> Exec<'a> {
    /// Runs a node that reads a computed table.
    pub fn run_virtual(&mut self, node: &'a VirtualNode, next: Next<'_, 'a>) -> Result<Flow> {
        let mut request = VirtualRequest { columns: vec![false; node.table.columns.len()], keys: vec![None; node.table.keys.len()] };
        for (column, _) in &node.columns {
            request.columns[*column as usize] = true;
        }
        for (key, values) in &node.keys {
            request.keys[*key as usize] = self.key_values(values)?;
        }
        for row in self.context.virtual_rows(node.table, request)? {
            self.tick()?;
            let mut row = row?;
            for (column, slot) in &node.columns {
                self.set(*slot, std::mem::take(&mut row[*column as usize]));
            }
            if next(self)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// The values a key column may have; `None` when they do not tell (a number compared with a string column).
    fn key_values(&mut self, exprs: &'a [planner::expr::Expr]) -> Result<Option<Vec<String>>> {
        let mut values = Vec::with_capacity(exprs.len());
        for expr in exprs {
            match self.eval(expr)? {
                // Equal to nothing.
                Value::Null => {}
                // Spaces at the end do not count in comparisons, and no value has any.
                Value::Bytes(text) => match std::str::from_utf8(&text) {
                    Ok(text) => values.push(text.trim_end_matches(' ').to_owned()),
                    Err(_) => return Ok(None),
                },
                _ => return Ok(None),
            }
        }
        // Each once: rows would come twice.
        values.sort_unstable();
        values.dedup();
        Ok(Some(values))
    }
}
