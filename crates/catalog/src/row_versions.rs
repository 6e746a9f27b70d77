//! Which columns the rows hold that were written before a table's columns were last changed without touching the rows.
//!
//! A row names the schema version that it was written with. As long as columns were only ever appended, each column's `added_in` says which
//! versions have it, and nothing is kept here. Once a column was dropped, moved, or added before another, every version that rows may
//! carry is listed: what is stored in its rows, in order, and where each of that is among today's columns. Rows are written with
//! today's columns only, so a row that is updated is of today's version.
//!
//! # Invariants
//! 1. A list that is not empty has all versions before `schema_version` that rows may carry, in ascending order.
//! 2. A column that is kept has, in the rows of every version that has it, today's place and width of type (`ALTER TABLE` copies otherwise).
//! 3. A column that a version lacks shows its `instant_default` there; a generated one what its expression makes of the row.

use crate::codec::{Result as DecodeResult, column_type, list, put_type, small};
use crate::def::TableDef;
use crate::expressions;
use base::{Malformed, Reader, put_varint};
use record::{ColumnSource, Compute, EncodeError, RowLayout};
use std::sync::Arc;
use types::ColumnType;

/// Most versions that a table's rows may have at once, as in MySQL (error 4092).
pub const ROW_VERSIONS_MAX: usize = 255;

/// The versions of a table's rows before its present one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowVersions {
    /// Types of columns that are gone and that older rows still hold.
    pub dropped: Vec<ColumnType>,
    /// The versions, oldest first.
    pub older: Vec<RowVersion>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct RowVersion {
    /// The number that its rows carry.
    pub number: u16,
    /// What its rows hold, in the order in which they hold it.
    pub columns: Vec<StoredColumn>,
}

/// A column that rows of an older version hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredColumn {
    /// Today's column at this position.
    Kept(usize),
    /// One that is gone: position in [`RowVersions::dropped`].
    Dropped(usize),
}

impl RowVersions {
    /// Whether nothing but `added_in` is needed to read the rows.
    pub fn is_empty(&self) -> bool {
        self.older.is_empty()
    }

    /// The versions behind a definition that takes the place of `old` and whose columns come from there at `from` (`None`: new).
    pub fn after(old: &TableDef, from: &[Option<usize>]) -> RowVersions {
        let mut versions = if old.row_versions.is_empty() { RowVersions::of_appended(old) } else { old.row_versions.clone() };
        let columns = (0..old.columns.len()).map(StoredColumn::Kept).collect();
        versions.older.push(RowVersion { number: old.schema_version, columns });
        let mut now = vec![None; old.columns.len()];
        for (to, from) in from.iter().enumerate() {
            if let Some(at) = from {
                now[*at] = Some(StoredColumn::Kept(to));
            }
        }
        for (at, now) in now.iter_mut().enumerate() {
            if now.is_none() {
                versions.dropped.push(old.columns[at].ty.clone());
                *now = Some(StoredColumn::Dropped(versions.dropped.len() - 1));
            }
        }
        for column in versions.older.iter_mut().flat_map(|version| &mut version.columns) {
            if let StoredColumn::Kept(at) = *column
                && let Some(Some(now)) = now.get(at)
            {
                *column = *now;
            }
        }
        versions
    }

    /// The versions before the present one of a table to which columns were only appended.
    fn of_appended(def: &TableDef) -> RowVersions {
        let version = |number: u16| {
            let stored = def.columns.iter().enumerate().filter(|(_, column)| column.added_in <= number);
            RowVersion { number, columns: stored.map(|(at, _)| StoredColumn::Kept(at)).collect() }
        };
        RowVersions { dropped: Vec::new(), older: appended_numbers(def).into_iter().map(version).collect() }
    }

    /// Those of a definition, listed or not.
    fn of(def: &TableDef) -> RowVersions {
        if def.row_versions.is_empty() { RowVersions::of_appended(def) } else { def.row_versions.clone() }
    }

    pub(crate) fn encode_dropped(&self) -> Vec<Vec<u8>> {
        let row = |ty: &ColumnType| {
            let mut row = Vec::new();
            put_type(&mut row, ty);
            row
        };
        self.dropped.iter().map(row).collect()
    }

    pub(crate) fn encode_versions(&self) -> Vec<Vec<u8>> {
        let row = |version: &RowVersion| {
            let mut row = Vec::new();
            put_varint(&mut row, u64::from(version.number));
            put_varint(&mut row, version.columns.len() as u64);
            for column in &version.columns {
                match column {
                    StoredColumn::Kept(at) => put_varint(&mut row, 2 * *at as u64),
                    StoredColumn::Dropped(no) => put_varint(&mut row, 2 * *no as u64 + 1),
                }
            }
            row
        };
        self.older.iter().map(row).collect()
    }

