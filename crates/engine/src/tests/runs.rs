//! Scans by runs show what scans row by row show.

use super::*;

/// (id, k, s) of what a reader sees in a range, by runs of some lengths; how many of the rows were plain.
fn by_runs(f: &Fixture, session: &mut Session, range: &KeyRange, direction: Direction, r: &mut Random) -> (Vec<(i64, i64, String)>, usize) {
    let (mut rows, mut plain) = (Vec::new(), 0);
    let mut state = None;
    loop {
        let mut scan = match state.take() {
            None => session.scan(&f.table, 0, range.clone(), direction, Read::Snapshot).unwrap(),
            Some(state) => session.resume(state),
        };
        let most = r.pick(&[1, 2, 7, 64, 65, 1000]);
        let stops = r.below(3) == 0;
        let before = rows.len();
        let more = scan
            .for_each_run(most, |run| {
                match run {
                    Run::Row(row) => rows.push(whole(row)),
                    Run::Plain(layout, run) => {
                        assert!(!run.is_empty());
                        plain += run.len();
                        rows.extend(run.iter().map(|row| whole(RowRef::new(layout, row))));
                    }
                }
                if stops { Step::Stop } else { Step::Continue }
            })
            .unwrap();
        assert!(rows.len() - before <= most, "{} of {most}", rows.len() - before);
        assert!(rows.len() - before == most || stops || !more);
        if !more {
            return (rows, plain);
        }
        state = Some(scan.park());
    }
}

fn whole(row: RowRef<'_>) -> (i64, i64, String) {
    let (_, text) = short(row);
    (int(row, 0), int(row, 1), text)
}

fn by_rows(f: &Fixture, session: &mut Session, range: &KeyRange, direction: Direction) -> Vec<(i64, i64, String)> {
    let mut rows = Vec::new();
    let mut scan = session.scan(&f.table, 0, range.clone(), direction, Read::Snapshot).unwrap();
    scan.for_each(|row, _| {
        rows.push(whole(row));
        Step::Continue
    })
    .unwrap();
    rows
}

#[test]
fn runs_show_what_rows_show() {
    let seed = seed();
    let mut r = Random::new(seed);
    let f = Fixture::new();
    let mut w = f.session();
    for id in 0..600 {
        f.insert(&mut w, id, id, "text", None).unwrap();
    }
    w.commit().unwrap();
    let (mut plain, mut lone) = (0, 0);
    let mut old = f.session();
    assert_eq!(by_rows(&f, &mut old, &KeyRange::all(), Direction::Forward).len(), 600);
    for _ in 0..12 {
        // Some rows change, go, come, or are too large for a leaf; the writer may still be running when others look.
        w.begin(Isolation::RepeatableRead, false);
        for _ in 0..r.below(40) {
            let id = r.below(700) as i64;
            let large = "long ".repeat(1500);
            let _ = match r.below(5) {
                0 => f.delete(&mut w, id).map(|_| ()),
                1 => f.update(&mut w, id, id, &large).map(|_| ()),
                2 => f.insert(&mut w, id, id, "new", None),
                _ => f.update(&mut w, id, id, "changed").map(|_| ()),
            };
        }
        let mut new = f.session();
        for _ in 0..4 {
            let (low, high) = (r.below(700) as i64, r.below(700) as i64);
            let range = if r.below(3) == 0 { KeyRange::all() } else { KeyRange { lower: f.key(low), upper: f.key(high) } };
            let direction = r.pick(&[Direction::Forward, Direction::Backward]);
            for (name, session) in [("old", &mut old), ("new", &mut new), ("writer", &mut w)] {
                let expect = by_rows(&f, session, &range, direction);
                let (found, plain_rows) = by_runs(&f, session, &range, direction, &mut r);
                assert_eq!(found, expect, "{name} {range:?} {direction:?}");
                plain += plain_rows;
                lone += found.len() - plain_rows;
            }
        }
        if r.below(3) == 0 { w.rollback().unwrap() } else { w.commit().unwrap() }
    }
    assert!(plain > 0 && lone > 0, "{plain} plain, {lone} alone");
}

#[test]
fn a_scan_by_runs_can_be_killed() {
    let f = Fixture::new();
    let mut s = f.session();
    for id in 0..10 {
        f.insert(&mut s, id, id, "", None).unwrap();
    }
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, true);
    s.cancel().cancel(1);
    let mut scan = s.scan(&f.table, 0, KeyRange::all(), Direction::Forward, Read::Snapshot).unwrap();
    assert!(matches!(scan.for_each_run(100, |_| Step::Continue), Err(Error::Killed)));
}
