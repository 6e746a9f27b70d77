//! Multi-version storage as nobody would build it: every committed state is a whole (shared) copy, a snapshot is one of them, and a transaction is
//! a list of changes over it.
//!
//! # Invariants
//! 1. A plain read sees the state at the opening of the snapshot, with the transaction's own changes over it.
//! 2. A locking read or a write sees the newest committed state, with the transaction's own changes over it.
//! 3. After a crash the database is in one of the [`Commits::candidates`]: nothing acknowledged as durable is missing, and what was not is there
//!    as a whole or not at all, in the order of the commits.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A row's primary key.
pub type Key = Vec<u8>;

/// Rows by key.
pub type Rows<R> = BTreeMap<Key, R>;

/// A table: what it is and what it holds.
#[derive(Debug)]
pub struct Table<D, R> {
    /// Definition.
    pub def: Arc<D>,
    /// Rows.
    pub rows: Arc<Rows<R>>,
    /// [`State::number`] of the state that defined the table as it is. Snapshots of earlier states cannot read it.
    pub defined_at: u64,
    /// The AUTO_INCREMENT counter is at least this.
    pub counter_min: u64,
}

impl<D, R> Clone for Table<D, R> {
    fn clone(&self) -> Self {
        Table { def: Arc::clone(&self.def), rows: Arc::clone(&self.rows), defined_at: self.defined_at, counter_min: self.counter_min }
    }
}

/// A committed state of all tables.
#[derive(Debug)]
pub struct State<D, R> {
    /// Tables by name.
    pub tables: BTreeMap<String, Table<D, R>>,
    /// Prepared transactions by name: what each has changed, which nobody sees.
    pub prepared: BTreeMap<u64, Arc<Transaction<D, R>>>,
    /// Grows with each commit.
    pub number: u64,
}

impl<D, R> State<D, R> {
    /// No tables.
    pub fn empty() -> Self {
        State { tables: BTreeMap::new(), prepared: BTreeMap::new(), number: 0 }
    }

    /// A copy to be changed into the next state.
    pub fn next(&self) -> Self {
        State { tables: self.tables.clone(), prepared: self.prepared.clone(), number: self.number + 1 }
    }
}

/// A transaction's own changes.
#[derive(Debug)]
pub struct Transaction<D, R> {
    snapshot: Option<Arc<State<D, R>>>,
    changes: BTreeMap<(String, Key), Option<R>>,
    /// What each change replaced in `changes`, oldest first.
    replaced: Vec<((String, Key), Option<Option<R>>)>,
    /// By table and when it was defined as it is: a branch that waits over a crash for its end, and has only numbers left of a table, does not keep it from being emptied.
    counters: BTreeMap<(String, u64), u64>,
}

impl<D, R> Default for Transaction<D, R> {
    fn default() -> Self {
        Transaction { snapshot: None, changes: BTreeMap::new(), replaced: Vec::new(), counters: BTreeMap::new() }
    }
}

impl<D, R: Clone> Transaction<D, R> {
    /// Opens the snapshot unless there is one.
    pub fn open_snapshot(&mut self, committed: &Arc<State<D, R>>) -> Arc<State<D, R>> {
        Arc::clone(self.snapshot.get_or_insert_with(|| Arc::clone(committed)))
    }

    /// The open snapshot.
    pub fn snapshot(&self) -> Option<&Arc<State<D, R>>> {
        self.snapshot.as_ref()
    }

    /// READ COMMITTED: the next read opens a new one.
    pub fn close_snapshot(&mut self) {
        self.snapshot = None;
    }

    /// Sets a row, or removes it.
    pub fn write(&mut self, table: &str, key: &[u8], row: Option<R>) {
        let place = (table.to_owned(), key.to_vec());
        let before = self.changes.insert(place.clone(), row);
        self.replaced.push((place, before));
    }

    /// A row with this AUTO_INCREMENT value was written, into the table as it is since [`Table::defined_at`].
    pub fn note_counter(&mut self, table: &str, defined_at: u64, value: u64) {
        let counter = self.counters.entry((table.to_owned(), defined_at)).or_default();
        *counter = (*counter).max(value + 1);
    }

    /// A place for [`Transaction::rollback_to`].
    pub fn savepoint(&self) -> usize {
        self.replaced.len()
    }

