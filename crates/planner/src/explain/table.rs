//! How a plan reads a table, as EXPLAIN tells it: the access, its key and its ranges.

use super::document::{Json, text};
use super::operation::{Operation, READ_BEGUN, ROW_EVALUATED, Walk};
use super::{access_type, is_covering, parts_used};
use crate::expr::{Expr, ExprKind};
use crate::keys;
use crate::plan::{Access, GroupEnds, Groups, Interval, KeyBatches, MergeArm, MergeKind, Points, RangeSpec, TableNode};
use catalog::TableDef;
use record::KeyPart;
use std::collections::BTreeSet;

/// Ranges that a line shows; of more it shows one less, and how many more there are.
const LINE_RANGES_MAX: usize = 3;
/// Ranges that JSON shows.
const RANGES_MAX: usize = 100;
/// Cost of fetching a row, and of reading an entry that has all that is asked for.
const ROW_FETCHED: f64 = 0.025;
const ENTRY_READ: f64 = 0.0125;

/// The parts of an index, with those of the primary key that its entries end with.
fn all_parts(def: &TableDef, index: u32) -> Vec<KeyPart> {
    let mut parts = def.indexes[index as usize].parts.clone();
    if index != 0 {
        parts.extend_from_slice(&def.indexes[0].parts);
    }
    parts
}

fn column<'d>(def: &'d TableDef, part: &KeyPart) -> &'d str {
    &def.columns[part.column].name
}

/// Ranges as texts, and how many there are in all.
struct Ranges {
    texts: Vec<String>,
    count: usize,
}

impl Ranges {
    /// As many as there is room for, and how many more there are.
    fn joined(&self, most: usize) -> String {
        let shown = if self.count > most { most - 1 } else { self.count }.min(self.texts.len());
        let mut out = self.texts[..shown].join(" OR ");
        if shown < self.count {
            out.push_str(&format!(" OR ({} more)", self.count - shown));
        }
        out
    }
}

impl<'p> Walk<'p> {
    /// The reading of a table, below its filter.
    pub(super) fn table(&mut self, t: &'p TableNode) -> Operation {
        let def = &self.plan.tables[t.table as usize].def;
        let covering = match &t.access {
            Access::Groups(_) => t.cover.is_some(),
            _ => is_covering(self.plan, t),
        };
        let mut members = vec![("table_name", text(&def.name)), ("schema_name", text(&def.database))];
        if *t.alias != *def.name {
            members.push(("alias", text(&*t.alias)));
        }
        let used: BTreeSet<u32> = t.columns.iter().map(|(column, _)| *column).collect();
        if !used.is_empty() {
            members.push(("used_columns", Json::texts(used.iter().map(|c| def.columns[*c as usize].name.as_str()))));
        }
        let mut inputs = Vec::new();
        let (mut line, access) = match &t.access {
            Access::Full { backward, .. } => {
                if *backward {
                    members.push(("reverse", Json::Bool(true)));
                }
                (format!("Table scan on {}{}", t.alias, if *backward { " (reverse)" } else { "" }), "table")
            }
            Access::Index { index, ranges, backward, unique, .. } => {
                members.extend([("covering", Json::Bool(covering)), ("index_name", text(&def.indexes[*index as usize].name))]);
                let mut line = match ranges {
                    None => {
                        members.push(("index_access_type", text("index_scan")));
                        let what = if covering { "Covering index scan" } else { "Index scan" };
                        format!("{what} on {} using {}", t.alias, def.indexes[*index as usize].name)
                    }
                    Some(spec) => self.bounded(t, *index, spec, *unique, covering, &mut members),
                };
                if *backward {
                    line.push_str(" (reverse)");
                    members.push(("reverse", Json::Bool(true)));
                }
                (line, "index")
            }
            Access::Groups(groups) => (self.groups(t, groups, &mut members), "index"),
            Access::Merge { kind, arms } => {
                inputs = arms.iter().map(|arm| self.merge_arm(t, arm)).collect();
                match kind {
                    MergeKind::Intersection => ("Intersect rows sorted by row ID".into(), "rowid_intersection"),
                    MergeKind::Union => ("Deduplicate rows sorted by row ID".into(), "rowid_union"),
                    MergeKind::SortUnion => ("Sort-deduplicate by row ID".into(), "index_merge"),
                }
            }
        };
        if let Some(key_filter) = &t.key_filter {
            let condition = self.names.text(&key_filter.filter, false);
            line.push_str(&format!(", with index condition: {condition}"));
            members.push(("pushed_index_condition", text(condition)));
        }
        let rows = t.rows.ceil().max(1.0);
        let cost = READ_BEGUN + rows * (ROW_EVALUATED + if covering { ENTRY_READ } else { ROW_FETCHED });
        let read =
            Operation { text: line, access: Some(access), rows: Some(rows), cost: Some(cost), members, inputs, ..Operation::default() };
        match &t.filter {
            Some(filter) => self.filter(read, filter, t.filtered / 100.0),
            None => read,
        }
    }

