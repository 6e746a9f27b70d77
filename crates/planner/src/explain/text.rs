//! Expressions as text, for EXPLAIN: spelled as MySQL prints conditions, with columns by their aliases.

use crate::expr::{Expr, ExprKind, Slot, SubqueryKind};
use crate::func::Func;
use crate::plan::{Node, Plan, TableNode};
use std::collections::HashMap;
use types::{ByteString, Value};

/// What slots are called.
#[derive(Debug, Default)]
pub struct Names {
    columns: HashMap<Slot, Column>,
}

#[derive(Debug)]
struct Column {
    database: Box<str>,
    table: Box<str>,
    name: Box<str>,
}

impl Names {
    /// The columns of all tables of a plan.
    pub fn of(plan: &Plan) -> Names {
        let mut names = Names::default();
        plan.for_each_table(&mut |t: &TableNode| {
            let def = &plan.tables[t.table as usize].def;
            for (column, slot) in &t.columns {
                let name = def.columns[*column as usize].name.as_str().into();
                names.columns.insert(*slot, Column { database: def.database.as_str().into(), table: t.alias.clone(), name });
            }
        });
        names
    }

    /// Adds the names of what a computed value is of: keys of a grouping that are columns.
    pub fn add_keys(&mut self, node: &Node) {
        if let Node::Group(group) = node {
            for (slot, e) in &group.keys {
                if let ExprKind::Slot(of) = e.kind
                    && let Some(c) = self.columns.get(&of)
                {
                    let copy = Column { database: c.database.clone(), table: c.table.clone(), name: c.name.clone() };
                    self.columns.insert(*slot, copy);
                }
            }
        }
    }

    /// A column as `db.table.column`, for `ref`.
    pub fn reference(&self, slot: Slot) -> Option<String> {
        self.columns.get(&slot).map(|c| format!("{}.{}.{}", c.database, c.table, c.name))
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
                Some(c) if quoted => out.push_str(&format!("`{}`.`{}`.`{}`", c.database, c.table, c.name)),
                Some(c) => out.push_str(&format!("{}.{}", c.table, c.name)),
                None => out.push_str("<value>"),
            },
            ExprKind::Arith(op, a, b) => two(a, op.symbol(), b, out),
            ExprKind::Neg(a) => self.call("-", [&**a].into_iter(), quoted, out),
            ExprKind::BitNot(a) => self.call("~", [&**a].into_iter(), quoted, out),
            ExprKind::Compare(op, _, a, b) => two(a, op.symbol(), b, out),
            ExprKind::CompareRows(op, _, a, b) => {
                out.push('(');
                self.list(a.iter(), ",", quoted, out);
                out.push_str(op.symbol());
                self.list(b.iter(), ",", quoted, out);
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
            ExprKind::InRows { operand, list, negated, .. } => {
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
            // A column as it is read, a number as it is stored.
            ExprKind::Func(Func::PadChar | Func::BareZero, args) => args.iter().for_each(|e| self.write(e, quoted, out)),
            ExprKind::Func(func, args) => self.call(func.name(), args.iter(), quoted, out),
            ExprKind::Cast(a, to) => {
                out.push_str("cast(");
                self.write(a, quoted, out);
                let to = format!("{to:?}").to_lowercase();
                out.push_str(&format!(" as {})", to.split([' ', '{']).next().unwrap_or("char")));
            }
            ExprKind::DateAdd { date, amount, unit, negated } => {
                out.push('(');
                self.write(date, quoted, out);
                out.push_str(if *negated { " - interval " } else { " + interval " });
                self.write(amount, quoted, out);
                out.push_str(&format!(" {})", format!("{unit:?}").to_lowercase()));
            }
            ExprKind::Extract(unit, a) => {
                out.push_str(&format!("extract({} from ", format!("{unit:?}").to_lowercase()));
                self.write(a, quoted, out);
                out.push(')');
            }
            ExprKind::TimestampDiff(unit, a, b) => {
                out.push_str(&format!("timestampdiff({:?},", unit));
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
        Value::Double(v) => out.push_str(&v.to_string()),
        Value::Decimal(v) => out.push_str(&v.to_string()),
        Value::Bytes(v) => quote(v, out),
        Value::Date(v) => out.push_str(&format!("DATE'{v}'")),
        Value::Time(v) => out.push_str(&format!("TIME'{v}'")),
        Value::DateTime(v) => out.push_str(&format!("TIMESTAMP'{v}'")),
        Value::Timestamp(v) => out.push_str(&format!("TIMESTAMP'{v:?}'")),
        Value::Json(_) => out.push_str("<json>"),
    }
}

fn quote(text: &ByteString, out: &mut String) {
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
