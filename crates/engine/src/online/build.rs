//! Building secondary indexes, and whole tables from the rows of others (`row_copy.rs`), while others write the table. Why it is right: `docs/design/online-index.md`.
//!
//! The rows are read as of a snapshot that was taken while nobody else had the table; meanwhile transactions note the keys of the rows that they change
//! (`changed_keys.rs`). Then, in rounds: a newer snapshot is taken, what was noted is taken out, and for each of those keys the entries as of the older
//! snapshot are replaced by those as of the newer one; of a copy, the rows, too. The last round is run while nobody else has the table again.
//!
//! # Invariants
//! 1. The trees are nobody else's: no transaction, no purge and no recovery touches them before the dictionary names them.
//! 2. After the build, and after each round, the trees hold exactly the entries (of a copy: the rows and entries) of the rows that the snapshot `seen` sees.
//! 3. What a round must look at was noted before: a transaction that the newer snapshot sees and the older one does not has noted its keys before it
//!    finished, so before the newer snapshot; and a key whose changers were not all seen is put back for the next round.
//! 4. Of a round all entries are removed before the first is added, so that two rows with one key in a unique index are two committed rows.

use crate::engine::Engine;
use crate::online::changed_keys::{ChangedKeys, Changers};
use crate::online::key_sort::{KeySort, Keys};
use crate::online::outcome::{BuildError, key_has_null};
use crate::online::progress::{BuildProgress, BuildStage};
use crate::online::row_copy::{NewRow, RowCopy};
use crate::scan::RowBatch;
use crate::session::{Isolation, Session};
use crate::table::{IndexSpec, Table, new_entry_value};
use crate::{Direction, Error, KeyRange, Read, Result, Step};
use btree::{BTree, Builder, Seek};
use lock_manager::Cancel;
use record::RowRef;
use std::sync::Arc;
use sync::atomic::{AtomicBool, Ordering};

type BuildResult<T> = std::result::Result<T, BuildError>;

/// Rows, keys or entries between two looks at whether to stop.
const STRETCH: u64 = 256;

/// What a build may take.
#[derive(Clone)]
pub struct BuildLimits {
    /// Memory for the keys of changed rows (`innodb_online_alter_log_max_size`).
    pub changed_bytes_max: u64,
    /// Memory for sorting, of all indexes together.
    pub sort_bytes_max: usize,
    /// Where sorted runs go that have no room in memory. Without, all are kept in memory.
    pub directory: Option<Arc<spill::Directory>>,
}

/// Indexes, or a table with all of them, under construction beside writers.
pub struct OnlineBuild<'c> {
    engine: Arc<Engine>,
    /// Whose changes are noted.
    table: Arc<Table>,
    /// The same rows: for indexes read by the layouts of the new definition.
    reader: Arc<Table>,
    /// Where rows are copied to. Without, new indexes are added to those that they have.
    copy: Option<RowCopy<'c>>,
    /// Secondary indexes under construction.
    indexes: Vec<(IndexSpec, BTree)>,
    changed: Arc<ChangedKeys>,
    /// Holds the snapshot that the trees are of.
    seen: Session,
    /// Takes the newer one.
    newer: Session,
    limits: BuildLimits,
    progress: Arc<BuildProgress>,
    held: memory::Use,
    /// For the simulator: a key with an unseen changer is forgotten.
    pub(crate) forgets_unseen: AtomicBool,
}

