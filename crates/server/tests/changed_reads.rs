//! UPDATE and DELETE of one table and of several that change what their WHERE, their ON and the indexes that they read go by: a row is found by what was there
//! before the statement, and changed once. A naive model says what must be left.
//!
//! Where a row has several partners, whichever is met first gives the values: the model takes any of them.
//!
//! `ALTIPLANO_TEST_SEED=N` repeats a run, `ALTIPLANO_TEST_STATEMENTS=N` makes it as long. `ALTIPLANO_TEST_SERVER=HOST:PORT` asks a server that runs already (a MySQL).

use env::SplitMix64 as Random;
use harness::{Server, Target};
use mysql::prelude::Queryable;
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");
/// Statements of a run where nobody says how many.
const STATEMENTS: u64 = 1500;
/// Statements between fresh rows.
const ROUND: u64 = 12;
/// Rows of a table, at most; more than a scan takes at once.
const ROWS: u64 = 40;

/// Values by column: a primary key, a unique one, one with NULLs and an index, one that begins an index of two.
type Row = [Option<i64>; 4];
const COLUMNS: [&str; 4] = ["id", "u", "k", "v"];
const ID: usize = 0;
const U: usize = 1;
const K: usize = 2;
const INDEXES: [&str; 4] = ["PRIMARY", "u", "k", "vk"];
/// The table that is read only, and its place among the names of a statement.
const READ: &str = "c";
const READ_AT: usize = 2;

#[derive(Clone)]
enum Expr {
    /// Of a name, a column.
    Column(usize, usize),
    Number(i64),
    Sum(Box<Expr>, i64),
    Rest(Box<Expr>, i64),
    OrZero(Box<Expr>),
    /// The greatest value of a column of the table that is read only.
    Greatest(usize, Box<Condition>),
}

#[derive(Clone)]
enum Condition {
    Compare(Expr, &'static str, Expr),
    In(Expr, Vec<i64>),
    Between(Expr, i64, i64),
    IsNull(Expr, bool),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Exists(Box<Condition>),
    InRows(Expr, usize, Box<Condition>),
}

/// What expressions are evaluated over: a row for each name, and the rows of the table that is read only.
#[derive(Clone, Copy)]
struct Scene<'a> {
    rows: [Row; 3],
    read: &'a [Row],
}

impl<'a> Scene<'a> {
    fn with(&self, name: usize, row: Row) -> Scene<'a> {
        let mut rows = self.rows;
        rows[name] = row;
        Scene { rows, ..*self }
    }

    /// The scenes of the rows of the table that is read only which a condition is true for.
    fn passing<'s>(&'s self, condition: &'s Condition) -> impl Iterator<Item = Scene<'a>> + 's {
        self.read.iter().map(|row| self.with(READ_AT, *row)).filter(|scene| condition.of(scene) == Some(true))
    }
}

impl Expr {
    fn of(&self, scene: &Scene<'_>) -> Option<i64> {
        match self {
            Expr::Column(name, column) => scene.rows[*name][*column],
            Expr::Number(n) => Some(*n),
            Expr::Sum(e, n) => Some(e.of(scene)? + n),
            Expr::Rest(e, n) => Some(e.of(scene)? % n),
            Expr::OrZero(e) => Some(e.of(scene).unwrap_or(0)),
            Expr::Greatest(column, condition) => scene.passing(condition).filter_map(|scene| scene.rows[READ_AT][*column]).max(),
        }
    }

    fn text(&self, names: &[&str; 3]) -> String {
        match self {
            Expr::Column(name, column) => format!("{}.{}", names[*name], COLUMNS[*column]),
            Expr::Number(n) => n.to_string(),
            Expr::Sum(e, n) => format!("({} + {n})", e.text(names)),
            Expr::Rest(e, n) => format!("({} % {n})", e.text(names)),
            Expr::OrZero(e) => format!("IFNULL({}, 0)", e.text(names)),
            Expr::Greatest(column, condition) => {
                format!("(SELECT MAX({READ}.{}) FROM {READ} WHERE {})", COLUMNS[*column], condition.text(names))
            }
        }
    }
}

