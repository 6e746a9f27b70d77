//! Expressions as text, for EXPLAIN: spelled as MySQL prints conditions, with columns by their aliases.

use crate::expr::{CastTo, Expr, ExprKind, Link, ListedRows, Slot, SubqueryKind};
use crate::func::Family;
use crate::plan::{Aggregate, AggregateKind, Body, InsertSource, Named, Node, Plan, Query, SortKey};
use crate::window::{Window, WindowCall, WindowFunction};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use types::Value;

/// Longest text that stands for a computed value: such texts stand in others again.
const COMPUTED_BYTES_MAX: usize = 1024;

/// What slots are called.
#[derive(Debug, Default)]
pub struct Names {
    columns: HashMap<Slot, Column>,
    /// Values that operators compute, as text: with quoted names, and with plain ones.
    computed: HashMap<Slot, [Box<str>; 2]>,
}

#[derive(Clone, Debug)]
struct Column {
    /// Empty where there is none: a derived table's.
    database: Box<str>,
    table: Box<str>,
    /// The table goes by another name than its own.
    aliased: bool,
    name: Box<str>,
}

/// The type behind AS.
fn cast_target(to: CastTo) -> String {
    let sized = |name: &str, digits: Option<u32>| digits.map_or(name.to_owned(), |digits| format!("{name}({digits})"));
    let fraction = |digits: u8| (digits > 0).then_some(u32::from(digits));
    match to {
        CastTo::Signed => "signed".to_owned(),
        CastTo::Unsigned => "unsigned".to_owned(),
        CastTo::Double => "double".to_owned(),
        CastTo::Float => "float".to_owned(),
        CastTo::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        CastTo::Date => "date".to_owned(),
        CastTo::Time { fraction: digits } => sized("time", fraction(digits)),
        CastTo::DateTime { fraction: digits } => sized("datetime", fraction(digits)),
        CastTo::Moment => "datetime(6)".to_owned(),
        CastTo::Year => "year".to_owned(),
        CastTo::Json => "json".to_owned(),
        CastTo::Char { length, collation } => format!("{} charset {}", sized("char", length), collation.charset().name()),
        CastTo::Binary { length } => format!("{} charset binary", sized("char", length)),
    }
}

impl Names {
    /// The columns of all tables of a plan, and what its operators compute of them.
    pub fn of(plan: &Plan) -> Names {
        let mut names = Names::default();
        match &plan.body {
            Body::Query(q) => names.add(plan, &q.root),
            Body::Insert(i) => {
                if let InsertSource::Query(q) = &i.source {
                    names.add(plan, &q.root);
                }
            }
            Body::Update(u) => names.add(plan, &u.input),
            Body::Delete(d) => names.add(plan, &d.input),
        }
        for subplan in &plan.subplans {
            names.add(plan, &subplan.query.root);
            subplan.lookup.iter().for_each(|lookup| names.add(plan, &lookup.grouped.root));
        }
        names
    }

    /// The column of a table that a slot holds.
    pub fn column(&self, slot: Slot) -> Option<&str> {
        self.columns.get(&slot).map(|column| &*column.name)
    }

