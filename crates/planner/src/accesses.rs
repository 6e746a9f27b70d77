//! What a statement reads and changes, for the privileges that it needs: noted while it is bound, by table, whoever runs the plan.
//!
//! # Invariants
//! 1. A plan notes all that it touches for its user: each table or view of a FROM clause or of a change, and each column that is named there. What the
//!    server reads by itself (stored expressions, foreign keys, columns found again behind an expression) is not noted.
//! 2. Tables of `information_schema` are noted only where they need a privilege: their rows show what the reader may see.
//! 3. Before a table is looked up the session is asked whether its user may do anything of the kind with it
//!    ([`crate::PlanContext::may_use`]), so that nobody learns by errors what there is.

use crate::binder::{Binder, Relation, Result, Source};
use crate::plan::InsertColumn;
use crate::views::{InsertTarget, ViewLink, view_links};
use accounts::{AccountName, Privileges};
use catalog::ViewDef;
use std::sync::Arc;

/// A column that a statement touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnAccess {
    /// Its name.
    pub name: Box<str>,
    /// What is done with it.
    pub wants: Privileges,
    /// All columns are meant (`*`, or INSERT without a list): the refusal names the table.
    pub all: bool,
}

/// A table that a statement touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Database.
    pub database: Box<str>,
    /// Table.
    pub table: Box<str>,
    /// What it takes on the table as a whole.
    pub wants: Privileges,
    /// What it takes on the table or on some column of it.
    pub wants_some: Privileges,
    /// Its rows are locked (`FOR UPDATE`): UPDATE, DELETE or LOCK TABLES is needed for some of it.
    pub locks: bool,
    /// Columns.
    pub columns: Vec<ColumnAccess>,
    /// Whose privileges count: those of a view's definer, or of who runs the statement.
    pub rights_of: Option<Arc<AccountName>>,
    /// The view that the statement names, where the table is behind one (database, name): a refusal tells that alone.
    pub behind: Option<Arc<(String, String)>>,
}

/// Whose rights count outside of a view, and the view behind which that is.
pub(crate) type Outside = (Option<Arc<AccountName>>, Option<Arc<(String, String)>>);

/// What has been noted.
#[derive(Debug, Default)]
pub struct Accesses {
    /// By table, in the order in which they were met.
    pub list: Vec<Access>,
    /// What the next table of a FROM clause is wanted for, where that is not SELECT.
    pub next: Option<Privileges>,
    /// Tables that take no privileges: temporary ones.
    pub own: Vec<(Box<str>, Box<str>)>,
    /// All columns are being named at once.
    pub all_columns: bool,
    /// What is bound now is no doing of the statement's writer.
    pub silent: bool,
    /// A view's definer, while what is behind the view is bound.
    pub rights_of: Option<Arc<AccountName>>,
    /// The outermost view, meanwhile.
    pub behind: Option<Arc<(String, String)>>,
}

impl Accesses {
    /// The note of a table.
    pub fn table(&mut self, database: &str, table: &str) -> &mut Access {
        let rights_of = &self.rights_of;
        let behind = &self.behind;
        let same = |a: &Access| *a.table == *table && *a.database == *database && a.rights_of == *rights_of && a.behind == *behind;
        let at = match self.list.iter().position(same) {
            Some(at) => at,
            None => {
                self.list.push(Access {
                    database: database.into(),
                    table: table.into(),
                    wants: Privileges::NONE,
                    wants_some: Privileges::NONE,
                    locks: false,
                    columns: Vec::new(),
                    rights_of: rights_of.clone(),
                    behind: behind.clone(),
                });
                self.list.len() - 1
            }
        };
        &mut self.list[at]
    }

    /// Notes what is wanted of a table as a whole.
    pub fn whole(&mut self, database: &str, table: &str, wants: Privileges) {
        if !self.is_own(database, table) {
            let access = self.table(database, table);
            access.wants = access.wants.with(wants);
        }
    }

    /// Notes that rows of a table or a view are locked.
    fn locked(&mut self, database: &str, table: &str) {
        if !self.is_own(database, table) {
            self.table(database, table).locks = true;
        }
    }