impl Condition {
    fn of(&self, scene: &Scene<'_>) -> Option<bool> {
        match self {
            Condition::Compare(a, how, b) => {
                let (a, b) = (a.of(scene), b.of(scene));
                match *how {
                    "<=>" => Some(a == b),
                    "=" => Some(a? == b?),
                    "<>" => Some(a? != b?),
                    "<" => Some(a? < b?),
                    "<=" => Some(a? <= b?),
                    ">" => Some(a? > b?),
                    _ => Some(a? >= b?),
                }
            }
            Condition::In(e, list) => Some(list.contains(&e.of(scene)?)),
            Condition::Between(e, low, high) => Some((*low..=*high).contains(&e.of(scene)?)),
            Condition::IsNull(e, not) => Some(e.of(scene).is_none() != *not),
            Condition::All(parts) => all(parts.iter().map(|part| part.of(scene))),
            Condition::Any(parts) => Some(!all(parts.iter().map(|part| Some(!part.of(scene)?)))?),
            Condition::Not(part) => Some(!part.of(scene)?),
            Condition::Exists(condition) => Some(scene.passing(condition).next().is_some()),
            Condition::InRows(e, column, condition) => {
                let wanted = e.of(scene);
                let equal = scene.passing(condition).map(|scene| Some(scene.rows[READ_AT][*column]? != wanted?));
                Some(!all(equal)?)
            }
        }
    }

    fn text(&self, names: &[&str; 3]) -> String {
        let list = |parts: &[Condition], word: &str| {
            let parts: Vec<String> = parts.iter().map(|part| part.text(names)).collect();
            format!("({})", parts.join(word))
        };
        match self {
            Condition::Compare(a, how, b) => format!("{} {how} {}", a.text(names), b.text(names)),
            Condition::In(e, list) => {
                let list: Vec<String> = list.iter().map(i64::to_string).collect();
                format!("{} IN ({})", e.text(names), list.join(", "))
            }
            Condition::Between(e, low, high) => format!("{} BETWEEN {low} AND {high}", e.text(names)),
            Condition::IsNull(e, not) => format!("{} IS {}NULL", e.text(names), if *not { "NOT " } else { "" }),
            Condition::All(parts) => list(parts, " AND "),
            Condition::Any(parts) => list(parts, " OR "),
            Condition::Not(part) => format!("NOT ({})", part.text(names)),
            Condition::Exists(condition) => format!("EXISTS (SELECT 1 FROM {READ} WHERE {})", condition.text(names)),
            Condition::InRows(e, column, condition) => {
                format!("{} IN (SELECT {READ}.{} FROM {READ} WHERE {})", e.text(names), COLUMNS[*column], condition.text(names))
            }
        }
    }
}

/// AND of three values.
fn all(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut unknown = false;
    for part in parts {
        match part {
            Some(false) => return Some(false),
            Some(true) => {}
            None => unknown = true,
        }
    }
    (!unknown).then_some(true)
}