impl Engine {
    /// Begins to note what changes in `table`, and takes the snapshot that its rows are read as of. The caller has the table alone, and lets others use it afterwards; `reader` is
    /// a view of it ([`Engine::table_view`]) that has its primary index only. `new` are empty trees.
    pub fn begin_online_build(
        self: &Arc<Engine>,
        table: &Arc<Table>,
        reader: Arc<Table>,
        new: Vec<IndexSpec>,
        limits: BuildLimits,
        progress: Arc<BuildProgress>,
    ) -> Result<OnlineBuild<'static>> {
        self.begin_build(table, reader, None, new, limits, progress)
    }

    /// The same for a copy of all rows: the trees of its table are filled, of which the caller opens and forgets the table.
    pub fn begin_online_copy<'c>(
        self: &Arc<Engine>,
        table: &Arc<Table>,
        copy: RowCopy<'c>,
        limits: BuildLimits,
        progress: Arc<BuildProgress>,
    ) -> Result<OnlineBuild<'c>> {
        let spec =
            |index: &crate::Index| IndexSpec { id: index.id, root: index.tree.root, parts: index.parts.clone(), unique: index.unique };
        let new = copy.target.indexes[1..].iter().map(spec).collect();
        self.begin_build(table, Arc::clone(table), Some(copy), new, limits, progress)
    }

    fn begin_build<'c>(
        self: &Arc<Engine>,
        table: &Arc<Table>,
        reader: Arc<Table>,
        copy: Option<RowCopy<'c>>,
        new: Vec<IndexSpec>,
        limits: BuildLimits,
        progress: Arc<BuildProgress>,
    ) -> Result<OnlineBuild<'c>> {
        let mut seen = self.connect();
        seen.begin(Isolation::RepeatableRead, true);
        seen.ensure_view()?;
        let changed = Arc::new(ChangedKeys::new(limits.changed_bytes_max));
        let indexes = new.into_iter().map(|index| {
            let tree = BTree::open(&self.pool, &self.space, index.id, index.root);
            (index, tree)
        });
        let build = OnlineBuild {
            engine: Arc::clone(self),
            table: Arc::clone(table),
            reader,
            copy,
            indexes: indexes.collect(),
            changed: Arc::clone(&changed),
            seen,
            newer: self.connect(),
            limits,
            progress,
            held: memory::Use::new(memory::Kind::Ddl, 0),
            forgets_unseen: AtomicBool::new(false),
        };
        table.watch.set(Some(changed));
        Ok(build)
    }
}