    pub(crate) fn decode_dropped(r: &mut Reader<'_>) -> DecodeResult<Vec<ColumnType>> {
        list(r, column_type)
    }

    pub(crate) fn decode_versions(r: &mut Reader<'_>) -> DecodeResult<Vec<RowVersion>> {
        list(r, |r| {
            let number = u16::try_from(r.varint()?).map_err(|_| Malformed)?;
            let columns = list(r, |r| {
                let code = small(r)? as usize;
                Ok(if code.is_multiple_of(2) { StoredColumn::Kept(code / 2) } else { StoredColumn::Dropped(code / 2) })
            })?;
            Ok(RowVersion { number, columns })
        })
    }

    /// What the list says against the definition that has it.
    pub(crate) fn disagreement(def: &TableDef) -> Option<String> {
        let versions = &def.row_versions;
        let mut before = None;
        for version in &versions.older {
            if version.number >= def.schema_version || before.is_some_and(|before| before >= version.number) {
                return Some(format!("row version {} does not come before {}", version.number, def.schema_version));
            }
            before = Some(version.number);
            let mut seen = vec![false; def.columns.len()];
            for column in &version.columns {
                let fits = match column {
                    StoredColumn::Kept(at) => seen.get_mut(*at).is_some_and(|seen| !std::mem::replace(seen, true)),
                    StoredColumn::Dropped(no) => *no < versions.dropped.len(),
                };
                if !fits {
                    return Some(format!("rows of version {} hold a column that there is not", version.number));
                }
            }
        }
        None
    }
}

