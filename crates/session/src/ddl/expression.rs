//! Expressions that definitions hold: what may stand in them, and in whose words they are refused.
//!
//! MySQL has a number of its own for each kind of trouble and each kind of owner; [`Owner`] is that table.

use super::definition::Definer;
use super::same_name;
use catalog::{ColumnDef, DefaultValue, TableDef, Visibility};
use mysql_error::{SqlError, codes};
use parser::ast::Expr;
use parser::{Normal, columns_in, normalise};
use types::{ColumnType, TypeKind};

/// What an expression belongs to, by name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner<'n> {
    Check(&'n str),
    Generated(&'n str),
    Default(&'n str),
    Index(&'n str),
}

/// Functions whose value is the session's or the moment's: a row's expression that is computed again would not find the same.
const OF_THE_MOMENT: &[&str] = &[
    "rand",
    "now",
    "curdate",
    "curtime",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "uuid",
    "uuid_short",
    "user",
    "current_user",
    "database",
    "connection_id",
    "unix_timestamp",
    "current_role",
];

/// Bytes of a value past which MySQL calls it a BLOB or TEXT.
const LONGEST_TEXT: u64 = 65_535;

/// Two that MySQL lets a CHECK constraint have all the same.
const ALLOWED_IN_CHECKS: &[&str] = &["sysdate", "random_bytes"];

/// Functions with effects, or of the statement before: nowhere allowed.
const NOWHERE: &[&str] = &[
    "last_insert_id",
    "row_count",
    "found_rows",
    "sleep",
    "get_lock",
    "release_lock",
    "release_all_locks",
    "is_free_lock",
    "is_used_lock",
    "benchmark",
    "load_file",
    "values",
    "match",
];

/// These are named with their parentheses.
const NOWHERE_AS_CALLS: &[&str] = &["version", "icu_version"];

impl Owner<'_> {
    fn disallowed(self) -> SqlError {
        match self {
            Owner::Check(name) => codes::check_constraint_function_is_not_allowed(name),
            Owner::Generated(name) => codes::generated_column_function_is_not_allowed(name),
            Owner::Default(name) => codes::default_val_generated_function_is_not_allowed(name),
            Owner::Index(name) => codes::functional_index_function_is_not_allowed(name),
        }
    }

    fn disallowed_function(self, function: &str) -> SqlError {
        match self {
            Owner::Check(name) => codes::check_constraint_named_function_is_not_allowed(name, function),
            Owner::Generated(name) => codes::generated_column_named_function_is_not_allowed(name, function),
            Owner::Default(name) => codes::default_val_generated_named_function_is_not_allowed(name, function),
            Owner::Index(_) => self.disallowed(),
        }
    }

    fn variable(self) -> SqlError {
        match self {
            Owner::Check(name) => codes::check_constraint_variables(name),
            Owner::Generated(name) | Owner::Default(name) | Owner::Index(name) => codes::default_val_generated_variables(name),
        }
    }

    fn row(self) -> SqlError {
        match self {
            Owner::Check(name) => codes::check_constraint_row_value(name),
            Owner::Generated(name) => codes::generated_column_row_value(name),
            Owner::Default(name) => codes::default_val_generated_row_value(name),
            Owner::Index(_) => codes::operand_columns(1),
        }
    }

    fn unknown_column(self, column: &str) -> SqlError {
        match self {
            Owner::Check(name) => codes::check_constraint_refers_unknown_column(name, column),
            Owner::Generated(_) => codes::bad_field_error(column, "generated column function"),
            Owner::Default(_) => codes::bad_field_error(column, "default value expression"),
            Owner::Index(_) => codes::bad_field_error(column, "functional index"),
        }
    }

    fn auto_increment(self) -> SqlError {
        match self {
            Owner::Check(name) => codes::check_constraint_refers_auto_increment_column(name),
            Owner::Generated(name) => codes::generated_column_ref_auto_inc(name),
            Owner::Default(name) => codes::default_val_generated_ref_auto_inc(name),
            Owner::Index(name) => codes::functional_index_ref_auto_increment(name),
        }
    }

    fn allows(self, function: &str) -> bool {
        if NOWHERE.contains(&function) {
            return false;
        }
        match self {
            Owner::Default(_) => true,
            Owner::Check(_) => !OF_THE_MOMENT.contains(&function),
            Owner::Generated(_) | Owner::Index(_) => !OF_THE_MOMENT.contains(&function) && !ALLOWED_IN_CHECKS.contains(&function),
        }
    }
}

/// The normal form of an expression that a definition of `table` is to hold.
pub(super) fn stored(definer: &Definer<'_>, expr: &Expr<'_>, owner: Owner<'_>, table: &str) -> Result<Normal, SqlError> {
    let normal = normalise(expr, definer.under());
    if normal.has_parameter {
        return Err(codes::parse_error("You have an error in your SQL syntax", "?", 1));
    }
    if let Some(name) = normal.window {
        return Err(codes::window_invalid_window_func_use(name));
    }
    if normal.has_aggregate {
        return Err(codes::invalid_group_func_use());
    }
    if normal.is_row {
        return Err(owner.row());
    }
    if normal.has_variable {
        return Err(owner.variable());
    }
    if normal.has_subquery {
        return Err(owner.disallowed());
    }
    if normal.has_default {
        match owner {
            Owner::Default(_) => return Err(codes::default_as_val_generated()),
            Owner::Index(_) => return Err(owner.disallowed()),
            Owner::Check(_) | Owner::Generated(_) => {}
        }
    }
    for function in &normal.functions {
        if NOWHERE_AS_CALLS.contains(&function.as_str()) {
            return Err(owner.disallowed_function(&format!("{function}()")));
        }
        if !owner.allows(function) || function.starts_with('`') {
            return Err(owner.disallowed_function(function));
        }
        let later = ["json_", "st_"].iter().any(|family| function.starts_with(family));
        if planner::func::lookup(function).is_none() && !later {
            return Err(owner.disallowed_function(&format!("`{function}`")));
        }
    }
    if let Some((of, column)) = normal.columns.iter().find(|(of, _)| of.as_deref().is_some_and(|of| of != table)) {
        return Err(owner.unknown_column(&format!("{}.{column}", of.as_deref().unwrap_or_default())));
    }
    if matches!(owner, Owner::Check(_)) && !normal.is_condition {
        let Owner::Check(name) = owner else { return Ok(normal) };
        return Err(codes::non_boolean_expr_for_check_constraint(name));
    }
    Ok(normal)
}

/// Whether the default or the value of a column comes from an expression.
pub(super) fn is_computed(column: &ColumnDef) -> bool {
    column.generated.is_some() || matches!(column.default, DefaultValue::Expression(_))
}

/// Looks at all expressions of a new definition: that their columns are there and may be read, and that they can be bound.
pub(super) fn check_expressions(def: &TableDef) -> Result<(), SqlError> {
    for (at, column) in def.columns.iter().enumerate() {
        if let Some(generated) = &column.generated {
            let owner =
                if column.visibility == Visibility::Hidden { Owner::Index(index_of(def, at)) } else { Owner::Generated(&column.name) };
            for (no, read) in read_columns(&def.columns, &generated.text, owner)? {
                if read.generated.is_some() && no >= at && column.visibility != Visibility::Hidden {
                    return Err(codes::generated_column_non_prior());
                }
            }
            bind(&def.columns, &def.name, &generated.text, owner)?;
        } else if let DefaultValue::Expression(text) = &column.default {
            let owner = Owner::Default(&column.name);
            for (no, read) in read_columns(&def.columns, text, owner)? {
                if is_computed(read) && no >= at {
                    return Err(codes::default_val_generated_non_prior(&column.name));
                }
            }
            bind(&def.columns, &def.name, text, owner)?;
        }
    }
    for check in &def.checks {
        let owner = Owner::Check(&check.name);
        read_columns(&def.columns, &check.text, owner)?;
        bind(&def.columns, &def.name, &check.text, owner)?;
    }
    Ok(())
}

/// The index that has a hidden column.
fn index_of(def: &TableDef, column: usize) -> &str {
    let has = |index: &&catalog::IndexDef| index.parts.iter().any(|part| part.column == column);
    def.indexes.iter().find(has).map_or("", |index| index.name.as_str())
}

fn read_columns<'d>(columns: &'d [ColumnDef], text: &str, owner: Owner<'_>) -> Result<Vec<(usize, &'d ColumnDef)>, SqlError> {
    let find = |name: String| {
        let is_it = |column: &ColumnDef| column.visibility != Visibility::Hidden && same_name(&column.name, &name);
        let at = columns.iter().position(is_it).ok_or_else(|| owner.unknown_column(&name))?;
        if columns[at].auto_increment { Err(owner.auto_increment()) } else { Ok((at, &columns[at])) }
    };
    columns_in(text).into_iter().map(find).collect()
}

fn bind(columns: &[ColumnDef], table: &str, text: &str, owner: Owner<'_>) -> Result<ColumnType, SqlError> {
    planner::stored_expression_type(columns, table, text).map_err(|error| match error.code {
        codes::ER_SP_DOES_NOT_EXIST => owner.disallowed(),
        _ => error,
    })
}

/// The type of what a functional index holds.
pub(super) fn index_expression_type<'d>(
    columns: impl Iterator<Item = &'d ColumnDef>,
    text: &str,
    index: &str,
    table: &str,
) -> Result<ColumnType, SqlError> {
    let columns: Vec<ColumnDef> = columns.cloned().collect();
    let owner = Owner::Index(index);
    read_columns(&columns, text, owner)?;
    let ty = bind(&columns, table, text, owner)?;
    match ty.kind {
        kind if kind.is_blob() || kind == TypeKind::Json || ty.bytes_max() > LONGEST_TEXT => Err(codes::functional_index_on_lob()),
        TypeKind::Null => Ok(ColumnType { length: 0, ..ColumnType::new(TypeKind::VarBinary) }),
        TypeKind::Year => Ok(ColumnType::new(TypeKind::Year)),
        _ => Ok(ty),
    }
}

/// Whether a text names a column.
pub(super) fn names(text: &str, column: &str) -> bool {
    columns_in(text).iter().any(|name| same_name(name, column))
}