impl OnlineBuild<'_> {
    /// Fills the trees with the rows of the snapshot. Once, and before the first round.
    pub fn build(&mut self, cancel: &Cancel) -> BuildResult<()> {
        let sorts_rows = self.copy.as_ref().is_some_and(|copy| !copy.is_in_order());
        let count = self.indexes.len() + usize::from(sorts_rows);
        let new_sort = || KeySort::new(self.limits.sort_bytes_max / count.max(1), self.limits.directory.clone());
        // The rows' own is the last.
        let mut sorts: Vec<KeySort> = (0..count).map(|_| new_sort()).collect();
        self.progress.begin(BuildStage::Read, self.reader.rows_estimate());
        self.read_rows(&mut sorts, cancel)?;
        let rows = self.progress.stages().last().map_or(0, |last| last.done);
        self.progress.begin(BuildStage::Fill, rows * count as u64);
        if sorts_rows && let Some(sort) = sorts.pop() {
            self.fill_rows(sort, cancel)?;
        }
        for (no, sort) in sorts.into_iter().enumerate() {
            self.fill(no, sort, cancel)?;
        }
        self.held.resize(0);
        Ok(())
    }

    fn read_rows(&mut self, sorts: &mut [KeySort], cancel: &Cancel) -> BuildResult<()> {
        let OnlineBuild { engine, seen, reader, copy, indexes, progress, held, changed, .. } = self;
        let target = copy.as_ref().map(|copy| Arc::clone(&copy.target));
        let mut builder: Option<Builder<'_>> = match (&target, copy.as_ref()) {
            (Some(target), Some(copy)) if copy.is_in_order() => Some(target.primary().tree.builder(base::TxnId::NONE)?),
            _ => None,
        };
        let mut scan = seen.scan(reader, 0, KeyRange::all(), Direction::Forward, Read::Snapshot)?;
        let (mut batch, mut new) = (RowBatch::default(), NewRow::default());
        loop {
            let (mut rows, mut failed) = (0, None);
            let mut key = Vec::new();
            let copies = target.is_some();
            let more = scan.for_each(|row, primary_key| {
                rows += 1;
                if copies {
                    // Converted and written without the leaf's latch.
                    batch.push(row, primary_key);
                    return if batch.is_full(STRETCH as usize) { Step::Stop } else { Step::Continue };
                }
                key.clear();
                primary_key.append_to(&mut key);
                for ((index, _), sort) in indexes.iter().zip(sorts.iter_mut()) {
                    if let Err(error) = sort.keys.push(row, &index.parts, &key) {
                        failed = Some(error);
                        return Step::Stop;
                    }
                }
                if rows == STRETCH { Step::Stop } else { Step::Continue }
            })?;
            if let Some(error) = failed {
                return Err(error.into());
            }
            if let Some(copy) = copy {
                for no in 0..batch.len() {
                    copy.convert(batch.key(no), batch.row(reader, no)?, &mut new)?;
                    copy.note_counter(&new);
                    for ((index, _), sort) in indexes.iter().zip(sorts.iter_mut()) {
                        sort.keys.push(new.row(&copy.target), &index.parts, &new.key)?;
                    }
                    copy.store(engine, &mut new)?;
                    match (&mut builder, sorts.last_mut()) {
                        (Some(builder), _) => builder.push(&new.key, &new.bytes)?,
                        (None, Some(sort)) => sort.keys.push_pair(&new.key, &new.bytes)?,
                        (None, None) => {}
                    }
                }
                batch.clear();
            }
            progress.add(rows);
            look_at(cancel, changed)?;
            for sort in sorts.iter_mut().filter(|sort| sort.is_full()) {
                sort.spill()?;
            }
            held.resize(sorts.iter().map(|sort| sort.keys.bytes()).sum::<u64>() + changed.bytes());
            if !more {
                if let Some(builder) = builder {
                    builder.finish()?;
                }
                return Ok(());
            }
        }
    }

    /// Fills the tree of rows that were sorted by their new keys.
    fn fill_rows(&self, sort: KeySort, cancel: &Cancel) -> BuildResult<()> {
        let Some(copy) = &self.copy else { return Ok(()) };
        let put = |builder: &mut Builder<'_>, row: &[u8], key_bytes: usize| builder.push(&row[..key_bytes], &row[key_bytes..]);
        match self.pour(&copy.target.primary().tree, sort, |_| Ok(true), put, cancel) {
            Ok(()) => Ok(()),
            Err(Stopped::Build(error)) => Err(error),
            Err(Stopped::Duplicate(stored)) => Err(BuildError::Duplicate { index_no: 0, row: copy.whole(&self.engine, &stored)? }),
        }
    }

    fn fill(&mut self, no: usize, sort: KeySort, cancel: &Cancel) -> BuildResult<()> {
        let (index, tree) = &self.indexes[no];
        let is_unique = |user: &[u8]| -> Result<bool> { Ok(index.unique && !key_has_null(self.keyed(), &index.parts, user)?) };
        let put = |builder: &mut Builder<'_>, key: &[u8], user_bytes: usize| builder.push(key, &new_entry_value(0, user_bytes));
        match self.pour(tree, sort, is_unique, put, cancel) {
            Ok(()) => Ok(()),
            Err(Stopped::Build(error)) => Err(error),
            Err(Stopped::Duplicate(primary_key)) => {
                let row = row_of(&self.engine, self.copy.as_ref(), &mut self.seen, &self.reader, &primary_key)?;
                Err(BuildError::Duplicate { index_no: self.number_of(no), row })
            }
        }
    }

    /// Fills an empty tree with what was sorted. Two of one key, where `is_unique` says that there must be none, end it.
    fn pour(
        &self,
        tree: &BTree,
        sort: KeySort,
        is_unique: impl Fn(&[u8]) -> Result<bool>,
        put: impl Fn(&mut Builder<'_>, &[u8], usize) -> btree::Result<()>,
        cancel: &Cancel,
    ) -> std::result::Result<(), Stopped> {
        let mut builder = tree.builder(base::TxnId::NONE).map_err(Error::from)?;
        let (mut before, mut is_first, mut since_look) = (Vec::<u8>::new(), true, 0);
        sort.drain(|key, user_bytes| {
            if !std::mem::take(&mut is_first) && before == key[..user_bytes] && is_unique(&key[..user_bytes])? {
                return Err(Stopped::Duplicate(key[user_bytes..].to_vec()));
            }
            before.clear();
            before.extend_from_slice(&key[..user_bytes]);
            put(&mut builder, key, user_bytes).map_err(Error::from)?;
            since_look += 1;
            if since_look == STRETCH {
                since_look = 0;
                self.progress.add(STRETCH);
                look_at(cancel, &self.changed).map_err(Stopped::Build)?;
            }
            Ok(())
        })?;
        builder.finish().map_err(Error::from)?;
        Ok(())
    }

    /// The table whose rows have the columns that the parts of indexes name.
    fn keyed(&self) -> &Table {
        self.copy.as_ref().map_or(&self.reader, |copy| &copy.target)
    }

    /// The position of a secondary index in the list that errors speak of: of a copy all indexes are new.
    fn number_of(&self, no: usize) -> usize {
        no + usize::from(self.copy.is_some())
    }

    /// Keys that wait for the next round.
    pub fn waiting(&self) -> u64 {
        self.changed.count()
    }

    /// One round: carries over what was changed since the last one, as far as it is committed. Returns how many keys it looked at.
    pub fn catch_up(&mut self, cancel: &Cancel) -> BuildResult<u64> {
        self.round(BuildStage::CatchUp, cancel)
    }

    /// The last round, while nobody else has the table, and no transaction that changed it is unfinished. From here on nothing is noted any more.
    pub fn finish(&mut self, cancel: &Cancel) -> BuildResult<u64> {
        let keys = self.round(BuildStage::LastRound, cancel)?;
        self.table.watch.set(None);
        if self.waiting() > 0 {
            // What is unfinished in spite of all would be missed.
            return Err(Error::LockWaitTimeout.into());
        }
        if let Some(copy) = &self.copy {
            copy.finish();
        }
        Ok(keys)
    }

    fn round(&mut self, stage: BuildStage, cancel: &Cancel) -> BuildResult<u64> {
        look_at(cancel, &self.changed)?;
        // The snapshot first: whoever it sees has noted its keys by now.
        self.newer.begin(Isolation::RepeatableRead, true);
        self.newer.ensure_view()?;
        let keys = self.changed.take();
        let stage = if self.copy.is_some() { BuildStage::CatchUpRows } else { stage };
        self.progress.begin(stage, keys.len() as u64);
        let count = keys.len() as u64;
        let mut moves = Moves::new(self.indexes.len());
        let mut since_look = 0;
        for (key, changers) in keys {
            self.compare(&key, &mut moves)?;
            let unseen: Changers = changers.into_iter().filter(|txn| !self.newer.sees(*txn)).collect();
            if !unseen.is_empty() && !self.forgets_unseen.load(Ordering::Relaxed) {
                self.changed.put_back(key, unseen);
            }
            since_look += 1;
            if since_look == STRETCH {
                since_look = 0;
                self.progress.add(STRETCH);
                look_at(cancel, &self.changed)?;
                self.held.resize(moves.bytes() + self.changed.bytes());
            }
        }
        self.carry_out(&mut moves, cancel)?;
        // The older snapshot is let go of, and the newer one is what the trees are of.
        std::mem::swap(&mut self.seen, &mut self.newer);
        self.newer.commit()?;
        self.held.resize(self.changed.bytes());
        Ok(count)
    }

    /// What a row leaves and gets between the two snapshots.
    fn compare(&mut self, key: &[u8], moves: &mut Moves) -> BuildResult<()> {
        if self.copy.is_some() {
            return self.compare_copies(key, moves);
        }
        let OnlineBuild { seen, newer, reader, indexes, .. } = self;
        let entries = |session: &mut Session, into: &mut [Keys]| -> Result<bool> {
            let found = session.get(reader, key, Read::Snapshot, |row| -> Result<()> {
                indexes.iter().zip(into).try_for_each(|((index, _), keys)| keys.push(row, &index.parts, key))
            })?;
            found.transpose().map(|found| found.is_some())
        };
        let (was, is) = (entries(seen, &mut moves.removed)?, entries(newer, &mut moves.added)?);
        if was && is {
            moves.cancel_out();
        }
        Ok(())
    }

    /// The same of a copy: of rows the keys, and by which old key they are found.
    fn compare_copies(&mut self, key: &[u8], moves: &mut Moves) -> BuildResult<()> {
        let OnlineBuild { seen, newer, reader, indexes, copy: Some(copy), .. } = self else { return Ok(()) };
        let (was, is) = (bytes_of(seen, reader, key)?, bytes_of(newer, reader, key)?);
        if was == is {
            // One version.
            return Ok(());
        }
        let (mut old, mut new) = (NewRow::default(), NewRow::default());
        let sides =
            [(&was, &mut old, &mut moves.rows_removed, &mut moves.removed), (&is, &mut new, &mut moves.rows_added, &mut moves.added)];
        for (bytes, row, rows, entries) in sides {
            let Some(bytes) = bytes else { continue };
            copy.convert(key, reader.row_ref(bytes)?, row)?;
            rows.push_pair(&row.key, key)?;
            for ((index, _), keys) in indexes.iter().zip(entries) {
                keys.push(row.row(&copy.target), &index.parts, &row.key)?;
            }
        }
        if was.is_some() && is.is_some() {
            moves.cancel_out();
            if old.key == new.key && old.bytes == new.bytes {
                moves.rows_removed.pop();
                moves.rows_added.pop();
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, moves: &mut Moves, cancel: &Cancel) -> BuildResult<()> {
        let mut since_look = 0;
        let mut look = |changed: &ChangedKeys| {
            since_look += 1;
            if since_look % STRETCH == 0 { look_at(cancel, changed) } else { Ok(()) }
        };
        for ((_, tree), keys) in self.indexes.iter().zip(&mut moves.removed) {
            keys.sort();
            for no in 0..keys.len() {
                take(tree, keys.key(no).0)?;
                look(&self.changed)?;
            }
        }
        let OnlineBuild { engine, reader, newer, changed, copy, .. } = self;
        if let Some(copy) = copy {
            moves.rows_removed.sort();
            for no in 0..moves.rows_removed.len() {
                let (key, key_bytes) = moves.rows_removed.key(no);
                copy.remove(engine, &key[..key_bytes])?;
                look(changed)?;
            }
            moves.rows_added.sort();
            let mut new = NewRow::default();
            for no in 0..moves.rows_added.len() {
                let (both, key_bytes) = moves.rows_added.key(no);
                let old_key = &both[key_bytes..];
                // Read again: the rows of a round may be more than memory should hold.
                let bytes = bytes_of(newer, reader, old_key)?.ok_or_else(|| Error::corrupt("a snapshot has lost a row"))?;
                copy.convert(old_key, reader.row_ref(&bytes)?, &mut new)?;
                if !copy.add(engine, &mut new)? {
                    return Err(BuildError::Duplicate { index_no: 0, row: new.bytes });
                }
                look(changed)?;
            }
        }
        for (no, ((index, tree), keys)) in self.indexes.iter().zip(&mut moves.added).enumerate() {
            keys.sort();
            for at in 0..keys.len() {
                let (key, user_bytes) = keys.key(at);
                let user = &key[..user_bytes];
                if index.unique && !key_has_null(self.keyed(), &index.parts, user)? && has_user_key(tree, user)? {
                    let row = row_of(&self.engine, self.copy.as_ref(), &mut self.newer, &self.reader, &key[user_bytes..])?;
                    return Err(BuildError::Duplicate { index_no: self.number_of(no), row });
                }
                put(tree, key, &new_entry_value(0, user_bytes))?;
                look(&self.changed)?;
            }
        }
        Ok(())
    }
}

impl Drop for OnlineBuild<'_> {
    fn drop(&mut self) {
        self.table.watch.set(None);
    }
}

impl std::fmt::Debug for OnlineBuild<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OnlineBuild(table {}, {:?}, {:?})", self.table.id, self.progress.stages().last(), self.changed)
    }
}