    /// Ranges of an index: of a single key, or of several.
    fn bounded(
        &self,
        t: &TableNode,
        index: u32,
        spec: &RangeSpec,
        unique: bool,
        covering: bool,
        members: &mut Vec<(&'static str, Json)>,
    ) -> String {
        let def = &self.plan.tables[t.table as usize].def;
        let parts = all_parts(def, index);
        members.push(("key_columns", Json::texts(parts.iter().take(parts_used(spec)).map(|part| column(def, part)))));
        let name = &def.indexes[index as usize].name;
        let what = match (access_type(spec, unique), covering) {
            ("const" | "eq_ref", true) => "Single-row covering index lookup",
            ("const" | "eq_ref", false) => "Single-row index lookup",
            ("ref", true) => "Covering index lookup",
            ("ref", false) if t.key_batches == KeyBatches::Always => "Multi-range index lookup",
            ("ref", false) => "Index lookup",
            (_, covering) => {
                let ranges = self.ranges(def, &parts, spec, true);
                members.push(("index_access_type", text("index_range_scan")));
                members.push(("ranges", Json::texts([ranges.joined(RANGES_MAX)])));
                let what = if covering { "Covering index range scan" } else { "Index range scan" };
                return format!("{what} on {} using {name} over {}", t.alias, ranges.joined(LINE_RANGES_MAX));
            }
        };
        let points = || spec.any[0].points.iter().map(|values| &values[0]);
        let equal = |(part, value): (&KeyPart, &Expr)| format!("{} = {}", column(def, part), self.names.text(value, false));
        let condition = parts.iter().zip(points()).map(equal).collect::<Vec<_>>().join(", ");
        let line = format!("{what} on {} using {name} ({condition})", t.alias);
        members.push(("index_access_type", text("index_lookup")));
        members.push(("lookup_condition", text(condition)));
        members.push(("lookup_references", Json::texts(points().map(|value| self.reference(value)))));
        line
    }

    /// What a key is compared with.
    pub(super) fn reference(&self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Slot(slot) => self.names.reference(*slot).unwrap_or_else(|| "func".into()),
            _ if e.is_settled() => "const".into(),
            _ => "func".into(),
        }
    }