    /// Adds the names that a node gives, after those below it.
    fn add(&mut self, plan: &Plan, node: &Node) {
        match node {
            Node::Unit | Node::Empty | Node::Values { .. } => {}
            Node::Table(t) => {
                let def = &plan.tables[t.table as usize].def;
                let aliased = *t.alias != *def.name;
                for (column, slot) in &t.columns {
                    let name = def.columns[*column as usize].name.as_str().into();
                    let (database, table) = (def.database.as_str().into(), t.alias.clone());
                    self.columns.insert(*slot, Column { database, table, aliased, name });
                }
            }
            Node::Virtual(t) => {
                let aliased = !t.alias.eq_ignore_ascii_case(t.table.name);
                for (column, slot) in &t.columns {
                    let (database, table) = (t.table.database.into(), t.alias.clone());
                    let name = t.table.columns[*column as usize].name.into();
                    self.columns.insert(*slot, Column { database, table, aliased, name });
                }
            }
            Node::JsonTable(t) => {
                for (column, slot) in t.table.columns.iter().zip(&t.slots) {
                    slot.iter().for_each(|slot| self.made(*slot, &t.alias, &column.name));
                }
            }
            Node::Nested { outer, inner, .. } => [outer, inner].into_iter().for_each(|node| self.add(plan, node)),
            Node::Hash(h) => [&h.probe, &h.build].into_iter().for_each(|node| self.add(plan, node)),
            Node::Filter { input, .. } | Node::Sort { input, .. } | Node::Limit { input, .. } | Node::Distinct { input, .. } => {
                self.add(plan, input);
            }
            Node::Project { input, exprs, .. } => {
                self.add(plan, input);
                exprs.iter().for_each(|(slot, e)| self.compute(*slot, e));
            }
            Node::Group(g) => {
                self.add(plan, &g.input);
                g.keys.iter().for_each(|(slot, e)| self.compute(*slot, e));
                for (slot, aggregate) in &g.aggregates {
                    let texts = [true, false].map(|quoted| self.aggregate(aggregate, quoted));
                    self.compute_text(*slot, texts);
                }
            }
            Node::Window(w) => {
                self.add(plan, &w.input);
                for (slot, call) in &w.calls {
                    let texts = [true, false].map(|quoted| self.call_over(w, call, quoted));
                    self.compute_text(*slot, texts);
                }
            }
            Node::Union { branches, slots } | Node::SetOperation { branches, slots, .. } => {
                branches.iter().for_each(|b| self.add(plan, &b.root));
                if let Some(first) = branches.first() {
                    slots.iter().zip(&first.output).for_each(|(slot, e)| self.compute(*slot, e));
                }
            }
            Node::Materialize { input, slots, of, .. } => self.add_made(plan, &[input], slots, of),
            Node::Recursive { seed, step, slots, of, .. } => self.add_made(plan, &[seed, step], slots, of),
            Node::RecursiveScan { slots, of, .. } => self.add_made(plan, &[], slots, of),
        }
    }

    fn add_made(&mut self, plan: &Plan, queries: &[&Query], slots: &[Slot], of: &Named) {
        queries.iter().for_each(|query| self.add(plan, &query.root));
        slots.iter().zip(&of.columns).for_each(|(slot, name)| self.made(*slot, &of.alias, name));
    }

    /// A column of a relation that is in no database.
    fn made(&mut self, slot: Slot, table: &str, name: &str) {
        self.columns.insert(slot, Column { database: "".into(), table: table.into(), aliased: true, name: name.into() });
    }

    fn compute(&mut self, slot: Slot, e: &Expr) {
        match e.kind {
            ExprKind::Slot(of) if self.columns.contains_key(&of) => {
                let column = self.columns[&of].clone();
                self.columns.insert(slot, column);
            }
            _ => {
                let texts = [true, false].map(|quoted| self.text(e, quoted));
                self.compute_text(slot, texts);
            }
        }
    }

    fn compute_text(&mut self, slot: Slot, texts: [String; 2]) {
        if texts.iter().all(|text| text.len() <= COMPUTED_BYTES_MAX) {
            self.computed.insert(slot, texts.map(Into::into));
        }
    }

