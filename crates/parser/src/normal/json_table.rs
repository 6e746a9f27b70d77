//! JSON_TABLE as views keep it.

use super::Printer;
use crate::ast::{ExprKind, JsonInstead, JsonTable, JsonTableColumn, JsonTableValue, Literal};

impl Printer<'_> {
    pub(super) fn json_table(&mut self, table: &JsonTable<'_>) {
        self.put("json_table(");
        self.expr(&table.document);
        self.put(", ");
        self.level(table.path, table.columns);
        self.put(") ");
        self.name(table.alias);
    }

    fn level(&mut self, path: &[u8], columns: &[JsonTableColumn<'_>]) {
        self.quoted("", path);
        self.put(" columns (");
        for (at, column) in columns.iter().enumerate() {
            self.put(if at > 0 { ", " } else { "" });
            match column {
                JsonTableColumn::Ordinality(name) => {
                    self.name(name);
                    self.put(" for ordinality");
                }
                JsonTableColumn::Value(column) => self.json_column(column),
                JsonTableColumn::Nested { path, columns } => {
                    self.put("nested path ");
                    self.level(path, columns);
                }
            }
        }
        self.put(")");
    }

    fn json_column(&mut self, column: &JsonTableValue<'_>) {
        self.name(column.name);
        self.put(" ");
        let ty = self.names.map(|names| names.column_type(column)).unwrap_or_default();
        self.put(&ty);
        self.put(if column.exists { " exists path " } else { " path " });
        self.quoted("", column.path);
        if column.exists {
            return;
        }
        for (instead, event) in [(&column.on_empty, " on empty"), (&column.on_error, " on error")] {
            match instead {
                None => continue,
                Some(JsonInstead::Null) => self.put(" null"),
                Some(JsonInstead::Error) => self.put(" error"),
                Some(JsonInstead::Default(e)) => match e.kind {
                    ExprKind::Literal(Literal::String(text) | Literal::National(text)) => self.quoted(" default ", text),
                    _ => self.wrapped(" default ", e, ""),
                },
            }
            self.put(event);
        }
    }
}
