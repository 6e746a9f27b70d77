//! The binary form, paths and keys against naive ones over trees; damaged bytes; MySQL's texts.

use json::{DEPTH_MAX, Edit, Error, Json, Leg, Object, ParseError, Path, Place, View, compare, encode, parse};
use proptest::prelude::*;
use types::{Date, Decimal};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![prop::sample::select(vec!["a", "b", "c", "ab", "x y", "é", ""]).prop_map(str::to_owned), ".{0,6}"]
}

fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        (-3i64..3).prop_map(Json::Int),
        any::<i64>().prop_map(Json::Int),
        any::<u64>().prop_map(Json::UInt),
        (-3i32..3).prop_map(|v| Json::Double(f64::from(v) / 2.0)),
        any::<f64>().prop_filter("finite", |v| v.is_finite()).prop_map(Json::Double),
        (-300i128..300, 0u8..3).prop_map(|(v, scale)| Json::Decimal(Decimal::new(v, scale))),
        name().prop_map(Json::String),
        Just(Json::Date(Date::from_fields(2024, 1, 2))),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(|bytes| Json::Opaque(252, bytes)),
    ]
}

fn document() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            prop::collection::vec((name(), inner), 0..6).prop_map(|members| Json::Object(Object::from_members(members))),
        ]
    })
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![(0u32..4).prop_map(Place::Start), (0u32..4).prop_map(Place::End)]
}

fn path(wild: bool) -> impl Strategy<Value = Path> {
    let plain = prop_oneof![name().prop_map(Leg::Member), place().prop_map(Leg::Cell)];
    let any =
        prop_oneof![Just(Leg::AnyMember), Just(Leg::AnyCell), (place(), place()).prop_map(|(a, b)| Leg::Range(a, b)), Just(Leg::Ellipsis)];
    let leg = if wild { prop_oneof![3 => plain, 1 => any].boxed() } else { plain.boxed() };
    prop::collection::vec(leg, 0..4).prop_map(|legs| Path { legs })
}

/// What a path leads to in a tree, without care for doubles.
fn naive<'t>(value: &'t Json, legs: &[Leg], out: &mut Vec<&'t Json>) {
    let Some((leg, rest)) = legs.split_first() else {
        if !out.iter().any(|other| std::ptr::eq(*other, value)) {
            out.push(value);
        }
        return;
    };
    let single = std::slice::from_ref(value);
    let cells: &[Json] = if let Json::Array(list) = value { list } else { single };
    let count = cells.len() as i64;
    let position = |place: &Place| match place {
        Place::Start(at) => i64::from(*at),
        Place::End(back) => count - 1 - i64::from(*back),
    };
    match (leg, value) {
        (Leg::Member(name), Json::Object(object)) => {
            if let Some(member) = object.get(name) {
                naive(member, rest, out);
            }
        }
        (Leg::AnyMember, Json::Object(object)) => object.iter().for_each(|(_, member)| naive(member, rest, out)),
        (Leg::Cell(at), _) => {
            if let Some(item) = usize::try_from(position(at)).ok().and_then(|at| cells.get(at)) {
                naive(item, rest, out);
            }
        }
        (Leg::Range(from, to), _) => {
            for (at, item) in cells.iter().enumerate() {
                if position(from) <= at as i64 && at as i64 <= position(to) {
                    naive(item, rest, out);
                }
            }
        }
        (Leg::AnyCell, Json::Array(list)) => list.iter().for_each(|item| naive(item, rest, out)),
        (Leg::Ellipsis, _) => {
            naive(value, rest, out);
            match value {
                Json::Array(list) => list.iter().for_each(|item| naive(item, legs, out)),
                Json::Object(object) => object.iter().for_each(|(_, member)| naive(member, legs, out)),
                _ => {}
            }
        }
        _ => {}
    }
}

/// Nobody stops these searches.
fn go_on() -> json::Result<()> {
    Ok(())
}