    fn groups(&self, t: &TableNode, groups: &Groups, members: &mut Vec<(&'static str, Json)>) -> String {
        let def = &self.plan.tables[t.table as usize].def;
        let parts = all_parts(def, groups.index);
        let name = &def.indexes[groups.index as usize].name;
        let mut over = Vec::new();
        over.extend(groups.ranges.as_ref().map(|spec| self.ranges(def, &parts, spec, true)));
        let behind = parts.get(groups.parts as usize..).unwrap_or_default();
        over.extend(groups.within.iter().map(|spec| self.ranges(def, behind, spec, groups.within.len() > 1)));
        let (what, kind) = match groups.ends {
            GroupEnds::All => ("", "index_skip_scan"),
            _ => (" for grouping", "group_index_skip_scan"),
        };
        let keys = groups.bounded_within().end.max(groups.parts as usize);
        members.extend([
            ("covering", Json::Bool(t.cover.is_some())),
            ("index_name", text(name)),
            ("index_access_type", text(kind)),
            ("key_columns", Json::texts(parts.iter().take(keys).map(|part| column(def, part)))),
            ("ranges", Json::texts(over.iter().map(|ranges| ranges.joined(RANGES_MAX)))),
        ]);
        let covering = if t.cover.is_some() { "Covering index" } else { "Index" };
        let over = over.iter().map(|ranges| ranges.joined(LINE_RANGES_MAX)).collect::<Vec<_>>().join(", ");
        let over = if over.is_empty() { over } else { format!(" over {over}") };
        format!("{covering} skip scan{what} on {} using {name}{over}", t.alias)
    }

    fn merge_arm(&self, t: &TableNode, arm: &MergeArm) -> Operation {
        let def = &self.plan.tables[t.table as usize].def;
        let parts = all_parts(def, arm.index);
        let ranges = self.ranges(def, &parts, &arm.ranges, true);
        let name = &def.indexes[arm.index as usize].name;
        let keys = parts.iter().take(parts_used(&arm.ranges)).map(|part| column(def, part));
        Operation {
            text: format!("Index range scan on {} using {name} over {}", t.alias, ranges.joined(LINE_RANGES_MAX)),
            access: Some("index"),
            members: vec![
                ("table_name", text(&def.name)),
                ("schema_name", text(&def.database)),
                ("index_name", text(name)),
                ("index_access_type", text("index_range_scan")),
                ("key_columns", Json::texts(keys)),
                ("ranges", Json::texts([ranges.joined(RANGES_MAX)])),
            ],
            ..Operation::default()
        }
    }

    /// The ranges of leading parts: each way to take one value for each part.
    fn ranges(&self, def: &TableDef, parts: &[KeyPart], spec: &RangeSpec, parenthesised: bool) -> Ranges {
        let mut found = Ranges { texts: Vec::new(), count: 0 };
        for range in &spec.any {
            let ways = range.points.iter().fold(1usize, |ways, values| ways.saturating_mul(values.len()));
            let intervals = match (&range.interval, parts.get(range.points.len())) {
                (Some(interval), Some(part)) if !interval.except.is_empty() => {
                    keys::pieces(&def.columns[part.column].ty, part, interval).into_iter().map(Some).collect()
                }
                (interval, _) => vec![interval.clone()],
            };
            found.count = found.count.saturating_add(ways.saturating_mul(intervals.len()));
            for (way, interval) in (0..ways).flat_map(|way| intervals.iter().map(move |interval| (way, interval))) {
                if found.texts.len() >= RANGES_MAX {
                    break;
                }
                let text = self.range(def, parts, &range.points, interval.as_ref(), way);
                found.texts.push(if parenthesised { format!("({text})") } else { text });
            }
        }
        found
    }

    /// One of the ways through the values of the parts, the last part's first.
    fn range(&self, def: &TableDef, parts: &[KeyPart], points: &[Points], interval: Option<&Interval>, mut way: usize) -> String {
        let mut bounds = Vec::new();
        for (values, part) in points.iter().zip(parts).rev() {
            let value = &values[way % values.len()];
            way /= values.len();
            bounds.push(format!("{} = {}", column(def, part), self.names.text(value, false)));
        }
        bounds.reverse();
        if let (Some(interval), Some(part)) = (interval, parts.get(points.len())) {
            self.interval(column(def, part), def.columns[part.column].ty.nullable, interval, &mut bounds);
        }
        bounds.join(" AND ")
    }

    fn interval(&self, name: &str, nullable: bool, interval: &Interval, bounds: &mut Vec<String>) {
        let above_null = interval.not_null && nullable;
        let sign = |included: bool| if included { "<=" } else { "<" };
        let mut lows = interval.low.iter().map(|(e, included)| format!("{} {} ", self.names.text(e, false), sign(*included)));
        let mut highs = interval.high.iter().map(|(e, included)| format!(" {} {}", sign(*included), self.names.text(e, false)));
        let first = (lows.next(), highs.next());
        if let (None, None) = first {
            if above_null && interval.like.is_none() {
                bounds.push(format!("NULL < {name}"));
            }
        } else {
            let low = first.0.unwrap_or_else(|| if above_null { "NULL < ".into() } else { String::new() });
            bounds.push(format!("{low}{name}{}", first.1.unwrap_or_default()));
        }
        bounds.extend(lows.map(|low| format!("{low}{name}")));
        bounds.extend(highs.map(|high| format!("{name}{high}")));
        bounds.extend(interval.like.iter().map(|(pattern, _)| format!("{name} like {}", self.names.text(pattern, false))));
    }
}