    /// Takes back what was written since.
    pub fn rollback_to(&mut self, savepoint: usize) {
        while self.replaced.len() > savepoint {
            let Some((place, before)) = self.replaced.pop() else { return };
            match before {
                Some(row) => self.changes.insert(place, row),
                None => self.changes.remove(&place),
            };
        }
    }

    /// Whether it changed anything that still stands.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Whether it changed this row (even if it put the row back).
    pub fn changed(&self, table: &str, key: &[u8]) -> bool {
        self.changes.contains_key(&(table.to_owned(), key.to_vec()))
    }

    /// Own changes of a table.
    pub fn changes_of<'a>(&'a self, table: &'a str) -> impl Iterator<Item = (&'a Key, &'a Option<R>)> + 'a {
        self.changes.iter().filter(move |((name, _), _)| name == table).map(|((_, key), row)| (key, row))
    }

    /// A table's rows as this transaction sees them over `base`.
    pub fn rows(&self, base: &State<D, R>, table: &str) -> Rows<R> {
        let mut rows = base.tables.get(table).map(|t| (*t.rows).clone()).unwrap_or_default();
        for (key, row) in self.changes_of(table) {
            match row {
                Some(row) => rows.insert(key.clone(), row.clone()),
                None => rows.remove(key),
            };
        }
        rows
    }

    /// One row as this transaction sees it over `base`.
    pub fn row(&self, base: &State<D, R>, table: &str, key: &[u8]) -> Option<R> {
        match self.changes.get(&(table.to_owned(), key.to_vec())) {
            Some(row) => row.clone(),
            None => base.tables.get(table)?.rows.get(key).cloned(),
        }
    }

    /// The state after its commit.
    pub fn apply(&self, base: &State<D, R>) -> State<D, R> {
        let mut state = base.next();
        for (name, table) in &mut state.tables {
            if self.changes_of(name).next().is_some() {
                table.rows = Arc::new(self.rows(base, name));
            }
            if let Some(counter) = self.counters.get(&(name.clone(), table.defined_at)) {
                table.counter_min = table.counter_min.max(*counter);
            }
        }
        state
    }

    /// A table got another name, or was dropped or emptied (`None`).
    pub fn table_moved(&mut self, from: &str, to: Option<&str>) {
        let moved: Vec<_> = self.changes.keys().filter(|(name, _)| name == from).cloned().collect();
        for place in moved {
            let row = self.changes.remove(&place);
            if let (Some(to), Some(row)) = (to, row) {
                self.changes.insert((to.to_owned(), place.1), row);
            }
        }
        self.replaced.clear();
    }
}

/// One entry of the log after the last durable state: a commit, or a step in the life of a prepared branch.
#[derive(Debug)]
struct Entry<D, R> {
    /// Everything up to here, in the order of the log.
    state: Arc<State<D, R>>,
    /// What it changed over the state before it.
    changes: Option<Arc<Transaction<D, R>>>,
    /// Where its record ends in the log.
    end: u64,
    /// Readers see it although it may be lost.
    shown: bool,
}

/// What was committed, and what may be lost in a crash.
///
/// Locking reads and writes work on [`Commits::newest`]; a new snapshot is [`Commits::visible`]; a crash leaves one of [`Commits::candidates`].
#[derive(Debug)]
pub struct Commits<D, R> {
    /// What has to stand.
    base: Arc<State<D, R>>,
    /// What came after it, oldest first.
    tail: Vec<Entry<D, R>>,
    /// A state whose commit was neither acknowledged nor refused.
    in_doubt: Option<Arc<State<D, R>>>,
    /// Number of the newest state that the death of the process alone cannot undo.
    written: u64,
}

impl<D, R> Commits<D, R> {
    /// Begins with an empty, durable state.
    pub fn new() -> Self {
        Commits { base: Arc::new(State::empty()), tail: Vec::new(), in_doubt: None, written: 0 }
    }

    /// The state after all that is in the log.
    pub fn newest(&self) -> &Arc<State<D, R>> {
        self.tail.last().map_or(&self.base, |entry| &entry.state)
    }

    /// A record went into the log, which ends at `end` and leads to this state: row locks are gone, nobody sees it yet. `changes` is what a commit
    /// changed. Returns the state's number.
    pub fn append(&mut self, state: State<D, R>, changes: Option<Arc<Transaction<D, R>>>, end: u64) -> u64 {
        let number = state.number;
        self.tail.push(Entry { state: Arc::new(state), changes, end, shown: false });
        number
    }