    fn is_own(&self, database: &str, table: &str) -> bool {
        self.own.iter().any(|(of, name)| **of == *database && **name == *table)
    }

    /// Steps behind a view: what is noted from now on is of its definer's rights, unless it says otherwise. What held before is given back.
    pub(crate) fn step_behind(&mut self, view: &ViewDef) -> Outside {
        let before = (self.rights_of.clone(), self.behind.clone());
        if !view.invoker {
            let definer = AccountName { user: view.definer_user.clone(), host: view.definer_host.clone() };
            self.rights_of = Some(Arc::new(definer));
        }
        if self.behind.is_none() {
            self.behind = Some(Arc::new((view.database.clone(), view.name.clone())));
        }
        before
    }

    /// Steps out again.
    pub(crate) fn step_out(&mut self, before: Outside) {
        (self.rights_of, self.behind) = before;
    }

    /// Notes a column.
    pub fn column(&mut self, database: &str, table: &str, column: &str, wants: Privileges) {
        if self.is_own(database, table) {
            return;
        }
        let all = self.all_columns;
        let columns = &mut self.table(database, table).columns;
        match columns.iter_mut().find(|known| known.all == all && *known.name == *column) {
            Some(known) => known.wants = known.wants.with(wants),
            None => columns.push(ColumnAccess { name: column.into(), wants, all }),
        }
    }
}

/// What changes note.
impl Binder<'_> {
    /// INSERT or REPLACE names columns, or all of them.
    pub(crate) fn access_inserted(&mut self, database: &str, target: &InsertTarget, named: &[usize], all: bool, replace: bool) {
        let def = &target.entry.def;
        self.accesses.all_columns = all;
        let outside = self.through_links(&target.links, named, Privileges::INSERT, replace);
        let database = if target.links.is_empty() { database } else { &def.database };
        for at in named {
            self.accesses.column(database, &def.name, &def.columns[*at].name, Privileges::INSERT);
        }
        self.accesses.all_columns = false;
        if replace {
            self.accesses.whole(database, &def.name, Privileges::DELETE);
        }
        self.accesses.step_out(outside);
    }

    /// The same of LOAD DATA.
    pub(crate) fn access_written(&mut self, database: &str, target: &InsertTarget, targets: &[InsertColumn], all: bool, replace: bool) {
        let named: Vec<usize> = (0..targets.len()).filter(|at| matches!(targets[*at], InsertColumn::Source(_))).collect();
        self.access_inserted(database, target, &named, all, replace);
    }

    /// ON DUPLICATE KEY UPDATE sets a column.
    pub(crate) fn access_changed(&mut self, target: &InsertTarget, column: usize) {
        let def = &target.entry.def;
        let outside = self.through_links(&target.links, &[column], Privileges::UPDATE, false);
        self.accesses.column(&def.database, &def.name, &def.columns[column].name, Privileges::UPDATE);
        self.accesses.step_out(outside);
    }

    /// Notes a change on each of the views that lead to a table, from the outermost inward, and steps behind them.
    fn through_links(&mut self, links: &[ViewLink], columns: &[usize], wants: Privileges, replace: bool) -> Outside {
        let outside = (self.accesses.rights_of.clone(), self.accesses.behind.clone());
        for link in links {
            let def = &link.view.def;
            for column in columns {
                match link.columns.iter().find(|(_, at)| at == column) {
                    Some((name, _)) => self.accesses.column(&def.database, &def.name, name, wants),
                    None => self.accesses.whole(&def.database, &def.name, wants),
                }
            }
            if replace {
                self.accesses.whole(&def.database, &def.name, Privileges::DELETE);
            }
            self.accesses.step_behind(def);
        }
        outside
    }

    /// UPDATE sets a column of a table, which may be behind views.
    pub(crate) fn access_assigned(&mut self, depth: usize, relation: usize, column: usize) {
        let links = view_links(&self.scopes[depth], relation);
        let outside = self.through_links(&links, &[column], Privileges::UPDATE, false);
        let Relation { source, database, .. } = &self.scopes[depth].relations[relation];
        if let Source::Base(table) = source {
            let def = &self.tables[*table as usize].def;
            self.accesses.column(database, &def.name, &def.columns[column].name, Privileges::UPDATE);
        }
        self.accesses.step_out(outside);
    }

    /// DELETE takes rows of a table, which may be behind views.
    pub(crate) fn access_deleted(&mut self, depth: usize, relation: usize) {
        let links = view_links(&self.scopes[depth], relation);
        let outside = self.through_links(&links, &[], Privileges::NONE, true);
        let Relation { source, database, .. } = &self.scopes[depth].relations[relation];
        if let Source::Base(table) = source {
            self.accesses.whole(database, &self.tables[*table as usize].def.name, Privileges::DELETE);
        }
        self.accesses.step_out(outside);
    }

    /// A column is read of the row that a change through views has found.
    #[cold]
    fn access_read_through(&mut self, depth: usize, relation: usize, column: usize) {
        let Relation { source, links, .. } = &self.scopes[depth].relations[relation];
        let Source::Base(table) = *source else { return };
        let links = Arc::clone(links);
        let outside = self.through_links(&links, &[column], Privileges::SELECT, false);
        let def = &self.tables[table as usize].def;
        self.accesses.column(&def.database, &def.name, &def.columns[column].name, Privileges::SELECT);
        self.accesses.step_out(outside);
    }

    /// A locking clause locks a relation's rows, which may be behind views: each asks for it of whom it is read for.
    pub(crate) fn access_locked(&mut self, depth: usize, relation: usize) {
        let Relation { source, database, view, .. } = &self.scopes[depth].relations[relation];
        if let Some(view) = view {
            self.accesses.locked(&view.def.database, &view.def.name);
        }
        let Source::Base(table) = *source else { return };
        let outside = (self.accesses.rights_of.clone(), self.accesses.behind.clone());
        for link in view_links(&self.scopes[depth], relation) {
            self.accesses.locked(&link.view.def.database, &link.view.def.name);
            self.accesses.step_behind(&link.view.def);
        }
        self.accesses.locked(database, &self.tables[table as usize].def.name);
        self.accesses.step_out(outside);
    }
}

