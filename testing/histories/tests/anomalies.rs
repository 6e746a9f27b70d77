//! The checker's own test: hand-made histories, one for each anomaly; the checker must name it, and nothing where nothing is wrong.

use histories::history::{Element, End, Event, Group, History, Key, Reading, Statement, Txn};
use histories::{Kind, Level, check};

/// One statement of a transaction of the history, at a time of its own.
#[derive(Clone)]
enum Do {
    /// A plain read.
    Read(Key, &'static [Element]),
    /// Several lists by one plain statement.
    ReadBoth((Key, &'static [Element]), (Key, &'static [Element])),
    /// A plain read that finds no row.
    Absent(Key),
    /// A locking read that finds no row.
    AbsentLocked(Key),
    /// A locking read.
    Lock(Key, &'static [Element]),
    /// The newest element by an index.
    Last(Key, Element),
    Append(Key, Element),
    Sets(Group, Group, &'static [(Element, Group)]),
    SetsLocked(Group, Group, &'static [(Element, Group)]),
    Insert(Element, Group),
    Remove(Element, Group),
    Savepoint,
    Back,
    /// RELEASE SAVEPOINT of the last one.
    Release,
    Commit,
    Rollback,
    /// COMMIT is sent, and nothing comes back.
    Lose,
    /// The commit is sent here and answered by the next `Commit`.
    SendCommit,
}
use Do::*;

/// Steps of transactions in the order of real time; each takes two moments and the next begins after it.
fn history(level: Level, steps: &[(usize, Do)], lists: &[(Key, &[Element])], sets: &[(Element, Group)]) -> History {
    let count = steps.iter().map(|(txn, _)| txn + 1).max().unwrap_or(0);
    let new = |client| Txn { client, level, autocommit: false, snapshot: None, statements: vec![], end: End::Aborted };
    let mut txns: Vec<Txn> = (0..count).map(new).collect();
    let mut sent_commit = vec![None; count];
    for (at, (txn, step)) in steps.iter().enumerate() {
        let (sent, answered) = (at as u64 * 10, at as u64 * 10 + 5);
        let list = |list: &[Element]| Some(list.to_vec());
        let (plain, current) = (Reading::Plain, Reading::Current);
        let members = |members: &[(Element, Group)]| members.to_vec();
        let (reading, events) = match step.clone() {
            Read(key, found) => (plain, vec![Event::Read { key, list: list(found) }]),
            ReadBoth((a, one), (b, two)) => (plain, vec![Event::Read { key: a, list: list(one) }, Event::Read { key: b, list: list(two) }]),
            Absent(key) => (plain, vec![Event::Read { key, list: None }]),
            AbsentLocked(key) => (current, vec![Event::Read { key, list: None }]),
            Lock(key, found) => (current, vec![Event::Read { key, list: list(found) }]),
            Last(key, last) => (plain, vec![Event::ReadLast { key, last: Some(last) }]),
            Append(key, element) => (current, vec![Event::Append { key, element }]),
            Sets(from, to, found) => (plain, vec![Event::ReadSets { groups: (from, to), members: members(found) }]),
            SetsLocked(from, to, found) => (current, vec![Event::ReadSets { groups: (from, to), members: members(found) }]),
            Insert(element, group) => (current, vec![Event::Insert { element, group }]),
            Remove(element, group) => (current, vec![Event::Remove { element, group }]),
            Savepoint => (current, vec![Event::Savepoint]),
            Back => (current, vec![Event::RollbackToSavepoint]),
            Release => (current, vec![Event::ReleaseSavepoint]),
            Commit => {
                txns[*txn].end = End::Committed { sent: sent_commit[*txn].unwrap_or(sent), answered };
                continue;
            }
            Rollback => continue,
            Lose => {
                txns[*txn].end = End::Unknown { sent };
                continue;
            }
            SendCommit => {
                sent_commit[*txn] = Some(sent);
                continue;
            }
        };
        txns[*txn].statements.push(Statement { sql: format!("step {at}"), sent, answered, reading, events });
    }
    History {
        txns,
        preset: [1, 2, 3].into(),
        final_lists: lists.iter().map(|(key, list)| (*key, list.to_vec())).collect(),
        final_sets: sets.iter().copied().collect(),
        final_differences: vec![],
        without_gaps: false,
    }
}

#[track_caller]
fn finds(level: Level, kind: Kind, history: &History) {
    let report = check(history);
    assert!(
        report.violations.iter().any(|anomaly| anomaly.kind == kind),
        "{}: expected {kind}, found {:?}\n{}",
        level.name(),
        report.violations.iter().map(|a| a.kind).collect::<Vec<_>>(),
        report.describe(history)
    );
}

#[track_caller]
fn accepts(level: Level, history: &History) {
    let report = check(history);
    assert!(report.violations.is_empty(), "{}:\n{}", level.name(), report.describe(history));
}

/// At each level: named, or accepted.
#[track_caller]
fn judge(kind: Kind, forbidden: &[Level], steps: &[(usize, Do)], lists: &[(Key, &[Element])], sets: &[(Element, Group)]) {
    for level in Level::ALL {
        let history = history(level, steps, lists, sets);
        if forbidden.contains(&level) { finds(level, kind, &history) } else { accepts(level, &history) }
    }
}

const ALL: &[Level] = &Level::ALL;
const CLEAN: &[Level] = &[Level::ReadCommitted, Level::RepeatableRead, Level::SnapshotIsolation, Level::Serializable];
const REPEATABLE: &[Level] = &[Level::RepeatableRead, Level::SnapshotIsolation, Level::Serializable];
const STRICT: &[Level] = &[Level::SnapshotIsolation, Level::Serializable];
const SERIAL: &[Level] = &[Level::Serializable];

#[test]
fn one_after_the_other_is_accepted_at_every_level() {
    let steps = [
        (0, Append(1, 10)),
        (0, Read(1, &[10])),
        (0, Insert(50, 1)),
        (0, Commit),
        (1, Read(1, &[10])),
        (1, Last(1, 10)),
        (1, Absent(7)),
        (1, Append(1, 11)),
        (1, Append(2, 12)),
        (1, Read(1, &[10, 11])),
        (1, Sets(0, 3, &[(50, 1)])),
        (1, Remove(50, 1)),
        (1, Insert(51, 2)),
        (1, Sets(0, 3, &[(51, 2)])),
        (1, Commit),
        (2, Append(1, 13)),
        (2, Savepoint),
        (2, Append(2, 14)),
        (2, Read(2, &[12, 14])),
        (2, Back),
        (2, Read(2, &[12])),
        (2, Append(7, 15)),
        (2, Rollback),
        (3, ReadBoth((1, &[10, 11]), (2, &[12]))),
        (3, Last(3, 0)),
        (3, Sets(0, 3, &[(51, 2)])),
        (3, Commit),
    ];
    judge(Kind::G0, &[], &steps, &[(1, &[10, 11]), (2, &[12]), (3, &[])], &[(51, 2)]);
}

#[test]
fn g0_is_named() {
    let steps = [(0, Append(1, 10)), (1, Append(1, 11)), (1, Append(2, 12)), (0, Append(2, 13)), (0, Commit), (1, Commit)];
    judge(Kind::G0, ALL, &steps, &[(1, &[10, 11]), (2, &[12, 13])], &[]);
}

#[test]
fn g1a_is_named_also_for_sets_and_readers_that_roll_back() {
    for last in [Commit, Rollback] {
        judge(Kind::G1a, CLEAN, &[(0, Append(1, 10)), (1, Read(1, &[10])), (0, Rollback), (1, last.clone())], &[(1, &[])], &[]);
        judge(Kind::G1a, CLEAN, &[(0, Append(1, 10)), (1, Last(1, 10)), (0, Rollback), (1, last.clone())], &[(1, &[])], &[]);
        judge(Kind::G1a, CLEAN, &[(0, Insert(50, 1)), (1, Sets(1, 1, &[(50, 1)])), (0, Rollback), (1, last)], &[], &[]);
    }
    // A locking read sees no aborted write at any level.
    judge(Kind::G1a, ALL, &[(0, Append(1, 10)), (1, Lock(1, &[10])), (0, Rollback), (1, Commit)], &[(1, &[])], &[]);
    // Nor is what a savepoint took back ever there for others.
    let steps = [(0, Savepoint), (0, Append(1, 10)), (1, Read(1, &[10])), (0, Back), (0, Commit), (1, Commit)];
    judge(Kind::G1a, CLEAN, &steps, &[(1, &[])], &[]);
}

#[test]
fn g1b_is_named() {
    let steps = [(0, Append(1, 10)), (1, Read(1, &[10])), (0, Append(1, 11)), (0, Commit), (1, Commit)];
    judge(Kind::G1b, CLEAN, &steps, &[(1, &[10, 11])], &[]);
    let steps = [(0, Insert(50, 1)), (1, Sets(0, 3, &[(50, 1)])), (0, Remove(50, 1)), (0, Commit), (1, Commit)];
    judge(Kind::G1b, CLEAN, &steps, &[], &[]);
}

#[test]
fn g1c_is_named() {
    // Each sees the other's write: one of the two reads was dirty.
    let steps = [(0, Append(1, 10)), (1, Append(2, 11)), (0, Lock(2, &[11])), (1, Lock(1, &[10])), (0, Commit), (1, Commit)];
    judge(Kind::G1c, ALL, &steps, &[(1, &[10]), (2, &[11])], &[]);
}

#[test]
fn a_dirty_read_of_what_commits_later_is_named() {
    let steps = [(0, Append(1, 10)), (1, Read(1, &[10])), (1, Commit), (0, Commit)];
    judge(Kind::Realtime, CLEAN, &steps, &[(1, &[10])], &[]);
}

#[test]
fn a_fractured_read_of_one_statement_is_named() {
    // One list as before the other transaction, the other list as after it.
    let steps = [(0, Append(1, 10)), (0, Append(2, 11)), (0, SendCommit), (1, ReadBoth((1, &[]), (2, &[11]))), (0, Commit), (1, Commit)];
    for level in [Level::ReadCommitted, Level::RepeatableRead, Level::SnapshotIsolation] {
        finds(level, Kind::Fractured, &history(level, &steps, &[(1, &[10]), (2, &[11])], &[]));
    }
    let steps = [(0, Insert(50, 1)), (0, Insert(51, 2)), (0, SendCommit), (1, Sets(1, 2, &[(51, 2)])), (0, Commit), (1, Rollback)];
    for level in [Level::ReadCommitted, Level::RepeatableRead, Level::SnapshotIsolation] {
        finds(level, Kind::Fractured, &history(level, &steps, &[], &[(50, 1), (51, 2)]));
    }
}

#[test]
fn read_skew_over_statements_is_named_where_a_transaction_has_one_snapshot() {
    let steps = [(1, Read(1, &[])), (0, Append(1, 10)), (0, Append(2, 11)), (0, Commit), (1, Read(2, &[11])), (1, Commit)];
    for level in [Level::RepeatableRead, Level::SnapshotIsolation] {
        finds(level, Kind::Fractured, &history(level, &steps, &[(1, &[10]), (2, &[11])], &[]));
    }
    finds(Level::Serializable, Kind::GSingle, &history(Level::Serializable, &steps, &[(1, &[10]), (2, &[11])], &[]));
    let report = check(&history(Level::ReadCommitted, &steps, &[(1, &[10]), (2, &[11])], &[]));
    assert!(report.violations.is_empty() && report.allowed.contains_key(&Kind::GSingle), "{report:?}");
}

#[test]
fn g_single_over_three_transactions_is_named() {
    let steps = [
        (2, Read(1, &[])),
        (0, Append(1, 10)),
        (0, Commit),
        (1, Lock(1, &[10])),
        (1, Append(2, 11)),
        (1, Commit),
        (2, Read(2, &[11])),
        (2, Rollback),
    ];
    for level in [Level::RepeatableRead, Level::SnapshotIsolation] {
        finds(level, Kind::GSingle, &history(level, &steps, &[(1, &[10]), (2, &[11])], &[]));
    }
}

#[test]
fn a_lost_update_is_named_under_snapshot_isolation_and_serializable() {
    let steps = [(0, Read(1, &[])), (1, Append(1, 10)), (1, Commit), (0, Append(1, 11)), (0, Commit)];
    judge(Kind::LostUpdate, STRICT, &steps, &[(1, &[10, 11])], &[]);
    // What was read by a lock stays as it is.
    let steps = [(0, Lock(1, &[])), (1, Append(1, 10)), (1, Commit), (0, Append(1, 11)), (0, Commit)];
    judge(Kind::LostUpdate, ALL, &steps, &[(1, &[10, 11])], &[]);
}

#[test]
fn read_skew_through_a_write_is_named_under_snapshot_isolation() {
    // The snapshot is older than T1, the write is upon T1: not the same row, so no lost update.
    let steps = [(0, Read(2, &[])), (1, Append(1, 10)), (1, Append(2, 11)), (1, Commit), (0, Append(1, 12)), (0, Commit)];
    judge(Kind::GSingle, STRICT, &steps, &[(1, &[10, 12]), (2, &[11])], &[]);
}

#[test]
fn write_skew_is_named_at_serializable_only() {
    let steps = [
        (0, Read(1, &[])),
        (0, Read(2, &[])),
        (1, Read(1, &[])),
        (1, Read(2, &[])),
        (0, Append(1, 10)),
        (1, Append(2, 11)),
        (0, Commit),
        (1, Commit),
    ];
    judge(Kind::G2, SERIAL, &steps, &[(1, &[10]), (2, &[11])], &[]);
}

#[test]
fn phantoms_are_named_where_gaps_are_locked() {
    let steps = [(0, SetsLocked(1, 1, &[])), (1, SetsLocked(1, 1, &[])), (0, Insert(50, 1)), (1, Insert(51, 1)), (0, Commit), (1, Commit)];
    judge(Kind::G2, REPEATABLE, &steps, &[], &[(50, 1), (51, 1)]);
    let steps = [(0, Sets(1, 1, &[])), (1, Sets(1, 1, &[])), (0, Insert(50, 1)), (1, Insert(51, 1)), (0, Commit), (1, Commit)];
    judge(Kind::G2, SERIAL, &steps, &[], &[(50, 1), (51, 1)]);
    let steps = [(0, AbsentLocked(7)), (1, AbsentLocked(8)), (0, Append(8, 50)), (1, Append(7, 51)), (0, Commit), (1, Commit)];
    judge(Kind::G2, REPEATABLE, &steps, &[(7, &[51]), (8, &[50])], &[]);
}

#[test]
fn a_cycle_that_snapshot_isolation_forbids_without_neighbouring_anti_dependencies_is_named() {
    // T0 -rw-> T1 -wr-> T2 -rw-> T3 -wr-> T0.
    let steps = [
        (0, Read(1, &[])),
        (1, Append(1, 10)),
        (1, Commit),
        (2, Read(1, &[10])),
        (2, Read(2, &[])),
        (3, Append(2, 11)),
        (3, Commit),
        (0, Read(2, &[11])),
        (0, Append(3, 12)),
        (2, Commit),
        (0, Commit),
    ];
    finds(
        Level::SnapshotIsolation,
        Kind::GNonadjacent,
        &history(Level::SnapshotIsolation, &steps, &[(1, &[10]), (2, &[11]), (3, &[12])], &[]),
    );
}

#[test]
fn a_stale_snapshot_is_named() {
    let steps = [(0, Append(1, 10)), (0, Commit), (1, Read(1, &[])), (1, Commit)];
    judge(Kind::Realtime, CLEAN, &steps, &[(1, &[10])], &[]);
    let steps = [(0, Insert(50, 1)), (0, Commit), (1, Sets(1, 1, &[])), (1, Commit)];
    judge(Kind::Realtime, CLEAN, &steps, &[], &[(50, 1)]);
}

#[test]
fn own_writes_must_be_seen_and_own_rollbacks_not() {
    judge(Kind::Internal, ALL, &[(0, Append(1, 10)), (0, Read(1, &[])), (0, Commit)], &[(1, &[10])], &[]);
    judge(Kind::Internal, ALL, &[(0, Append(1, 10)), (0, Last(1, 0)), (0, Commit)], &[(1, &[10])], &[]);
    judge(Kind::Internal, ALL, &[(0, Savepoint), (0, Append(1, 10)), (0, Back), (0, Read(1, &[10])), (0, Commit)], &[(1, &[])], &[]);
    judge(Kind::Internal, ALL, &[(0, Insert(50, 1)), (0, Sets(0, 9, &[])), (0, Commit)], &[], &[(50, 1)]);
    judge(Kind::Internal, ALL, &[(0, Append(7, 10)), (0, Absent(7)), (0, Commit)], &[(7, &[10])], &[]);
}

#[test]
fn what_the_end_shows_is_compared_with_what_was_acknowledged() {
    judge(Kind::LostCommit, ALL, &[(0, Append(1, 10)), (0, Commit)], &[(1, &[])], &[]);
    judge(Kind::LostCommit, ALL, &[(0, Insert(50, 1)), (0, Commit)], &[], &[]);
    judge(Kind::Resurrected, ALL, &[(0, Append(1, 10)), (0, Rollback)], &[(1, &[10])], &[]);
    judge(Kind::Resurrected, ALL, &[(0, Insert(50, 1)), (0, Rollback)], &[], &[(50, 1)]);
    judge(Kind::Garbage, ALL, &[(0, Append(1, 10)), (0, Commit)], &[(1, &[10, 10])], &[]);
    judge(Kind::Garbage, ALL, &[(0, Append(1, 10)), (0, Commit)], &[(1, &[10, 99])], &[]);
    judge(Kind::TornCommit, ALL, &[(0, Append(1, 10)), (0, Append(2, 11)), (0, Lose)], &[(1, &[10]), (2, &[])], &[]);
}

#[test]
fn a_commit_without_an_answer_may_have_happened_or_not() {
    for end in [&[10][..], &[]] {
        judge(Kind::TornCommit, &[], &[(0, Append(1, 10)), (0, Lose)], &[(1, end)], &[]);
    }
}

#[test]
fn what_a_plain_read_saw_must_not_be_taken_back_by_a_crash() {
    let steps = [(0, Append(1, 10)), (0, Lose), (1, Read(1, &[10])), (1, Rollback)];
    judge(Kind::G1a, CLEAN, &steps, &[(1, &[])], &[]);
    // A reader that locked and was not told that it has committed may have seen it.
    judge(Kind::G1a, &[], &[(0, Append(1, 10)), (0, Lose), (1, Lock(1, &[10])), (1, Rollback)], &[(1, &[])], &[]);
    judge(Kind::G1a, ALL, &[(0, Append(1, 10)), (0, Lose), (1, Lock(1, &[10])), (1, Commit)], &[(1, &[])], &[]);
}

#[test]
fn rows_that_are_always_there_must_be_found_once() {
    judge(Kind::LostRow, CLEAN, &[(0, Absent(1)), (0, Commit)], &[(1, &[])], &[]);
    let steps = [(0, Insert(50, 1)), (0, Commit), (1, Sets(0, 9, &[(50, 1), (50, 1)])), (1, Commit)];
    judge(Kind::LostRow, CLEAN, &steps, &[], &[(50, 1)]);
}

#[test]
fn two_orders_of_one_list_are_named() {
    let steps = [(0, Append(1, 10)), (1, Append(1, 11)), (0, Commit), (1, Commit), (2, Read(1, &[11, 10])), (2, Commit)];
    judge(Kind::IncompatibleOrder, CLEAN, &steps, &[(1, &[10, 11])], &[]);
}

#[test]
fn who_takes_a_member_out_shows_that_it_came() {
    // T0's insert had no answer; T1 found it and took it out, T2 had seen it before.
    let steps = [(0, Insert(50, 1)), (0, Lose), (2, Sets(1, 1, &[(50, 1)])), (2, Commit), (1, Remove(50, 1)), (1, Commit)];
    judge(Kind::G1a, &[], &steps, &[], &[]);
}

#[test]
fn a_removal_without_an_answer_shows_where_the_member_came_by_other_traces() {
    // Neither commit was answered. That 51 is there shows that T0 has committed, so T1 must have taken 50 out.
    let steps = [(0, Insert(50, 1)), (0, Insert(51, 1)), (0, Lose), (1, Remove(50, 1)), (1, Lose)];
    judge(Kind::LostCommit, &[], &steps, &[], &[(51, 1)]);
}

#[test]
fn a_removal_without_an_answer_of_what_was_taken_back_shows_nothing() {
    // T1 may have found nothing to move.
    let moved = [(1, Remove(50, 1)), (1, Insert(51, 2)), (1, Lose)];
    let steps = [&[(0, Savepoint), (0, Insert(50, 1)), (0, Back), (0, Commit)][..], &moved].concat();
    judge(Kind::LostCommit, &[], &steps, &[], &[]);
}

#[test]
fn one_of_two_removals_without_an_answer_may_have_been_the_one() {
    let came = [(0, Insert(50, 1)), (0, Commit)];
    let moved = [(1, Remove(50, 1)), (1, Insert(51, 2)), (1, Lose)];
    let removed = [(2, Remove(50, 1)), (2, Lose)];
    // T1 has not committed: 51 is not there. So it was T2.
    let first_did_not = [&came[..], &moved, &removed].concat();
    judge(Kind::LostCommit, &[], &first_did_not, &[], &[]);
    // Either.
    let again = [(1, Remove(50, 1)), (1, Lose)];
    judge(Kind::LostCommit, &[], &[&came[..], &again, &removed].concat(), &[], &[]);
    // T1 alone, which has left no trace of 51.
    judge(Kind::TornCommit, ALL, &[&came[..], &moved].concat(), &[], &[]);
    // T2 after T1, whose 51 is there: it cannot have found 50, and need not have.
    judge(Kind::LostCommit, &[], &first_did_not, &[], &[(51, 2)]);
}

#[test]
fn a_member_that_was_seen_came_where_neither_that_nor_its_removal_was_answered() {
    let (came, removed) = ([(0, Insert(50, 1)), (0, Lose)], [(2, Remove(50, 1)), (2, Lose)]);
    let seen = [(1, Sets(1, 1, &[(50, 1)])), (1, Commit)];
    judge(Kind::G1a, &[], &[&came[..], &seen, &removed].concat(), &[], &[]);
    // Nobody has taken it out.
    judge(Kind::G1a, CLEAN, &[&came[..], &seen].concat(), &[], &[]);
}

#[test]
fn savepoints_within_one_another_take_back_what_came_since() {
    let steps = [
        (0, Append(1, 10)),
        (0, Savepoint),
        (0, Append(1, 11)),
        (0, Savepoint),
        (0, Append(1, 12)),
        (0, Read(1, &[10, 11, 12])),
        (0, Back),
        (0, Read(1, &[10, 11])),
        (0, Release),
        (0, Back),
        (0, Read(1, &[10])),
        (0, Commit),
    ];
    judge(Kind::Internal, &[], &steps, &[(1, &[10])], &[]);
    judge(Kind::Resurrected, ALL, &steps, &[(1, &[10, 11])], &[]);
    judge(Kind::LostCommit, ALL, &steps, &[(1, &[])], &[]);
}

#[test]
fn a_snapshot_may_be_as_old_as_the_read_that_failed() {
    let steps = [(0, Append(1, 10)), (0, Commit), (1, Read(1, &[])), (1, Read(1, &[])), (1, Commit)];
    let mut later = history(Level::RepeatableRead, &steps, &[(1, &[10])], &[]);
    finds(Level::RepeatableRead, Kind::Realtime, &later);
    let failed = &mut later.txns[1].statements[0];
    (failed.events, failed.sent, failed.answered) = (vec![Event::TriedRead], 0, 1);
    accepts(Level::RepeatableRead, &later);
}

#[test]
fn a_row_that_does_not_fit_together_is_named() {
    let mut odd = history(Level::ReadCommitted, &[(0, Append(1, 10)), (0, Commit)], &[(1, &[10])], &[]);
    odd.txns[0].statements[0].events.push(Event::Oddity("two columns differ".into()));
    finds(Level::ReadCommitted, Kind::TornRow, &odd);
    let mut odd = history(Level::ReadCommitted, &[(0, Append(1, 10)), (0, Commit)], &[(1, &[10])], &[]);
    odd.final_differences.push("two indexes differ".into());
    finds(Level::ReadCommitted, Kind::TornRow, &odd);
}