    /// A commit is seen by readers from here on, though a crash may undo it.
    pub fn show(&mut self, number: u64) {
        self.tail.iter_mut().filter(|entry| entry.state.number == number).for_each(|entry| entry.shown = true);
    }

    /// The state of this number, and all before it, was acknowledged as durable, or shown to somebody who was promised that.
    pub fn must_stand(&mut self, number: u64) {
        let count = self.tail.partition_point(|entry| entry.state.number <= number);
        if let Some(last) = self.tail.drain(..count).next_back() {
            self.base = last.state;
        }
    }

    /// The log says that it is durable up to this position.
    pub fn durable_up_to(&mut self, position: u64) {
        let last = self.tail.iter().take_while(|entry| entry.end <= position).last();
        if let Some(number) = last.map(|entry| entry.state.number) {
            self.must_stand(number);
        }
    }

    /// The state of this number was acknowledged as safe from the death of the process.
    pub fn note_written(&mut self, number: u64) {
        self.written = self.written.max(number);
    }

    /// A change that no crash can undo any more: all before it is durable too.
    pub fn acknowledge(&mut self, state: State<D, R>) {
        self.tail.clear();
        self.base = Arc::new(state);
    }

    /// All that was acknowledged is durable by now.
    pub fn all_durable(&mut self) {
        self.must_stand(u64::MAX);
    }

    /// A commit ended without an answer.
    pub fn doubt(&mut self, state: State<D, R>) {
        self.in_doubt = Some(Arc::new(state));
    }

    /// The commit whose version of a row writers and locking reads find, if readers do not see it yet.
    pub fn undurable_writer(&self, table: &str, key: &[u8]) -> Option<u64>
    where
        R: Clone,
    {
        let changes = |entry: &&Entry<D, R>| entry.changes.as_ref().is_some_and(|changes| changes.changed(table, key));
        self.tail.iter().rev().find(changes).filter(|entry| !entry.shown).map(|entry| entry.state.number)
    }

    /// Keys of a table that commits have changed which readers do not see yet, with the row before and after each change.
    pub fn undurable_changes(&self, table: &str) -> Vec<(Key, Option<R>, Option<R>)>
    where
        R: Clone,
    {
        let row = |state: &State<D, R>, key: &Key| state.tables.get(table).and_then(|table| table.rows.get(key).cloned());
        let mut all = Vec::new();
        let mut before = &self.base;
        for entry in &self.tail {
            if let Some(changes) = entry.changes.as_ref().filter(|_| !entry.shown) {
                all.extend(changes.changes_of(table).map(|(key, after)| (key.clone(), row(before, key), after.clone())));
            }
            before = &entry.state;
        }
        all
    }

    /// States that a crash may have left, the likeliest first. With `power_loss`, what was only written may be gone.
    pub fn candidates(&self, power_loss: bool) -> Vec<Arc<State<D, R>>> {
        let least = if power_loss { 0 } else { self.written };
        let tail = self.tail.iter().rev().map(|entry| &entry.state).chain([&self.base]);
        let newest = self.newest().number;
        self.in_doubt.iter().chain(tail.filter(|state| state.number >= least || state.number == newest)).cloned().collect()
    }

    /// The crash has left this one. Returns whether it is the one in doubt.
    pub fn settle(&mut self, state: Arc<State<D, R>>) -> bool {
        let was_in_doubt = self.in_doubt.take().is_some_and(|doubted| Arc::ptr_eq(&doubted, &state));
        self.tail.clear();
        self.written = 0;
        self.base = state;
        was_in_doubt
    }

    /// It is not certain that the counters of the settled state were reached: lowers them to these, by table.
    pub fn lower_counters(&mut self, counters: &BTreeMap<String, u64>) {
        let settled = &self.base;
        let mut state = State { tables: settled.tables.clone(), prepared: settled.prepared.clone(), number: settled.number };
        for (name, table) in &mut state.tables {
            table.counter_min = counters.get(name).map_or(table.counter_min, |counter| table.counter_min.min(*counter));
        }
        self.base = Arc::new(state);
    }
}