struct Statement {
    /// What the tables are called, and the one that is read only.
    names: [&'static str; 3],
    /// The tables: `a` or `b`, perhaps the same twice.
    tables: [usize; 2],
    /// How the second is joined: its ON.
    join: Option<(&'static str, Condition)>,
    hint: String,
    index_hints: [String; 2],
    condition: Condition,
    /// Of a name, a column, and what it becomes; none in a DELETE.
    set: Vec<(usize, usize, Expr)>,
    /// Names whose rows are changed.
    targets: Vec<usize>,
    /// ORDER BY this, then the primary key, and how many rows.
    order: Option<(Expr, bool, usize)>,
}

/// What each row of each table may be behind a statement; none when it is gone.
type Expected = [Vec<Vec<Row>>; 2];

impl Statement {
    fn text(&self) -> String {
        let names = &self.names;
        let mut from = String::new();
        for at in 0..=usize::from(self.join.is_some()) {
            let table = ["a", "b"][self.tables[at]];
            if at > 0 {
                from += &format!(" {} ", self.join.as_ref().map_or("", |(how, _)| how));
            }
            from += table;
            if names[at] != table {
                from += &format!(" {}", names[at]);
            }
            from += &self.index_hints[at];
        }
        if let Some((_, on)) = &self.join {
            from += &format!(" ON {}", on.text(names));
        }
        let condition = self.condition.text(names);
        let order = self.order.as_ref().map_or_else(String::new, |(e, descending, limit)| {
            let direction = if *descending { " DESC" } else { "" };
            format!(" ORDER BY {}{direction}, {}.id LIMIT {limit}", e.text(names), names[0])
        });
        let hint = &self.hint;
        if self.set.is_empty() {
            let targets: Vec<&str> = self.targets.iter().map(|name| names[*name]).collect();
            let targets = if self.join.is_some() { targets.join(", ") + " " } else { String::new() };
            return format!("DELETE {hint}{targets}FROM {from} WHERE {condition}{order}");
        }
        let set: Vec<String> =
            self.set.iter().map(|(name, column, e)| format!("{}.{} = {}", names[*name], COLUMNS[*column], e.text(names))).collect();
        format!("UPDATE {hint}{from} SET {} WHERE {condition}{order}", set.join(", "))
    }

    /// The rows that the statement meets: the numbers of each table's.
    fn met(&self, tables: &[Vec<Row>; 2], read: &[Row]) -> Vec<[Option<usize>; 2]> {
        const NOBODY: Row = [None; 4];
        let nothing = Scene { rows: [NOBODY; 3], read };
        let mut met = Vec::new();
        for (at, row) in tables[self.tables[0]].iter().enumerate() {
            let scene = nothing.with(0, *row);
            let Some((how, on)) = &self.join else {
                if self.condition.of(&scene) == Some(true) {
                    met.push([Some(at), None]);
                }
                continue;
            };
            let mut alone = *how == "LEFT JOIN";
            for (other, partner) in tables[self.tables[1]].iter().enumerate() {
                let scene = scene.with(1, *partner);
                if on.of(&scene) == Some(true) {
                    alone = false;
                    if self.condition.of(&scene) == Some(true) {
                        met.push([Some(at), Some(other)]);
                    }
                }
            }
            if alone && self.condition.of(&scene) == Some(true) {
                met.push([Some(at), None]);
            }
        }
        if let Some((e, descending, limit)) = &self.order {
            let rows = &tables[self.tables[0]];
            let key = |pair: &[Option<usize>; 2]| pair[0].map(|at| (e.of(&nothing.with(0, rows[at])), rows[at][ID]));
            met.sort_by(|x, y| {
                let (x, y) = (key(x).unwrap_or_default(), key(y).unwrap_or_default());
                let first = if *descending { y.0.cmp(&x.0) } else { x.0.cmp(&y.0) };
                first.then(x.1.cmp(&y.1))
            });
            met.truncate(*limit);
        }
        met
    }

    /// What must be left, and how many rows must be told as changed where that is certain.
    fn expected(&self, tables: &[Vec<Row>; 2], read: &[Row]) -> (Expected, Option<u64>) {
        let met = self.met(tables, read);
        let mut expected = [0, 1].map(|table: usize| tables[table].iter().map(|row| vec![*row]).collect::<Vec<_>>());
        let mut changed = Some(0);
        for name in &self.targets {
            let table = self.tables[*name];
            for (at, row) in tables[table].iter().enumerate() {
                let pairs = met.iter().filter(|pair| pair[*name] == Some(at));
                if self.set.is_empty() {
                    if pairs.count() > 0 && !expected[table][at].is_empty() {
                        expected[table][at].clear();
                        changed = changed.map(|count| count + 1);
                    }
                    continue;
                }
                let mut becomes: Vec<Row> = Vec::new();
                for pair in pairs {
                    let mut scene = Scene { rows: [[None; 4]; 3], read };
                    for (name, at) in pair.iter().enumerate() {
                        if let Some(at) = at {
                            scene.rows[name] = tables[self.tables[name]][*at];
                        }
                    }
                    for (_, column, e) in self.set.iter().filter(|(of, ..)| of == name) {
                        scene.rows[*name][*column] = e.of(&scene);
                    }
                    if !becomes.contains(&scene.rows[*name]) {
                        becomes.push(scene.rows[*name]);
                    }
                }
                match becomes.as_slice() {
                    [] => continue,
                    [only] => changed = changed.map(|count| count + u64::from(only != row)),
                    _ => changed = None,
                }
                // Another name may have changed the row, too, in other columns.
                let before = std::mem::take(&mut expected[table][at]);
                for was in before {
                    for new in &becomes {
                        let mut both = was;
                        self.set.iter().filter(|(of, ..)| of == name).for_each(|(_, column, _)| both[*column] = new[*column]);
                        expected[table][at].push(both);
                    }
                }
            }
        }
        (expected, changed)
    }
}

/// Makes statements.
struct Maker(Random);

impl Maker {
    fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }

    /// A value as a column has them.
    fn value(&mut self, column: usize) -> i64 {
        match column {
            ID | U => self.0.below(90) as i64,
            K => self.0.below(8) as i64,
            _ => self.0.below(12) as i64,
        }
    }

    fn row(&mut self) -> Row {
        let k = if self.one_in(6) { None } else { Some(self.value(K)) };
        [Some(self.value(ID)), Some(self.value(U)), k, Some(self.0.below(12) as i64)]
    }

    fn rows(&mut self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for _ in 0..self.0.below(ROWS) {
            let row = self.row();
            if rows.iter().all(|other| other[ID] != row[ID] && other[U] != row[U]) {
                rows.push(row);
            }
        }
        rows.sort();
        rows
    }

    fn compared(&mut self) -> &'static str {
        self.0.pick(&["=", "=", "=", "<=>", "<>", "<", "<=", ">", ">="])
    }