/// Why filling a tree ended early.
enum Stopped {
    Build(BuildError),
    /// What is behind the key of the second of two with one key: the primary key of an entry's row, or a stored row.
    Duplicate(Vec<u8>),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped::Build(error.into())
    }
}

/// What is to be removed and added.
struct Moves {
    /// Entries, by index.
    removed: Vec<Keys>,
    added: Vec<Keys>,
    /// Of rows that are copied: the new key, and behind it the old one.
    rows_removed: Keys,
    rows_added: Keys,
}

impl Moves {
    fn new(indexes: usize) -> Moves {
        let empty = || (0..indexes).map(|_| Keys::default()).collect();
        Moves { removed: empty(), added: empty(), rows_removed: Keys::default(), rows_added: Keys::default() }
    }

    /// Of the newest row's entries, those stay that it leaves and gets.
    fn cancel_out(&mut self) {
        for (removed, added) in self.removed.iter_mut().zip(&mut self.added) {
            if removed.last() == added.last() {
                removed.pop();
                added.pop();
            }
        }
    }

    fn bytes(&self) -> u64 {
        let entries = self.removed.iter().chain(&self.added);
        entries.chain([&self.rows_removed, &self.rows_added]).map(Keys::bytes).sum()
    }
}

fn look_at(cancel: &Cancel, changed: &ChangedKeys) -> BuildResult<()> {
    if cancel.is_cancelled() {
        return Err(Error::Killed.into());
    }
    if changed.has_overflown() { Err(BuildError::TooManyChanges) } else { Ok(()) }
}

