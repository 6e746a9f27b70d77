//! What tools are told of an index: counted where it is small, near the truth where it is not.

use super::*;

fn figures(f: &Fixture, index_no: usize) -> IndexFigures {
    f.engine.index_figures(&f.table, index_no).unwrap()
}

#[test]
fn a_small_index_is_counted_through() {
    let f = Fixture::new();
    assert_eq!(figures(&f, 1), IndexFigures { pages: 1, leaf_pages: 1, distinct: vec![0, 0], entries: 0, pages_seen: 1 });
    let mut s = f.session();
    for id in 0..30 {
        f.insert(&mut s, id, id % 7, "text", (id % 2 == 0).then_some(id)).unwrap();
    }
    s.commit().unwrap();
    assert_eq!((figures(&f, 0).distinct, figures(&f, 0).entries), (vec![30], 30));
    assert_eq!((figures(&f, 1).distinct, figures(&f, 1).entries), (vec![7, 30], 30));
    // NULLs are one value.
    assert_eq!(figures(&f, 2).distinct, [16, 30]);
    // What is deleted does not count, whether or not it was purged.
    let mut s = f.session();
    for id in (0..30).filter(|id| id % 7 == 3) {
        f.delete(&mut s, id).unwrap();
    }
    s.commit().unwrap();
    assert_eq!(figures(&f, 0).distinct, [26]);
    assert_eq!(figures(&f, 1).distinct, [6, 26]);
}

#[test]
fn a_large_index_is_estimated() {
    let f = Fixture::new();
    for from in (0..20_000).step_by(500) {
        let mut s = f.session();
        for id in from..from + 500 {
            f.insert(&mut s, id, id % 100, "some text of a row that fills pages", Some(id)).unwrap();
        }
        s.commit().unwrap();
    }
    let near = |told: u64, is: u64| assert!(told > is / 2 && told < is * 2, "{told}, not {is}");
    let primary = figures(&f, 0);
    assert!(primary.leaf_pages > 20 && primary.pages_seen < primary.leaf_pages, "{primary:?}");
    assert_eq!(primary.pages, f.engine.table_bytes(&f.table).0 / base::PAGE_BYTES as u64);
    assert!(primary.pages > primary.leaf_pages && primary.pages - primary.leaf_pages < 10, "{primary:?}");
    near(primary.distinct[0], 20_000);
    let by_k = figures(&f, 1);
    near(by_k.distinct[0], 100);
    near(by_k.distinct[1], 20_000);
    assert!(by_k.distinct[1] <= by_k.entries, "{by_k:?}");
}