    /// A condition on one of some names.
    fn simple(&mut self, names: usize) -> Condition {
        let (name, column) = (self.0.below(names as u64) as usize, self.0.below(4) as usize);
        let e = Expr::Column(name, column);
        match self.0.below(7) {
            0 | 1 => {
                // Keys a step apart: where an UPDATE may move a row to.
                let (first, step, count) = (self.value(column), self.0.below(12) as i64 + 1, self.0.below(5) as i64 + 2);
                Condition::In(e, (0..count).map(|n| first + n * step).collect())
            }
            2 | 3 => {
                let (low, width) = (self.value(column), self.0.below(40) as i64);
                Condition::Between(e, low, low + width)
            }
            4 => Condition::IsNull(e, self.one_in(2)),
            5 => Condition::Compare(Expr::Sum(Box::new(e), 0), self.compared(), Expr::Number(self.value(column))),
            _ => Condition::Compare(e, self.compared(), Expr::Number(self.value(column))),
        }
    }

    /// A condition that ties the first of some names with the second, or with the table that is read only.
    fn tie(&mut self, one: usize, other: usize) -> Condition {
        let pairs = [(ID, K), (K, ID), (K, K), (K, 3), (U, ID), (3, 3), (ID, ID), (3, K), (ID, U)];
        let (x, y) = self.0.pick(&pairs);
        let how = if self.one_in(4) { self.compared() } else { "=" };
        let right = Expr::Column(other, y);
        Condition::Compare(Expr::Column(one, x), how, if self.one_in(5) { Expr::Sum(Box::new(right), 1) } else { right })
    }

    /// What a subquery asks of its rows.
    fn within(&mut self, names: usize) -> Box<Condition> {
        let name = self.0.below(names as u64) as usize;
        let tie = self.tie(name, READ_AT);
        let column = self.0.below(4) as usize;
        let more = Condition::Compare(Expr::Column(READ_AT, column), self.compared(), Expr::Number(self.value(column)));
        Box::new(if self.one_in(2) { tie } else { Condition::All(vec![tie, more]) })
    }

