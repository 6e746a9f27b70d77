//! What is there when all is over, by every way to read it.

use super::statement::{list_row, number};
use super::{DATABASE, ELEMENTS, GROUPS, LISTS, Run};
use crate::history::{Element, Group, History, Key};
use mysql::prelude::Queryable;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Sessions whose clients have gone end within this: longer is a hang.
pub(super) const DEADLINE: Duration = Duration::from_secs(120);

pub(super) fn read(run: &Run<'_>, history: &mut History) -> Result<(), String> {
    let (lists, sets, differences) = run.place.through_kills(|| {
        let mut end = History { preset: history.preset.clone(), ..History::default() };
        if run.settings.faults {
            wait_for_sessions(run)?;
        }
        look(run, &mut end)?;
        Ok((end.final_lists, end.final_sets, end.final_differences))
    })?;
    (history.final_lists, history.final_sets, history.final_differences) = (lists, sets, differences);
    Ok(())
}

/// What a client that was cut off had sent may still be done: until its session has ended.
fn wait_for_sessions(run: &Run<'_>) -> Result<(), String> {
    let mut connection = run.place.connect(None)?;
    let deadline = Instant::now() + DEADLINE;
    loop {
        let ids: Vec<String> = run.disturber.ids(run.place.lives()).iter().map(u32::to_string).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let sql = format!("SELECT id FROM information_schema.processlist WHERE id IN ({})", ids.join(", "));
        let left: Vec<u64> = connection.query(&sql).map_err(|error| format!("{sql}: {error}"))?;
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("sessions {left:?} have not ended after {DEADLINE:?}"));
        }
        std::thread::yield_now();
    }
}

fn look(run: &Run<'_>, history: &mut History) -> Result<(), String> {
    let mut connection = run.place.connect(Some(DATABASE))?;
    let mut ask = |sql: String| -> Result<Vec<Vec<mysql::Value>>, String> {
        let rows: Vec<mysql::Row> = connection.query(&sql).map_err(|error| format!("{sql}: {error}"))?;
        Ok(rows.into_iter().map(mysql::Row::unwrap).collect())
    };
    ask("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".into())?;
    let by_id = format!("id BETWEEN {} AND {}", run.list_id(0), run.list_id(LISTS - 1));
    let by_sk = format!("sk BETWEEN {} AND {}", run.list_sk(LISTS - 1), run.list_sk(0));
    let by_last = format!("last BETWEEN {} AND {}", run.stored(0), run.stored(ELEMENTS - 1));
    let mut lists: Option<BTreeMap<Key, Vec<Element>>> = None;
    for (index, place) in [("PRIMARY", by_id), ("sk", by_sk), ("last", by_last.clone())] {
        let mut found = BTreeMap::new();
        for row in ask(format!("SELECT id, last, v FROM lists FORCE INDEX ({index}) WHERE {place}"))? {
            let (key, list, odd) = list_row(run, &row);
            if let Some(odd) = odd {
                history.final_differences.push(format!("at the end, by index {index}: {odd:?}"));
            }
            if found.insert(key, list).is_some() {
                history.final_differences.push(format!("at the end, by index {index}: list {key} is there twice"));
            }
        }
        match &lists {
            None => lists = Some(found),
            Some(first) if *first != found => {
                history.final_differences.push(format!("at the end, by index {index}: {found:?}; by the primary key: {first:?}"));
            }
            Some(_) => {}
        }
    }
    let lists = lists.unwrap_or_default();
    let last: Vec<(Key, Element)> = ask(format!("SELECT id, last FROM lists FORCE INDEX (last) WHERE {by_last} ORDER BY id"))?
        .iter()
        .map(|row| (run.key_of_id(number(&row[0])), run.element_of(number(&row[1]))))
        .collect();
    let expected: Vec<(Key, Element)> = lists.iter().map(|(key, list)| (*key, list.last().copied().unwrap_or(0))).collect();
    if last != expected {
        history.final_differences.push(format!("at the end, by index last alone: {last:?}; by the primary key: {expected:?}"));
    }
    for key in history.preset.iter().filter(|key| !lists.contains_key(key)) {
        history.final_differences.push(format!("at the end list {key} is not there"));
    }
    history.final_lists = lists;
    let mut sets: Option<BTreeSet<(Element, Group)>> = None;
    let by_grp = format!("FORCE INDEX (grp) WHERE grp BETWEEN {} AND {}", run.group_id(0), run.group_id(GROUPS - 1));
    let by_id = format!("FORCE INDEX (PRIMARY) WHERE id BETWEEN {} AND {}", run.stored(0), run.stored(ELEMENTS - 1));
    for (columns, place) in [("id, grp, tag, pad", &by_id), ("id, grp, tag", &by_grp), ("id, grp, tag, pad", &by_grp)] {
        let rows = ask(format!("SELECT {columns} FROM sets {place}"))?;
        let found: BTreeSet<(Element, Group)> =
            rows.iter().map(|row| (run.element_of(number(&row[2])), run.group_of(number(&row[1])))).collect();
        if found.len() != rows.len() {
            history.final_differences.push(format!("at the end, {place}: a member is there twice"));
        }
        match &sets {
            None => sets = Some(found),
            Some(first) if *first != found => {
                history.final_differences.push(format!("at the end, {place}: {found:?}; by the primary key: {first:?}"));
            }
            Some(_) => {}
        }
    }
    history.final_sets = sets.unwrap_or_default();
    Ok(())
}