impl<D, R: Clone> Commits<D, R> {
    /// What a new snapshot sees: what is durable, and over it what is shown without being so.
    pub fn visible(&self) -> Arc<State<D, R>> {
        if self.tail.iter().all(|entry| entry.shown || entry.changes.is_none()) {
            return Arc::clone(self.newest());
        }
        let mut state = State { tables: self.base.tables.clone(), prepared: BTreeMap::new(), number: self.base.number };
        for changes in self.tail.iter().filter(|entry| entry.shown).filter_map(|entry| entry.changes.as_ref()) {
            state = State { number: state.number, ..changes.apply(&state) };
        }
        Arc::new(state)
    }
}

impl<D, R> Default for Commits<D, R> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(rows: &[(u8, i32)]) -> Arc<State<(), i32>> {
        let rows = rows.iter().map(|(key, row)| (vec![*key], *row)).collect();
        let table = Table { def: Arc::new(()), rows: Arc::new(rows), defined_at: 0, counter_min: 1 };
        Arc::new(State { tables: BTreeMap::from([("t".into(), table)]), prepared: BTreeMap::new(), number: 7 })
    }

    #[test]
    fn own_changes_lie_over_the_snapshot_and_go_back_to_savepoints() {
        let old = state(&[(1, 10), (2, 20)]);
        let mut txn = Transaction::default();
        let seen = txn.open_snapshot(&old);
        txn.write("t", &[1], None);
        let savepoint = txn.savepoint();
        txn.write("t", &[1], Some(11));
        txn.write("t", &[3], Some(30));
        assert_eq!(txn.rows(&seen, "t"), BTreeMap::from([(vec![1], 11), (vec![2], 20), (vec![3], 30)]));
        txn.rollback_to(savepoint);
        assert_eq!(txn.rows(&seen, "t"), BTreeMap::from([(vec![2], 20)]));
        assert_eq!(txn.row(&seen, "t", &[1]), None);
        let newer = state(&[(1, 10), (4, 40)]);
        assert!(Arc::ptr_eq(&txn.open_snapshot(&newer), &old));
        assert_eq!(*txn.apply(&newer).tables["t"].rows, BTreeMap::from([(vec![4], 40)]));
    }

    fn numbers(commits: &Commits<(), i32>, power_loss: bool) -> Vec<u64> {
        commits.candidates(power_loss).iter().map(|s| s.number).collect()
    }

    #[test]
    fn only_what_was_not_durable_is_open_after_a_crash() {
        let mut commits: Commits<(), i32> = Commits::new();
        let next = |commits: &Commits<(), i32>| commits.newest().next();
        for end in [10, 20, 30, 40] {
            commits.append(next(&commits), None, end);
        }
        commits.must_stand(1);
        commits.doubt(next(&commits));
        assert_eq!(numbers(&commits, true), [5, 4, 3, 2, 1]);
        commits.note_written(3);
        assert_eq!(numbers(&commits, false), [5, 4, 3], "the death of the process alone loses less");
        commits.durable_up_to(29);
        assert_eq!(numbers(&commits, true), [5, 4, 3, 2]);
        assert!(commits.settle(commits.candidates(true)[0].clone()));
        assert_eq!(numbers(&commits, false), [5]);
    }

    #[test]
    fn readers_see_what_is_durable_and_what_need_not_be() {
        let mut commits: Commits<(), i32> = Commits::new();
        commits.settle(state(&[(1, 10), (2, 20)]));
        let mut commit = |key: u8, row: i32, end: u64| {
            let mut txn = Transaction::default();
            txn.write("t", &[key], Some(row));
            let state = txn.apply(commits.newest());
            commits.append(state, Some(Arc::new(txn)), end)
        };
        let (durable, lazy) = (commit(1, 11, 50), commit(2, 21, 60));
        commits.show(lazy);
        assert_eq!(commits.undurable_writer("t", &[1]), Some(durable));
        assert_eq!(commits.undurable_writer("t", &[2]), None);
        assert_eq!(commits.undurable_changes("t"), [(vec![1], Some(10), Some(11))]);
        let rows = |state: &State<(), i32>| state.tables["t"].rows.values().copied().collect::<Vec<_>>();
        assert_eq!(rows(&commits.visible()), [10, 21]);
        assert_eq!(rows(commits.newest()), [11, 21]);
        commits.durable_up_to(50);
        assert_eq!(rows(&commits.visible()), [11, 21]);
    }
}
