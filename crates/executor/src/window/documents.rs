//! JSON_ARRAYAGG and JSON_OBJECTAGG over a window.
//!
//! # Invariants
//! 1. Members are kept once for each row of the partition, documents never: frames of n rows would make n documents of up to n members. A row's
//!    document is made when the row is given out.
//! 2. A name that is NULL is an error where a frame has its row, before the partition's first row is given out; outside all frames it is none.

use super::{CANCEL_ROWS, Partition};
use crate::exec::Exec;
use crate::run::Result;
use json::Json;
use mysql_error::codes;
use planner::plan::{Aggregate, AggregateKind};
use planner::window::Window;
use std::ops::Range;
use types::Value;

/// The documents of a partition's rows, before they are made.
pub(super) struct Documents {
    kind: AggregateKind,
    /// Of each row; arrays have no names.
    members: Vec<(Option<String>, Json)>,
    frames: Vec<Range<usize>>,
    /// The last document that was made, for rows with the same frame.
    last: Option<(Range<usize>, Value)>,
    /// What the members take, for memory accounting.
    pub(super) bytes: usize,
}

impl Documents {
    /// The document of a row.
    pub(super) fn of_row(&mut self, at: usize) -> Result<Value> {
        let Some(frame) = self.frames.get(at).filter(|frame| !frame.is_empty()).cloned() else { return Ok(Value::Null) };
        if let Some((last, document)) = &self.last
            && *last == frame
        {
            return Ok(document.clone());
        }
        let members = &self.members[frame.clone()];
        let tree = if self.kind == AggregateKind::JsonObject {
            let named = |(name, value): &(Option<String>, Json)| (name.clone().unwrap_or_default(), value.clone());
            Json::Object(json::Object::from_members(members.iter().map(named).collect()))
        } else {
            Json::Array(members.iter().map(|(_, value)| value.clone()).collect())
        };
        let document = crate::document::value_of(&tree)?;
        self.last = Some((frame, document.clone()));
        Ok(document)
    }
}

impl<'a> Exec<'a> {
    /// What the documents of a partition's rows are made of.
    pub(super) fn window_documents(
        &mut self,
        window: &'a Window,
        aggregate: &'a Aggregate,
        partition: &Partition<'_>,
        frames: Vec<Range<usize>>,
    ) -> Result<Documents> {
        let mut documents = Documents { kind: aggregate.kind, members: Vec::new(), frames, last: None, bytes: 0 };
        ::memory::reserve(&mut documents.members, partition.rows.len())?;
        for (at, row) in partition.rows.iter().enumerate() {
            if at % CANCEL_ROWS == 0 {
                self.check_cancel()?;
            }
            self.load_row(window, row);
            let (name, value, bytes) = self.document_member(aggregate)?;
            // Bounds of frames only grow: of those that end behind a row the first one begins first.
            let covered = || {
                let ends_behind = documents.frames.partition_point(|frame| frame.end <= at);
                documents.frames.get(ends_behind).is_some_and(|frame| frame.start <= at)
            };
            if name.is_none() && covered() {
                return Err(codes::json_document_null_key().into());
            }
            documents.members.push((name, value));
            documents.bytes += bytes;
        }
        Ok(documents)
    }
}
