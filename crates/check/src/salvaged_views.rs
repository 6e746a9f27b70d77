//! Views, behind all tables, and those that others read before these.
//!
//! A view whose tables are not all in the output would end the load; it is in a comment.

use crate::literal;
use crate::pages::DATA;
use crate::report::Report;
use crate::salvage::comment;
use base::TableId;
use catalog::ViewDef;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

/// How a view's CREATE VIEW reads.
pub type ViewText<'t> = &'t dyn Fn(&ViewDef) -> String;

/// Database and name.
type Name = (String, String);

/// The views that were read.
#[derive(Default)]
pub(crate) struct Views {
    by_name: BTreeMap<Name, ViewDef>,
    met: HashSet<TableId>,
}

impl Views {
    /// Notes a view. The first of an id, and of a name, is the newest.
    pub(crate) fn note(&mut self, def: ViewDef) {
        if self.met.insert(def.id) {
            self.by_name.entry((def.database.clone(), def.name.clone())).or_insert(def);
        }
    }

    /// The views in an order in which they can be made, and those that cannot be: something that they read is not in the output.
    fn in_order(&self, tables: &HashSet<Name>) -> (Vec<&ViewDef>, Vec<&ViewDef>) {
        let mut left: Vec<(&Name, &ViewDef)> = self.by_name.iter().collect();
        let mut made: HashSet<&Name> = HashSet::new();
        let mut ordered = Vec::new();
        loop {
            let before = left.len();
            left.retain(|(name, view)| {
                let mut read = view.tables.iter();
                let ready =
                    !tables.contains(*name) && read.all(|other| tables.contains(other) || made.contains(other) || is_of_the_server(other));
                if ready {
                    made.insert(name);
                    ordered.push(*view);
                }
                !ready
            });
            if left.is_empty() || left.len() == before {
                return (ordered, left.into_iter().map(|(_, view)| view).collect());
            }
        }
    }

    /// Writes the views; how many. `tables` are those in the output, `databases` those that it makes.
    pub(crate) fn write(
        &self,
        tables: &HashSet<Name>,
        databases: &HashSet<&str>,
        text: ViewText<'_>,
        out: &mut dyn Write,
        report: &Report,
    ) -> io::Result<u64> {
        let (views, broken) = self.in_order(tables);
        for view in &views {
            if !databases.contains(view.database.as_str()) {
                writeln!(out, "CREATE DATABASE IF NOT EXISTS {};", literal::name(&view.database))?;
            }
            // Its literals have the collation that the connection had.
            writeln!(out, "\nUSE {};\nSET collation_connection = '{}';", literal::name(&view.database), view.connection_collation)?;
            writeln!(out, "{};", text(view))?;
        }
        for view in broken {
            let name = format!("{}.{}", view.database, view.name);
            let what = if tables.contains(&(view.database.clone(), view.name.clone())) {
                format!("view {name} is in a comment only: a table has its name")
            } else {
                format!("view {name} is in a comment only: a table or a view that it reads is not there")
            };
            report.note(DATA, None, Some(&name), what.clone());
            comment(out, &what)?;
            comment(out, &text(view))?;
        }
        Ok(views.len() as u64)
    }
}

/// What any server has.
fn is_of_the_server((database, _): &Name) -> bool {
    ["information_schema", "performance_schema", "mysql", "sys"].iter().any(|own| database.eq_ignore_ascii_case(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::{CheckOption, ViewAlgorithm};

    fn view(id: u32, name: &str, tables: &[&str]) -> ViewDef {
        ViewDef {
            id: TableId(id),
            database: "d".into(),
            name: name.into(),
            columns: Vec::new(),
            query: String::new(),
            query_shown: String::new(),
            algorithm: ViewAlgorithm::Undefined,
            check: CheckOption::None,
            definer_user: String::new(),
            definer_host: String::new(),
            invoker: false,
            updatable: false,
            client_charset: "utf8mb4".into(),
            connection_collation: "utf8mb4_0900_ai_ci".into(),
            tables: tables.iter().map(|name| ("d".to_owned(), (*name).to_owned())).collect(),
            created_micros: 0,
        }
    }

    #[test]
    fn views_come_behind_what_they_read() {
        let mut views = Views::default();
        for def in [
            view(1, "a", &["b", "t"]),
            view(2, "b", &["c"]),
            view(3, "c", &["t"]),
            view(4, "x", &["gone"]),
            view(5, "y", &["x"]),
            view(6, "t", &["t"]),
            // An older page has this name for the first.
            view(1, "former", &["t"]),
        ] {
            views.note(def);
        }
        let (ordered, broken) = views.in_order(&HashSet::from([("d".to_owned(), "t".to_owned())]));
        let names = |views: Vec<&ViewDef>| views.into_iter().map(|view| view.name.clone()).collect::<Vec<_>>();
        assert_eq!((names(ordered), names(broken)), (vec!["c".into(), "b".into(), "a".into()], vec!["t".into(), "x".into(), "y".into()]));
    }
}
