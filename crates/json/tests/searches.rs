//! Searches that could take long: what they answer is what comparing each with each answers, their work grows with the documents and not with
//! products of their parts, and their caller can stop them.

use json::{Path, View, compare, encode, parse};
use std::cell::Cell;

fn document(text: &str) -> Vec<u8> {
    encode(&parse(text.as_bytes()).unwrap()).unwrap()
}

fn go_on() -> json::Result<()> {
    Ok(())
}

fn elements(view: View<'_>) -> Vec<View<'_>> {
    view.iter_elements().unwrap().map(Result::unwrap).collect()
}

fn contains(target: View<'_>, candidate: View<'_>) -> bool {
    let in_some =
        |wanted: View<'_>| elements(target).into_iter().any(|item| (item.is_array() || !wanted.is_array()) && contains(item, wanted));
    if target.is_array() {
        return if candidate.is_array() { elements(candidate).into_iter().all(in_some) } else { in_some(candidate) };
    }
    if target.is_object() && candidate.is_object() {
        let mut members = candidate.iter_members().unwrap().map(Result::unwrap);
        return members.all(|(name, wanted)| target.get(name).unwrap().is_some_and(|own| contains(own, wanted)));
    }
    compare(target, candidate).unwrap().is_eq()
}

/// Arrays of many kinds of elements, by a number; each has an element in about one of three others.
fn array(seed: u64) -> String {
    let element = |n: u64| match n % 8 {
        0 => format!("{}", n % 40),
        1 => format!("{}.0", n % 40),
        2 => format!("\"t{}\"", n % 16),
        3 => ["true", "false", "null"][n as usize / 8 % 3].to_owned(),
        4 => format!("[{}, [{}]]", n % 40, n % 24),
        5 => format!("{{\"a\": {}}}", n % 24),
        6 => format!("[{}]", n % 24),
        _ => "[]".to_owned(),
    };
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    let count = next() % 24;
    let list: Vec<String> = (0..count).map(|_| element(next())).collect();
    format!("[{}]", list.join(","))
}

#[test]
fn long_arrays_answer_as_element_by_element() {
    let (mut contained, mut overlapped) = (0, 0);
    for seed in 0..4000 {
        let (a, b) = (document(&array(2 * seed)), document(&array(2 * seed + 1)));
        // Half of the candidates are parts of the target, or there would hardly be one that is contained.
        let part: Vec<String> = elements(View::new(&a))
            .iter()
            .step_by(2)
            .map(|view| String::from_utf8(json::to_text(&view.to_tree().unwrap()).unwrap()).unwrap())
            .collect();
        let b = if seed % 2 == 0 { document(&format!("[{}]", part.join(","))) } else { b };
        let (a, b) = (View::new(&a), View::new(&b));
        let expect = contains(a, b);
        assert_eq!(json::contains(a, b, &go_on), Ok(expect), "seed {seed}");
        contained += u32::from(expect);
        let expect = elements(a).into_iter().any(|x| elements(b).into_iter().any(|y| compare(x, y).unwrap().is_eq()));
        assert_eq!(json::overlaps(a, b, &go_on), Ok(expect), "seed {seed}");
        assert_eq!(json::overlaps(b, a, &go_on), Ok(expect), "seed {seed}");
        overlapped += u32::from(expect);
    }
    assert!((500..3500).contains(&contained) && (500..3900).contains(&overlapped), "{contained} {overlapped}");
}

/// How often a search looks whether to go on; it is stopped at the hundredth time.
fn looks(search: impl FnOnce(json::Look<'_, json::Error>) -> json::Result<()>) -> u32 {
    let count = Cell::new(0);
    let look = || {
        count.set(count.get() + 1);
        // Any error will do.
        if count.get() < 100 { Ok(()) } else { Err(json::Error::TooBig) }
    };
    let result = search(&look);
    assert_eq!(result.is_err(), count.get() == 100, "{result:?}");
    count.get()
}

#[test]
fn work_grows_with_the_documents() {
    let list = |item: &str, end: &str| document(&format!("[{}{end}]", item.repeat(20_000)));
    let (ones, twos, target, wanted) = (list("1,", "1"), list("2,", "2"), list("1,", "5"), list("5,", "5"));
    let overlaps =
        |look: json::Look<'_, json::Error>| json::overlaps(View::new(&ones), View::new(&twos), look).map(|found| assert!(!found));
    assert!(looks(overlaps) < 100);
    let contains =
        |look: json::Look<'_, json::Error>| json::contains(View::new(&target), View::new(&wanted), look).map(|found| assert!(found));
    assert!(looks(contains) < 100);
    let nested = document(&format!("{}{}", "[".repeat(90), "]".repeat(90)));
    let path = Path::parse("$**[*]".replacen("**[*]", &"**[*]".repeat(8), 1).as_bytes()).unwrap();
    let all = |look: json::Look<'_, json::Error>| path.find(View::new(&nested), look).map(|found| assert_eq!(found.len(), 82));
    assert!(looks(all) < 100);
    let path = Path::parse(b"$**[0]").unwrap();
    let each = |look: json::Look<'_, json::Error>| path.find(View::new(&ones), look).map(|found| assert_eq!(found.len(), 20_001));
    assert!(looks(each) < 100);
}

#[test]
fn a_search_that_takes_long_can_be_stopped() {
    let list = |item: &str| document(&format!("[{}{item}]", format!("{item},").repeat(20_000)));
    // Arrays within arrays are compared each with each.
    let (target, wanted) = (list("[1,2]"), list("[3,2]"));
    let contains = |look: json::Look<'_, json::Error>| json::contains(View::new(&target), View::new(&wanted), look).map(drop);
    assert!(looks(contains) > 1);
    let members = list("{\"a\": 1}");
    let contains = |look: json::Look<'_, json::Error>| json::contains(View::new(&members), View::new(&list("{\"a\": 2}")), look).map(drop);
    assert!(looks(contains) > 1);
}