    fn condition(&mut self, names: usize, depth: u32) -> Condition {
        let deeper = depth > 0;
        match self.0.below(12) {
            0 | 1 if deeper => Condition::All(vec![self.condition(names, depth - 1), self.condition(names, depth - 1)]),
            2 | 3 if deeper => Condition::Any(vec![self.condition(names, depth - 1), self.condition(names, depth - 1)]),
            4 if deeper => Condition::Not(Box::new(self.condition(names, depth - 1))),
            5 => Condition::Exists(self.within(names)),
            6 => {
                let (name, column, of) = (self.0.below(names as u64) as usize, self.0.below(4) as usize, self.0.below(4) as usize);
                Condition::InRows(Expr::Column(name, column), of, self.within(names))
            }
            7 => {
                let (name, column) = (self.0.below(names as u64) as usize, self.0.below(4) as usize);
                let greatest = Expr::Greatest(self.0.below(4) as usize, self.within(names));
                Condition::Compare(Expr::Column(name, column), self.compared(), greatest)
            }
            8 if names > 1 => self.tie(0, 1),
            _ => self.simple(names),
        }
    }

    /// What a column of a name becomes. What tells rows apart depends on the row alone; the rest may also be a partner's column that stays as it is. Only the
    /// `first` assignment to a row reads its other columns: what they are after that is a question of how the statement is run, with a MySQL.
    fn becomes(&mut self, name: usize, column: usize, first: bool, partner: Option<&[usize]>) -> Expr {
        let own = |r: &mut Random| Expr::Column(name, r.below(4) as usize);
        let step = self.0.below(24) as i64 + 1;
        let e = match (self.0.below(8), partner) {
            _ if column == ID || column == U => {
                let by = if self.one_in(3) { -step } else { step };
                return Expr::Sum(Box::new(Expr::Column(name, column)), by);
            }
            (0..3, _) => Expr::Sum(Box::new(Expr::Column(name, column)), if self.one_in(2) { 1 } else { -1 }),
            (3, _) => Expr::Number(self.value(column)),
            (4, _) if first => Expr::Rest(Box::new(own(&mut self.0)), 7),
            (5, Some(stays)) if !stays.is_empty() => Expr::Column(1 - name, self.0.pick(stays)),
            (6, _) if first => Expr::Greatest(self.0.below(4) as usize, Box::new(self.tie(name, READ_AT))),
            _ if first => own(&mut self.0),
            _ => Expr::Rest(Box::new(Expr::Column(name, column)), 5),
        };
        if column == K { e } else { Expr::OrZero(Box::new(e)) }
    }

    fn statement(&mut self) -> Statement {
        let several = self.one_in(2);
        let tables = [self.0.below(2) as usize, self.0.below(2) as usize];
        let same = several && tables[0] == tables[1];
        let names = if same { ["x", "y", READ] } else { [["a", "b"][tables[0]], ["a", "b"][1 - tables[0]], READ] };
        let tables = if several { tables } else { [tables[0], 1 - tables[0]] };
        let count = 1 + usize::from(several);
        let join = several.then(|| {
            let how = self.0.pick(&["JOIN", "JOIN", "STRAIGHT_JOIN", "LEFT JOIN"]);
            let tie = self.tie(0, 1);
            let on = if self.one_in(2) { tie } else { Condition::All(vec![tie, self.condition(2, 1)]) };
            (how, on)
        });
        let condition = self.condition(count, 2);
        let mut targets: Vec<usize> = (0..count).filter(|_| !self.one_in(3)).collect();
        if targets.is_empty() {
            targets.push(self.0.below(count as u64) as usize);
        }
        let mut set = Vec::new();
        if !self.one_in(4) {
            // Of one table under two names no column is set twice, and no key of a row.
            let mut left: Vec<usize> = if same && targets.len() > 1 { vec![U, K, 3] } else { (0..4).collect() };
            let mut columns = [Vec::new(), Vec::new()];
            for name in &targets {
                for _ in 0..=self.0.below(2) {
                    if left.is_empty() {
                        break;
                    }
                    let column = left.swap_remove(self.0.below(left.len() as u64) as usize);
                    columns[*name].push(column);
                }
                if !same {
                    left = (0..4).collect();
                }
            }
            let assigned = columns.clone();
            for name in 0..2 {
                // A column of the partner stays as it is where neither name of the row sets it.
                let stays: Vec<usize> =
                    (0..4).filter(|c| !(assigned[1 - name].contains(c) || same && assigned[name].contains(c))).collect();
                for (at, column) in columns[name].clone().into_iter().enumerate() {
                    let e = self.becomes(name, column, at == 0, several.then_some(stays.as_slice()));
                    set.push((name, column, e));
                }
            }
            targets.retain(|name| !columns[*name].is_empty());
        }
        let order = (!several && self.one_in(3)).then(|| {
            let e = self.0.pick(&[Expr::Column(0, ID), Expr::Column(0, U), Expr::Column(0, K), Expr::Column(0, 3)]);
            (e, self.one_in(2), self.0.below(12) as usize)
        });
        let mut hint = String::new();
        if several && self.one_in(3) {
            let [x, y] = if self.one_in(2) { [names[0], names[1]] } else { [names[1], names[0]] };
            hint = format!("/*+ JOIN_ORDER({x}, {y}) */ ");
        }
        let mut index_hint = |hinted: bool| {
            if hinted && self.one_in(4) { format!(" FORCE INDEX ({})", self.0.pick(&INDEXES)) } else { String::new() }
        };
        // A single-table DELETE takes no index hint.
        let hints = several || !set.is_empty();
        let index_hints = [index_hint(hints), index_hint(several)];
        Statement { names, tables, join, hint, index_hints, condition, set, targets, order }
    }
}