    /// An aggregate function with its arguments.
    pub(super) fn aggregate(&self, a: &Aggregate, quoted: bool) -> String {
        let name = match a.kind {
            AggregateKind::CountStar | AggregateKind::Count => "count",
            AggregateKind::Sum => "sum",
            AggregateKind::Avg => "avg",
            AggregateKind::Min => "min",
            AggregateKind::Max => "max",
            AggregateKind::GroupConcat => "group_concat",
            AggregateKind::JsonArray => "json_arrayagg",
            AggregateKind::JsonObject => "json_objectagg",
            AggregateKind::BitAnd => "bit_and",
            AggregateKind::BitOr => "bit_or",
            AggregateKind::BitXor => "bit_xor",
            AggregateKind::StdPop => "std",
            AggregateKind::StdSamp => "stddev_samp",
            AggregateKind::VarPop => "variance",
            AggregateKind::VarSamp => "var_samp",
            AggregateKind::AnyValue => "any_value",
        };
        let mut out = format!("{name}({}", if a.distinct { "distinct " } else { "" });
        if a.kind == AggregateKind::CountStar {
            out.push('0');
        }
        for (at, e) in a.args.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            self.write(e, quoted, &mut out);
        }
        if !a.order.is_empty() {
            let by = |k: &SortKey| format!("{} {}", self.text(&k.expr, quoted), if k.descending { "DESC" } else { "ASC" });
            out.push_str(&format!(" order by {}", a.order.iter().map(by).collect::<Vec<_>>().join(",")));
        }
        if a.kind == AggregateKind::GroupConcat {
            out.push_str(" separator ");
            quote(a.separator.as_bytes(), &mut out);
        }
        out.push(')');
        out
    }

    /// A call over the rows of a window.
    pub(super) fn call_over(&self, window: &Window, call: &WindowCall, quoted: bool) -> String {
        let mut out = match &call.function {
            WindowFunction::Aggregate(a) => self.aggregate(a, quoted),
            function => {
                let mut out = String::new();
                out.push_str(match function {
                    WindowFunction::RowNumber => "row_number",
                    WindowFunction::Rank => "rank",
                    WindowFunction::DenseRank => "dense_rank",
                    WindowFunction::PercentRank => "percent_rank",
                    WindowFunction::CumeDist => "cume_dist",
                    WindowFunction::Ntile(_) => "ntile",
                    WindowFunction::Neighbour { ahead: true, .. } => "lead",
                    WindowFunction::Neighbour { .. } => "lag",
                    WindowFunction::First(_) => "first_value",
                    WindowFunction::Last(_) => "last_value",
                    WindowFunction::Nth(..) => "nth_value",
                    WindowFunction::Aggregate(_) => "",
                });
                let mut arguments = Vec::new();
                function.for_each_argument(&mut |e| arguments.push(e));
                self.list(arguments.into_iter(), ",", quoted, &mut out);
                out
            }
        };
        out.push_str(" OVER (");
        let (partition, order) = window.keys.split_at(window.partition_keys.min(window.keys.len()));
        for (word, keys) in [("PARTITION BY ", partition), ("ORDER BY ", order)] {
            if !keys.is_empty() {
                out.push_str(word);
                out.push_str(&keys.iter().map(|k| self.sort_key(k, quoted)).collect::<Vec<_>>().join(","));
                out.push(' ');
            }
        }
        out.push_str(") ");
        out
    }

    /// A key of an order.
    pub(super) fn sort_key(&self, key: &SortKey, quoted: bool) -> String {
        self.text(&key.expr, quoted) + if key.descending { " DESC" } else { "" }
    }

    /// The columns that expressions read, each once: with the database, unless the table goes by another name.
    pub(super) fn columns_of<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for e in exprs {
            e.walk(&mut |e| {
                if let ExprKind::Slot(slot) = &e.kind
                    && let Some(c) = self.columns.get(slot)
                {
                    found.insert(match c.aliased {
                        true => format!("{}.{}", c.table, c.name),
                        false => format!("{}.{}.{}", c.database, c.table, c.name),
                    });
                }
            });
        }
        found
    }

    /// A column as `db.table.column`, for `ref`.
    pub fn reference(&self, slot: Slot) -> Option<String> {
        self.columns.get(&slot).map(|c| match &*c.database {
            "" => format!("{}.{}", c.table, c.name),
            database => format!("{database}.{}.{}", c.table, c.name),
        })
    }

    /// An expression, with quoted and qualified names (JSON), or with plain ones (TREE).
    pub fn text(&self, e: &Expr, quoted: bool) -> String {
        let mut out = String::new();
        self.write(e, quoted, &mut out);
        out
    }

    fn write(&self, e: &Expr, quoted: bool, out: &mut String) {
        let two = |a: &Expr, op: &str, b: &Expr, out: &mut String| {
            out.push('(');
            self.write(a, quoted, out);
            out.push(' ');
            out.push_str(op);
            out.push(' ');
            self.write(b, quoted, out);
            out.push(')');
        };
        match &e.kind {
            ExprKind::Literal(v) => literal(v, out),
            ExprKind::Param(_) => out.push('?'),
            ExprKind::Slot(slot) => match self.columns.get(slot) {
                Some(c) if quoted && c.database.is_empty() => out.push_str(&format!("`{}`.`{}`", c.table, c.name)),
                Some(c) if quoted => out.push_str(&format!("`{}`.`{}`.`{}`", c.database, c.table, c.name)),
                Some(c) => out.push_str(&format!("{}.{}", c.table, c.name)),
                None => out.push_str(self.computed.get(slot).map_or("<value>", |texts| &texts[usize::from(!quoted)])),
            },
            ExprKind::Arith(op, a, b) => two(a, op.symbol(), b, out),
            ExprKind::Run(first, links) => {
                out.extend(std::iter::repeat_n('(', links.len()));
                self.write(first, quoted, out);
                for Link { op, operand, .. } in links {
                    let _ = write!(out, " {} ", op.symbol());
                    self.write(operand, quoted, out);
                    out.push(')');
                }
            }
            ExprKind::Neg(a) => self.call("-", [&**a].into_iter(), quoted, out),
            ExprKind::BitNot(a) => self.call("~", [&**a].into_iter(), quoted, out),
            ExprKind::Compare(op, _, a, b) => two(a, op.symbol(), b, out),
            ExprKind::CompareRows(op, rows) => {
                out.push('(');
                self.list(rows.left.iter(), ",", quoted, out);
                out.push_str(op.symbol());
                self.list(rows.right.iter(), ",", quoted, out);
                out.push(')');
            }
            ExprKind::And(list) => self.list(list.iter(), " and ", quoted, out),
            ExprKind::Or(list) => self.list(list.iter(), " or ", quoted, out),
            ExprKind::Xor(a, b) => two(a, "xor", b, out),
            ExprKind::Not(a) => {
                out.push_str("(not ");
                self.write(a, quoted, out);
                out.push(')');
            }
            ExprKind::IsNull { operand, negated } => {
                out.push('(');
                self.write(operand, quoted, out);
                out.push_str(if *negated { " is not null)" } else { " is null)" });
            }
            ExprKind::IsTruth { operand, truth, negated } => {
                out.push('(');
                self.write(operand, quoted, out);
                out.push_str(if *negated { " is not " } else { " is " });
                out.push_str(if *truth { "true)" } else { "false)" });
            }
            ExprKind::Between { operand, low, high, negated, .. } => {
                out.push('(');
                self.write(operand, quoted, out);
                out.push_str(if *negated { " not between " } else { " between " });
                self.write(low, quoted, out);
                out.push_str(" and ");
                self.write(high, quoted, out);
                out.push(')');
            }
            ExprKind::InList { operand, list, negated, .. } => {
                out.push('(');
                self.write(operand, quoted, out);
                out.push_str(if *negated { " not in " } else { " in " });
                self.list(list.iter(), ",", quoted, out);
                out.push(')');
            }
            ExprKind::InRows(rows) => {
                let ListedRows { operand, list, negated, .. } = &**rows;
                out.push('(');
                self.list(operand.iter(), ",", quoted, out);
                out.push_str(if *negated { " not in (" } else { " in (" });
                for (at, row) in list.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    self.list(row.iter(), ",", quoted, out);
                }
                out.push_str("))");
            }
            ExprKind::Like { operand, pattern, negated, .. } => two(operand, if *negated { "not like" } else { "like" }, pattern, out),
            ExprKind::Case { operand, branches, otherwise, .. } => {
                out.push_str("(case ");
                if let Some(operand) = operand {
                    self.write(operand, quoted, out);
                    out.push(' ');
                }
                for (when, then) in branches {
                    out.push_str("when ");
                    self.write(when, quoted, out);
                    out.push_str(" then ");
                    self.write(then, quoted, out);
                    out.push(' ');
                }
                if let Some(otherwise) = otherwise {
                    out.push_str("else ");
                    self.write(otherwise, quoted, out);
                    out.push(' ');
                }
                out.push_str("end)");
            }
            // A column as it is read, a number as it is stored, what is compared or joined as something else.
            ExprKind::Func(func, args) if func.family() == Family::Operands => args.iter().for_each(|e| self.write(e, quoted, out)),
            ExprKind::Func(func, args) => self.call(func.name(), args.iter(), quoted, out),
            ExprKind::Cast(a, to) => {
                out.push_str("cast(");
                self.write(a, quoted, out);
                out.push_str(&format!(" as {})", cast_target(*to)));
            }
            ExprKind::DateAdd { date, amount, unit, negated } => {
                out.push('(');
                self.write(date, quoted, out);
                out.push_str(if *negated { " - interval " } else { " + interval " });
                self.write(amount, quoted, out);
                out.push_str(&format!(" {unit})"));
            }
            ExprKind::Extract(unit, a) => {
                out.push_str(&format!("extract({unit} from "));
                self.write(a, quoted, out);
                out.push(')');
            }
            ExprKind::TimestampDiff(unit, a, b) => {
                out.push_str(&format!("timestampdiff({},", unit.to_string().to_uppercase()));
                self.write(a, quoted, out);
                out.push(',');
                self.write(b, quoted, out);
                out.push(')');
            }
            ExprKind::Collate(a, collation) => {
                out.push('(');
                self.write(a, quoted, out);
                out.push_str(&format!(" collate {})", collation.name()));
            }
            ExprKind::Subquery(number, kind) => {
                let select = format!("(select #{})", number + 2);
                match &**kind {
                    SubqueryKind::Scalar { .. } => out.push_str(&select),
                    SubqueryKind::Exists { negated } => out.push_str(&format!("{}exists{select}", if *negated { "not " } else { "" })),
                    SubqueryKind::In { needle, negated, .. } => {
                        self.list(needle.iter(), ",", quoted, out);
                        out.push_str(if *negated { " not in " } else { " in " });
                        out.push_str(&select);
                    }
                    SubqueryKind::Quantified { needle, op, all, .. } => {
                        self.write(needle, quoted, out);
                        out.push_str(&format!(" {} {} {select}", op.symbol(), if *all { "all" } else { "any" }));
                    }
                    SubqueryKind::Row { needle, op, .. } => {
                        self.list(needle.iter(), ",", quoted, out);
                        out.push_str(&format!(" {} {select}", op.symbol()));
                    }
                }
            }
            ExprKind::UserVariable(name) => out.push_str(&format!("@`{name}`")),
            ExprKind::AssignVariable(name, a) => {
                out.push_str(&format!("(@`{name}`:="));
                self.write(a, quoted, out);
                out.push(')');
            }
            ExprKind::SystemVariable(_, name) => out.push_str(&format!("@@{name}")),
            ExprKind::NoDefault(name) => out.push_str(&format!("default({name})")),
        }
    }

    fn call<'e>(&self, name: &str, args: impl Iterator<Item = &'e Expr>, quoted: bool, out: &mut String) {
        out.push_str(name);
        self.list(args, ",", quoted, out);
    }

    fn list<'e>(&self, list: impl Iterator<Item = &'e Expr>, between: &str, quoted: bool, out: &mut String) {
        out.push('(');
        for (at, e) in list.enumerate() {
            if at > 0 {
                out.push_str(between);
            }
            self.write(e, quoted, out);
        }
        out.push(')');
    }
}

fn literal(v: &Value, out: &mut String) {
    match v {
        Value::Null => out.push_str("NULL"),
        Value::Int(v) => out.push_str(&v.to_string()),
        Value::UInt(v) => out.push_str(&v.to_string()),
        Value::Float(v) => out.push_str(&v.to_string()),
        Value::Double(v) => {
            let mut text = Vec::new();
            types::format_double(*v, &mut text);
            out.push_str(&String::from_utf8_lossy(&text));
        }
        Value::Decimal(v) => out.push_str(&v.to_string()),
        Value::Bytes(v) => quote(v, out),
        Value::Date(v) => out.push_str(&format!("DATE'{v}'")),
        Value::Time(v) => out.push_str(&format!("TIME'{v}'")),
        Value::DateTime(v) => out.push_str(&format!("TIMESTAMP'{v}'")),
        Value::Timestamp(v) => out.push_str(&format!("TIMESTAMP'{v:?}'")),
        Value::Json(_) => out.push_str("<json>"),
    }
}

fn quote(text: &[u8], out: &mut String) {
    out.push('\'');
    for c in String::from_utf8_lossy(text).chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out.push('\'');
}