impl Binder<'_> {
    /// A FROM clause or a change names a table: asks for it, and notes it.
    pub(crate) fn access_table(&mut self, database: &str, table: &str, wants: Privileges) -> Result<()> {
        if self.accesses.silent {
            return Ok(());
        }
        let asks = self.accesses.rights_of.is_none() && self.accesses.behind.is_none();
        if asks && !self.context.may_use(database, table, wants)? {
            self.accesses.own.push((database.into(), table.into()));
            return Ok(());
        }
        let access = self.accesses.table(database, table);
        access.wants_some = access.wants_some.with(wants);
        Ok(())
    }

    /// A FROM clause names a table.
    pub(crate) fn access_in_from(&mut self, database: &str, table: &str) -> Result<()> {
        let wants = self.accesses.next.take().unwrap_or(Privileges::SELECT);
        self.access_table(database, table, wants)
    }

    /// A column of a relation is read.
    pub(crate) fn access_column(&mut self, depth: usize, relation: usize, column: usize) {
        if self.accesses.silent {
            return;
        }
        let Relation { source, database, columns, view, links, .. } = &self.scopes[depth].relations[relation];
        if !links.is_empty() && !database.is_empty() {
            return self.access_read_through(depth, relation, column);
        }
        match source {
            // Of a view it is the view's column, whatever that is made of: what is behind was noted when the view was bound.
            Source::Merged(merged) => {
                let def = &merged.view.def;
                self.accesses.column(&def.database, &def.name, &columns[column].name, Privileges::SELECT);
            }
            _ if view.is_some() => {
                let Some(view) = view else { return };
                self.accesses.column(&view.def.database, &view.def.name, &columns[column].name, Privileges::SELECT);
            }
            // A relation without a database is the row that an INSERT makes.
            Source::Base(table) if !database.is_empty() => {
                let def = &self.tables[*table as usize].def;
                let Some(name) = def.columns.get(column).map(|c| c.name.as_str()) else { return };
                self.accesses.column(database, &def.name, name, Privileges::SELECT);
            }
            Source::Virtual(def) if def.database != "information_schema" => {
                self.accesses.column(def.database, def.name, &columns[column].name, Privileges::SELECT);
            }
            _ => {}
        }
    }
}