fn fill(c: &mut mysql::Conn, table: &str, rows: &[Row]) {
    c.query_drop(format!("TRUNCATE TABLE {table}")).expect("emptied");
    for chunk in rows.chunks(50) {
        let texts: Vec<String> = chunk
            .iter()
            .map(|row| {
                let values = row.map(|value| value.map_or_else(|| "NULL".to_owned(), |n| n.to_string()));
                format!("({})", values.join(", "))
            })
            .collect();
        c.query_drop(format!("INSERT INTO {table} VALUES {}", texts.join(", "))).expect("filled");
    }
}

/// The rows of a table, which all its indexes show.
fn shown(c: &mut mysql::Conn, table: &str) -> Result<Vec<Row>, String> {
    let mut first: Option<Vec<Row>> = None;
    for index in INDEXES {
        let query =
            format!("SELECT id, u, k, v FROM {table} FORCE INDEX ({index}) WHERE id > -100000 AND u > -100000 AND v > -100000 ORDER BY id");
        let rows: Vec<(i64, i64, Option<i64>, i64)> = c.query(&query).map_err(|error| format!("{query}: {error}"))?;
        let rows: Vec<Row> = rows.into_iter().map(|(id, u, k, v)| [Some(id), Some(u), k, Some(v)]).collect();
        match &first {
            Some(first) if *first != rows => return Err(format!("{table} by {index}: {rows:?}, not {first:?}")),
            _ => first = Some(rows),
        }
    }
    Ok(first.unwrap_or_default())
}

/// Whether two rows have the same primary or unique key, whatever they become.
fn has_duplicates(rows: &[Vec<Row>]) -> bool {
    [ID, U].iter().any(|column| {
        let mut keys: Vec<Option<i64>> = rows.iter().filter_map(|row| row.first()).map(|row| row[*column]).collect();
        keys.sort();
        keys.windows(2).any(|pair| pair[0] == pair[1])
    })
}

/// How many statements ended how.
#[derive(Debug, Default)]
struct Counts {
    changed: u64,
    nothing: u64,
    duplicates: u64,
}