/// The value that stands at a place told by names and positions alone.
fn at_path<'t>(value: &'t Json, path: &Path) -> Option<&'t Json> {
    let mut out = Vec::new();
    naive(value, &path.legs, &mut out);
    out.first().copied()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn binary_keeps_the_tree(tree in document()) {
        let bytes = encode(&tree).unwrap();
        prop_assert_eq!(View::new(&bytes).to_tree().unwrap(), tree.clone());
        prop_assert_eq!(View::new(&bytes).depth().unwrap(), tree.depth());
    }

    #[test]
    fn text_round_trips(tree in document()) {
        let text = json::to_text(&tree).unwrap();
        let again = parse(&text).unwrap();
        // Text has no decimals and no dates: from here on nothing changes any more.
        let second = json::to_text(&again).unwrap();
        prop_assert_eq!(parse(&second).unwrap(), again.clone());
        let mut lines = Vec::new();
        json::pretty(View::new(&encode(&tree).unwrap()), &mut lines).unwrap();
        prop_assert_eq!(parse(&lines).unwrap(), again);
    }

    #[test]
    fn a_path_finds_what_the_tree_has(tree in document(), path in path(true)) {
        let bytes = encode(&tree).unwrap();
        let found = path.find(View::new(&bytes), &go_on).unwrap();
        let mut expect = Vec::new();
        naive(&tree, &path.legs, &mut expect);
        let trees: Vec<Json> = found.iter().map(|view| view.to_tree().unwrap()).collect();
        prop_assert_eq!(&trees.iter().collect::<Vec<_>>(), &expect);
        let first = path.first(View::new(&bytes), &go_on).unwrap();
        let first = first.map(|view| view.to_tree().unwrap());
        prop_assert_eq!(first.as_ref(), expect.first().copied());
        for (own, view) in path.find_with_paths(View::new(&bytes), &go_on).unwrap() {
            prop_assert_eq!(at_path(&tree, &own), Some(&view.to_tree().unwrap()));
            prop_assert_eq!(Path::parse(own.to_string().as_bytes()), Ok(own));
        }
    }

    #[test]
    fn a_change_is_where_it_was_made(tree in document(), path in path(false), new in scalar()) {
        let had = at_path(&tree, &path).cloned();
        let mut set = tree.clone();
        json::change(&mut set, &path, Edit::Set, new.clone());
        let mut insert = tree.clone();
        json::change(&mut insert, &path, Edit::Insert, new.clone());
        let mut replace = tree.clone();
        json::change(&mut replace, &path, Edit::Replace, new.clone());
        match had {
            Some(_) => {
                prop_assert_eq!(at_path(&set, &path), Some(&new));
                prop_assert_eq!(&insert, &tree);
                prop_assert_eq!(&replace, &set);
            }
            None => {
                prop_assert_eq!(&insert, &set);
                prop_assert_eq!(&replace, &tree);
                // A member is at its path afterwards; a cell at the end, wherever that is.
                if let (Some(Leg::Member(_)), true) = (path.legs.last(), set != tree) {
                    prop_assert_eq!(at_path(&set, &path), Some(&new));
                }
            }
        }
        let mut removed = tree.clone();
        json::remove(&mut removed, &path);
        if let (Some(Leg::Member(_)), true) = (path.legs.last(), removed != tree) {
            prop_assert_eq!(at_path(&removed, &path), None);
            json::change(&mut removed, &path, Edit::Insert, at_path(&tree, &path).unwrap().clone());
            prop_assert_eq!(removed, tree);
        }
    }

    #[test]
    fn keys_order_as_documents(a in document(), b in document(), c in document()) {
        let bytes: Vec<Vec<u8>> = [&a, &b, &c].iter().map(|tree| encode(tree).unwrap()).collect();
        let view = |at: usize| View::new(&bytes[at]);
        let key = |at: usize| { let mut out = Vec::new(); json::append_key(view(at), &mut out).unwrap(); out };
        for (x, y) in [(0, 1), (1, 2), (0, 2), (0, 0)] {
            let order = compare(view(x), view(y)).unwrap();
            prop_assert_eq!(order, compare(view(y), view(x)).unwrap().reverse());
            prop_assert_eq!(order, key(x).cmp(&key(y)), "{:?} {:?}", view(x).to_tree(), view(y).to_tree());
        }
        prop_assert!(compare(view(0), view(0)).unwrap().is_eq());
        prop_assert!(json::contains(view(0), view(0), &go_on).unwrap());
    }

    #[test]
    fn damage_is_an_error_or_another_document(tree in document(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(), path in path(true)) {
        let mut bytes = encode(&tree).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if byte.is_multiple_of(3) {
            bytes.truncate(cut.index(bytes.len()));
        }
        let view = View::new(&bytes);
        let mut out = Vec::new();
        let _ = (view.to_tree(), view.depth(), path.find(view, &go_on), path.first(view, &go_on), view.kind(), view.type_name());
        let _ = (json::text(view, &mut out), json::append_key(view, &mut out), json::pretty(view, &mut out));
        let _ = (compare(view, view), json::contains(view, view, &go_on), json::overlaps(view, view, &go_on));
    }

    #[test]
    fn any_bytes_parse_or_fail(text in prop::collection::vec(prop::sample::select(br#"[]{}",:\u0d8e1-.+ tfn"#.to_vec()), 0..24)) {
        if let Ok(tree) = parse(&text) {
            let bytes = encode(&tree).unwrap();
            prop_assert_eq!(View::new(&bytes).to_tree().unwrap(), tree);
        }
        let _ = Path::parse(&text);
    }
}

#[test]
fn messages_are_those_of_mysql() {
    let check = |text: &str, message: &str, at: usize| match parse(text.as_bytes()) {
        Err(ParseError::Text(own, position)) => assert_eq!((own, position), (message, at), "{text}"),
        other => panic!("{text}: {other:?}"),
    };
    check("", "The document is empty.", 0);
    check(" ", "The document is empty.", 1);
    check("{", "Missing a name for object member.", 1);
    check("{\"a\"", "Missing a colon after a name of object member.", 4);
    check("{\"a\":", "Invalid value.", 5);
    check("{\"a\":1", "Missing a comma or '}' after an object member.", 6);
    check("{\"a\":1,}", "Missing a name for object member.", 7);
    check("[", "Invalid value.", 1);
    check("[1", "Missing a comma or ']' after an array element.", 2);
    check("[1 2]", "Missing a comma or ']' after an array element.", 3);
    check("1 2", "The document root must not be followed by other values.", 2);
    check("tru", "Invalid value.", 3);
    check("\"abc", "Missing a closing quotation mark in string.", 4);
    check("\"a\\x\"", "Invalid escape character in string.", 2);
    check("\"a\\u12\"", "Incorrect hex digit after \\u escape in string.", 2);
    check("\"a\\ud800\\u0041\"", "The surrogate pair in string is invalid.", 2);
    check("\"a\nb\"", "Invalid encoding in string.", 2);
    check("01", "The document root must not be followed by other values.", 1);
    check("1.", "Miss fraction part in number.", 2);
    check("1e", "Miss exponent in number.", 2);
    check("-", "Invalid value.", 1);
    check("1e400", "Number too big to be stored in double.", 0);
    assert_eq!(parse("[".repeat(DEPTH_MAX + 1).as_bytes()), Err(ParseError::TooDeep));
}

#[test]
fn paths_fail_where_mysql_says() {
    for (text, at) in [
        ("$[", 2),
        ("x", 1),
        ("$[0", 3),
        ("$.", 2),
        ("$**", 3),
        ("$a", 1),
        ("", 0),
        ("$.a-b", 5),
        ("$.\"a", 4),
        ("$.1a", 4),
        ("$[-1]", 2),
        ("$[3 to 1]", 8),
        ("$[99999999999]", 2),
    ] {
        assert_eq!(Path::parse(text.as_bytes()), Err(at), "{text}");
    }
    assert_eq!(Path::parse(b" $ [ 0 ] ").map(|path| path.to_string()), Ok("$[0]".to_owned()));
    assert_eq!(
        Path::parse(b"$.\"a b\"[last - 1][1 to last].*[*]**.x").map(|path| path.to_string()),
        Ok("$.\"a b\"[last-1][1 to last].*[*]**.x".to_owned())
    );
}

#[test]
fn large_containers_are_wide_and_deep_ones_refused() {
    let wide = Json::Array((0..30_000).map(|n| Json::String(format!("value {n}"))).collect());
    let bytes = encode(&wide).unwrap();
    assert_eq!(View::new(&bytes).element(29_999).unwrap().unwrap().as_str(), Ok(Some("value 29999")));
    assert_eq!(View::new(&bytes).to_tree().unwrap(), wide);
    let mut deep = Json::Null;
    for _ in 0..DEPTH_MAX {
        deep = Json::Array(vec![deep]);
    }
    assert!(encode(&deep).is_ok());
    assert_eq!(encode(&Json::Array(vec![deep])), Err(Error::TooDeep));
}