/// The whole bytes of a row as `session` sees it.
fn bytes_of(session: &mut Session, reader: &Arc<Table>, key: &[u8]) -> Result<Option<Vec<u8>>> {
    session.get(reader, key, Read::Snapshot, |row: RowRef<'_>| row.bytes().to_vec())
}

/// The whole row that an entry is of, for a message.
fn row_of(engine: &Engine, copy: Option<&RowCopy<'_>>, session: &mut Session, reader: &Arc<Table>, key: &[u8]) -> Result<Vec<u8>> {
    match copy {
        Some(copy) => copy.row_at(engine, key),
        None => Ok(bytes_of(session, reader, key)?.unwrap_or_default()),
    }
}

/// Takes an entry out of a tree that is nobody else's; returns its value.
pub(crate) fn take(tree: &BTree, key: &[u8]) -> Result<Vec<u8>> {
    let mut leaf = tree.write(key)?;
    let Some(value) = leaf.found().map(<[u8]>::to_vec) else {
        return Err(Error::corrupt("an entry is missing in a tree under construction"));
    };
    leaf.remove(|_| {});
    let shrink = leaf.is_underfull();
    leaf.finish();
    if shrink {
        tree.shrink(key)?;
    }
    Ok(value)
}

/// Puts an entry into a tree that is nobody else's.
pub(crate) fn put(tree: &BTree, key: &[u8], value: &[u8]) -> Result<()> {
    loop {
        let mut leaf = tree.write(key)?;
        if leaf.found().is_some() {
            return Err(Error::corrupt("an entry is there twice in a tree under construction"));
        }
        match leaf.insert(value, |_| {})? {
            Ok(()) => {
                leaf.finish();
                return Ok(());
            }
            Err(btree::NoRoom) => {
                drop(leaf);
                tree.make_room(key, value.len())?;
            }
        }
    }
}

/// Whether some row has these user parts.
fn has_user_key(tree: &BTree, user: &[u8]) -> Result<bool> {
    let mut cursor = tree.cursor();
    cursor.seek(user, Seek::AtOrAfter)?;
    Ok(cursor.valid() && cursor.key().starts_with(user))
}