/// Runs a statement and compares what it leaves; the tables are what they are then.
fn check(c: &mut mysql::Conn, statement: &Statement, tables: &mut [Vec<Row>; 2], read: &[Row], counts: &mut Counts) -> Result<(), String> {
    let (expected, changed) = statement.expected(tables, read);
    let text = statement.text();
    let outcome = c.query_drop(&text);
    let affected = c.affected_rows();
    let left = [shown(c, "a")?, shown(c, "b")?];
    match outcome {
        Ok(()) => {}
        // Rows may meet on their way to where they do not.
        Err(mysql::Error::MySqlError(error)) if error.code == 1062 && !statement.set.is_empty() => {
            counts.duplicates += 1;
            return if left == *tables { Ok(()) } else { Err(format!("a statement that failed left {left:?}")) };
        }
        Err(error) => return Err(error.to_string()),
    }
    for (table, expected) in expected.iter().enumerate() {
        if has_duplicates(expected) {
            return Err(format!("a key twice was let through: {:?}", left[table]));
        }
        let mut expected: Vec<&Vec<Row>> = expected.iter().filter(|row| !row.is_empty()).collect();
        expected.sort();
        let fits = expected.len() == left[table].len() && expected.iter().zip(&left[table]).all(|(may, is)| may.contains(is));
        if !fits {
            let wrong: Vec<String> =
                left[table].iter().filter(|row| !expected.iter().any(|may| may.contains(row))).map(|row| format!("{row:?}")).collect();
            let missing: Vec<String> =
                expected.iter().filter(|may| !left[table].iter().any(|row| may.contains(row))).map(|may| format!("{may:?}")).collect();
            return Err(format!("{} has\n    {}\n  instead of\n    {}", ["a", "b"][table], wrong.join("\n    "), missing.join("\n    ")));
        }
    }
    if changed.is_some_and(|changed| changed != affected) {
        return Err(format!("{affected} rows were told to be changed, not {changed:?}"));
    }
    *(if left == *tables { &mut counts.nothing } else { &mut counts.changed }) += 1;
    *tables = left;
    Ok(())
}

#[test]
fn rows_are_found_by_what_was_there_before() {
    let seed = histories::seed::announce("server", env!("CARGO_CRATE_NAME"), "rows_are_found_by_what_was_there_before");
    let statements = std::env::var("ALTIPLANO_TEST_STATEMENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(STATEMENTS);
    let target = match std::env::var("ALTIPLANO_TEST_SERVER") {
        Ok(address) => Target::external(&address).unwrap_or_else(|why| panic!("{why}")),
        Err(_) => Target::Own(Server::start(PROGRAM, &[])),
    };
    let mut c = target.connect_patiently(None, Duration::from_secs(600)).expect("connects");
    c.query_drop("DROP DATABASE IF EXISTS altiplano_reads; CREATE DATABASE altiplano_reads; USE altiplano_reads").expect("made");
    for table in ["a", "b", READ] {
        let columns = "id INT PRIMARY KEY, u INT NOT NULL UNIQUE, k INT, v INT NOT NULL, KEY k (k), KEY vk (v, k)";
        c.query_drop(format!("CREATE TABLE {table} ({columns})")).expect("made");
    }
    let mut maker = Maker(Random::new(seed));
    let mut counts = Counts::default();
    let (mut tables, mut read) = ([Vec::new(), Vec::new()], Vec::new());
    for number in 0..statements {
        if number % ROUND == 0 {
            let level = maker.0.pick(&["READ COMMITTED", "REPEATABLE READ"]);
            c.query_drop(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")).expect("set");
            (tables, read) = ([maker.rows(), maker.rows()], maker.rows());
            fill(&mut c, "a", &tables[0]);
            fill(&mut c, "b", &tables[1]);
            fill(&mut c, READ, &read);
        }
        let statement = maker.statement();
        let before = tables.clone();
        if let Err(wrong) = check(&mut c, &statement, &mut tables, &read, &mut counts) {
            let [a, b] = before.map(|rows| format!("{rows:?}").replace("Some(", "").replace(')', "").replace("None", "NULL"));
            panic!("seed {seed}, statement {number}: {}\n  {wrong}\n  a: {a}\n  b: {b}\n  c: {read:?}", statement.text());
        }
    }
    println!("{counts:?}");
    // A generator of which most statements change nothing would check little.
    assert!(counts.changed * 5 > statements, "{counts:?} of {statements} statements");
}