/// Numbers of the versions before the present one, by the columns that were appended.
fn appended_numbers(def: &TableDef) -> Vec<u16> {
    let mut numbers: Vec<u16> = def.columns.iter().map(|column| column.added_in).filter(|number| *number < def.schema_version).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Whether rows of an older version may lack a generated column, which is computed there.
pub fn older_rows_lack_generated(def: &TableDef) -> bool {
    let lacks = |at: usize| {
        if def.row_versions.is_empty() {
            appended_numbers(def).first().is_some_and(|oldest| *oldest < def.columns[at].added_in)
        } else {
            def.row_versions.older.iter().any(|version| !version.columns.contains(&StoredColumn::Kept(at)))
        }
    };
    (0..def.columns.len()).any(|at| def.columns[at].generated.is_some() && lacks(at))
}

/// How many versions before the present one rows may have.
pub fn older_versions(def: &TableDef) -> usize {
    if def.row_versions.is_empty() { appended_numbers(def).len() } else { def.row_versions.older.len() }
}

/// How rows of each version are read, oldest first; the last is how rows are written.
pub(crate) fn layouts(def: &TableDef) -> Result<Vec<RowLayout>, EncodeError> {
    let versions = RowVersions::of(def);
    let mut layouts = Vec::with_capacity(versions.older.len() + 1);
    // Bound once, for all versions.
    let mut computed: Vec<Option<Arc<dyn Compute>>> = vec![None; def.columns.len()];
    for version in &versions.older {
        let mut sources: Vec<Option<ColumnSource>> = vec![None; def.columns.len()];
        let mut stored = Vec::with_capacity(version.columns.len());
        for (place, column) in version.columns.iter().enumerate() {
            match column {
                StoredColumn::Kept(at) => {
                    stored.push(def.columns[*at].ty.clone());
                    sources[*at] = Some(ColumnSource::Stored(place));
                }
                StoredColumn::Dropped(no) => stored.push(versions.dropped[*no].clone()),
            }
        }
        let mut columns: Vec<(ColumnType, ColumnSource)> = Vec::with_capacity(def.columns.len());
        for (at, (column, source)) in def.columns.iter().zip(sources).enumerate() {
            let source = match source {
                Some(source) => source,
                None if column.generated.is_some() => {
                    let compute = match &computed[at] {
                        Some(compute) => Arc::clone(compute),
                        None => expressions::generated(def, at)?,
                    };
                    computed[at] = Some(Arc::clone(&compute));
                    ColumnSource::Computed(compute)
                }
                None => ColumnSource::Default(column.instant_default.clone()),
            };
            columns.push((column.ty.clone(), source));
        }
        layouts.push(RowLayout::of_older_version(&stored, version.number, &columns)?);
    }
    let types: Vec<ColumnType> = def.columns.iter().map(|column| column.ty.clone()).collect();
    layouts.push(RowLayout::new(&types, def.schema_version));
    Ok(layouts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decode_table, encode_table};
    use crate::def::{ColumnDef, IndexDef};
    use base::{IndexId, PageNo, TableId};
    use env::SplitMix64 as Random;
    use record::RowRef;
    use types::{Collation, TypeKind, Value};

    fn value(random: &mut Random, ty: &ColumnType) -> Value {
        match ty.kind {
            _ if ty.nullable && random.below(4) == 0 => Value::Null,
            TypeKind::VarChar => Value::from(["", "a", "some longer text"][random.below(3) as usize]),
            _ => Value::Int(random.below(200) as i64 - 100),
        }
    }

    fn column(random: &mut Random, number: &mut u32) -> ColumnDef {
        *number += 1;
        let ty = match random.below(3) {
            0 => ColumnType::varchar(40, Collation::DEFAULT),
            1 => ColumnType::new(TypeKind::TinyInt),
            _ => ColumnType::int(),
        };
        let ty = if random.below(2) == 0 { ty.not_null() } else { ty };
        ColumnDef::new(format!("c{number}"), ty)
    }

    /// Random changes of a table's columns; rows of all versions are read as a model says that keeps them by the columns' names.
    #[test]
    fn rows_of_all_versions_read_as_the_model_says() {
        let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_121);
        println!("SEED={seed}");
        let mut random = Random::new(seed);
        for _ in 0..200 {
            let mut number = 0;
            let columns = (0..1 + random.below(4)).map(|_| column(&mut random, &mut number)).collect();
            let index = IndexDef {
                name: "GEN_CLUST_INDEX".into(),
                id: IndexId(1),
                root: PageNo(1),
                unique: true,
                parts: Vec::new(),
                comment: String::new(),
                invisible: false,
                written: Default::default(),
            };
            let mut def = TableDef { id: TableId(7), ..TableDef::new("d", "t", columns, vec![index]) };
            let mut rows: Vec<(Vec<u8>, std::collections::HashMap<String, Value>)> = Vec::new();
            for _ in 0..12 {
                let layout = layouts(&def).unwrap().pop().unwrap();
                let values: Vec<Value> = def.columns.iter().map(|column| value(&mut random, &column.ty)).collect();
                let mut bytes = Vec::new();
                layout.encode(&values, &mut bytes).unwrap();
                rows.push((bytes, def.columns.iter().map(|column| column.name.clone()).zip(values).collect()));

                // Some columns go, some move, some come.
                let mut from: Vec<Option<usize>> = (0..def.columns.len()).map(Some).collect();
                if random.below(2) == 0 && from.len() > 1 {
                    from.remove(random.below(from.len() as u64) as usize);
                }
                if random.below(3) == 0 {
                    let moved = from.remove(random.below(from.len() as u64) as usize);
                    from.insert(random.below(from.len() as u64 + 1) as usize, moved);
                }
                let appends_only = from.iter().enumerate().all(|(no, from)| *from == Some(no)) && from.len() == def.columns.len();
                let at = if appends_only { from.len() } else { random.below(from.len() as u64 + 1) as usize };
                from.insert(at, None);
                let mut new = TableDef { schema_version: def.schema_version + 1, ..def.clone() };
                if !appends_only || !def.row_versions.is_empty() {
                    new.row_versions = RowVersions::after(&def, &from);
                }
                let mut added = column(&mut random, &mut number);
                added.added_in = new.schema_version;
                added.instant_default = value(&mut random, &added.ty);
                for (_, model) in &mut rows {
                    model.insert(added.name.clone(), added.instant_default.clone());
                }
                new.columns = from.iter().map(|from| from.map_or_else(|| added.clone(), |at| def.columns[at].clone())).collect();
                def = decode_table(&encode_table(&new)).expect("what was written can be read");
                assert_eq!(def, new);
                assert_eq!(RowVersions::disagreement(&def), None);

                let layouts = layouts(&def).unwrap();
                assert!(layouts.is_sorted_by_key(RowLayout::schema_version));
                for (bytes, model) in &rows {
                    let version = record::RowHeader::read(bytes).unwrap().schema_version;
                    let layout = layouts.iter().find(|layout| layout.schema_version() == version).expect("each version has a layout");
                    for (no, column) in def.columns.iter().enumerate() {
                        assert_eq!(
                            RowRef::new(layout, bytes).value(no).unwrap(),
                            model[&column.name],
                            "{} of {:?}",
                            column.name,
                            def.row_versions
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let columns = vec![ColumnDef::new("a", ColumnType::int())];
        let mut def = TableDef { schema_version: 2, ..TableDef::new("d", "t", columns, Vec::new()) };
        let version = |number, columns: &[StoredColumn]| RowVersion { number, columns: columns.to_vec() };
        for wrong in [
            version(2, &[StoredColumn::Kept(0)]),
            version(1, &[StoredColumn::Kept(1)]),
            version(1, &[StoredColumn::Kept(0), StoredColumn::Kept(0)]),
            version(1, &[StoredColumn::Dropped(0)]),
        ] {
            def.row_versions.older = vec![wrong];
            assert!(RowVersions::disagreement(&def).is_some(), "{:?}", def.row_versions);
        }
        def.row_versions.older = vec![version(1, &[StoredColumn::Kept(0)])];
        assert_eq!(RowVersions::disagreement(&def), None);
    }
}
