//! Calendar, text and zones, by hand and against jiff.

use super::*;
use crate::SqlMode;
use proptest::prelude::*;

fn datetime(text: &str) -> String {
    parse_datetime(text.as_bytes(), SqlMode::DEFAULT).map_or("invalid".to_owned(), |value| value.to_string())
}

fn time(text: &str) -> String {
    parse_time(text.as_bytes()).map_or("invalid".to_owned(), |value| value.to_string())
}

#[test]
fn datetimes_from_text() {
    let check = |text: &str, expect: &str| assert_eq!(datetime(text), expect, "{text}");
    check("2024-02-29", "2024-02-29 00:00:00");
    check("2023-02-29", "invalid");
    check("2024-1-2 3:4:5", "2024-01-02 03:04:05");
    check("2024-01-02T03:04:05.123456", "2024-01-02 03:04:05.123456");
    check("2024/01/02 03.04.05", "2024-01-02 03:04:05");
    check("2024-01-02-03:04:05", "2024-01-02 03:04:05");
    check("2024-01-02 03:04.5", "2024-01-02 03:04:05");
    check("4-1-2", "0004-01-02 00:00:00");
    check("2024-01-02 03:04", "2024-01-02 03:04:00");
    check("2024-01-02 03", "2024-01-02 03:00:00");
    check("20240102", "2024-01-02 00:00:00");
    check("240102", "2024-01-02 00:00:00");
    check("700102", "1970-01-02 00:00:00");
    check("20240102030405", "2024-01-02 03:04:05");
    check("240102030405", "2024-01-02 03:04:05");
    check("20240102030405.5", "2024-01-02 03:04:05.500000");
    check("20240102T030405", "2024-01-02 03:04:05");
    check("69-01-02", "2069-01-02 00:00:00");
    check("99.1.2", "1999-01-02 00:00:00");
    check("2024-01-02 23:59:59.9999999", "2024-01-03 00:00:00");
    check("9999-12-31 23:59:59.9999999", "invalid");
    check("2024-13-01", "invalid");
    check("2024-01", "invalid");
    check("2024-01-02 24:00:00", "invalid");
    check("0000-00-00", "invalid");
    check("2024-00-10", "invalid");
    check("", "invalid");
    check("abc", "invalid");
    // Asked of MySQL 9.7: what is undelimited has nothing but digits before its end or a point.
    for text in
        ["22024-01-31", "22013 10", "20220131-01", "20220131 10:11:12", "20220131T10:11:12", "20220131T10", "20220131T", "220131.25"]
    {
        check(text, "invalid");
    }
    check("20220131T101112", "2022-01-31 10:11:12");
    check("220131T10", "2022-01-31 10:00:00");
    check("220131T", "2022-01-31 00:00:00");
    check("20220131.5", "2022-01-31 05:00:00");
    check("2201311.123", "2022-01-31 01:12:03");
    check("2201311011.1.2", "2022-01-31 10:11:01.200000");
    check("2022.01.07", "2022-01-07 00:00:00");
    check("2.1.7", "2002-01-07 00:00:00");
    check("220.1.7", "invalid");
    // Parts have the digits that are there, any punctuation parts them, and an incomplete time has no space behind it.
    check("2022-01-07 10:11:124", "invalid");
    check("2022-01-07 10:11:-/19", "2022-01-07 10:11:19");
    check("2022-1-7.+01", "2022-01-07 01:00:00");
    check("2022-01-07 10:11 ", "invalid");
    check("2022-01-07 10:11:12 ", "2022-01-07 10:11:12");
    check("2022-01-07 10:11:12-", "invalid");
    check("2022-01-07 10:11:12.5-01", "invalid");
    assert_eq!(parse_datetime(b"0000-00-00", SqlMode::NONE), Some(DateTime::ZERO));
    assert_eq!(parse_datetime(b"2024-00-10", SqlMode::NONE).map(|v| v.to_string()), Some("2024-00-10 00:00:00".to_owned()));
    assert_eq!(parse_datetime(b"2023-02-31", SqlMode::ALLOW_INVALID_DATES).map(|v| v.day()), Some(31));
}

#[test]
fn details_of_a_parsed_datetime() {
    let parsed = parse_datetime_full(b"2024-01-02 03:04:05.120+05:30", SqlMode::DEFAULT).unwrap();
    assert_eq!((parsed.fraction_digits, parsed.offset_seconds, parsed.truncated, parsed.has_time), (3, Some(19_800), false, true));
    assert!(parse_datetime_full(b"2024-01-02 x", SqlMode::DEFAULT).unwrap().truncated);
    assert!(!parse_datetime_full(b" 2024-01-02  ", SqlMode::DEFAULT).unwrap().truncated);
    for text in ["220131T", "2022013110111213", "20220131.1x", "2022-01-07x", "2022-01-07T"] {
        assert!(parse_datetime_full(text.as_bytes(), SqlMode::DEFAULT).unwrap().truncated, "{text}");
    }
    for text in ["2022-01-07 10:11:/", "2022-1-7 -", "2022-01-07 10:11:12.5:. "] {
        assert!(!parse_datetime_full(text.as_bytes(), SqlMode::DEFAULT).unwrap().truncated, "{text}");
    }
    assert!(parse_datetime_full(b"2024-01-02 03:04:05+15:00", SqlMode::DEFAULT).is_none());
}

#[test]
fn times_from_text() {
    let check = |text: &str, expect: &str| assert_eq!(time(text), expect, "{text}");
    check("12:34:56", "12:34:56");
    check("-12:34:56.5", "-12:34:56.500000");
    check("12:34", "12:34:00");
    check("123456", "12:34:56");
    check("1234", "00:12:34");
    check("12", "00:00:12");
    check("2 03:04:05", "51:04:05");
    check("1 2", "26:00:00");
    check("838:59:59", "838:59:59");
    check("900:00:00", "838:59:59");
    check("12:60:00", "invalid");
    check("2024-01-02 03:04:05", "03:04:05");
    check("abc", "invalid");
    check("00:00:59.9999999", "00:01:00");
}

#[test]
fn numbers_to_dates_and_times() {
    let check = |number: i64, expect: &str| {
        let text = datetime_from_number(number, SqlMode::DEFAULT).map_or("invalid".to_owned(), |(value, _)| value.to_string());
        assert_eq!(text, expect, "{number}");
    };
    check(20_240_102, "2024-01-02 00:00:00");
    check(240_102, "2024-01-02 00:00:00");
    check(20_240_102_030_405, "2024-01-02 03:04:05");
    check(991_231_235_959, "1999-12-31 23:59:59");
    check(100, "invalid");
    check(-5, "invalid");
    assert_eq!(time_from_number(-123_456).map(|(v, _)| v.to_string()), Some("-12:34:56".to_owned()));
    assert_eq!(time_from_number(9_000_000), Some((Time::MAX, true)));
    assert_eq!(time_from_number(61), None);
}

#[test]
fn day_numbers_are_those_of_mysql() {
    assert_eq!(Date::from_fields(1970, 1, 1).to_days(), Some(719_528));
    assert_eq!(Date::from_fields(0, 1, 1).to_days(), Some(1));
    assert_eq!(Date::from_fields(0, 3, 1).to_days(), Some(60));
    assert_eq!(Date::from_days(59), Some(Date::from_fields(0, 2, 28)));
    assert_eq!(Date::from_fields(9999, 12, 31).to_days(), Some(3_652_424));
    assert_eq!(Date::from_fields(2024, 7, 1).weekday(), Some(0));
    assert_eq!(Date::from_fields(2024, 12, 31).day_of_year(), Some(366));
    assert_eq!(Date::from_fields(2024, 1, 31).add_months(1), Some(Date::from_fields(2024, 2, 29)));
    assert_eq!(Date::from_fields(9999, 12, 31).add_days(1), None);
}

/// WEEK(date, mode) for modes 0 to 7 of some days on which MySQL's modes differ.
/// Of real days after the year 0 DATE_FORMAT's weeks are those of WEEK().
#[test]
fn nominal_days_are_real_ones() {
    for days in (366..=3_652_424).step_by(13) {
        let date = Date::from_days(days).expect("in range");
        assert_eq!(date.nominal_weekday(), date.weekday(), "{date:?}");
        assert_eq!(Some(date.nominal_day_of_year()), date.day_of_year().map(i64::from), "{date:?}");
        for mode in 0..8 {
            // The last days of 9999 belong to a week of the year after it, which WEEK() does not know.
            if days < 3_652_400 {
                let week = date.week(mode).map(|(year, week)| (u32::from(year), u32::from(week)));
                assert_eq!(Some(date.nominal_week(mode)), week, "{date:?} {mode}");
            }
        }
    }
}

#[test]
fn weeks_are_those_of_mysql() {
    for (days, weeks) in WEEKS {
        let date = Date::from_days(days).unwrap();
        assert_eq!(std::array::from_fn(|mode| date.week(mode as u8).unwrap().1), weeks, "{date}");
    }
}

const WEEKS: [(i64, [u8; 8]); 6] = [
    (700535, [0, 1, 52, 1, 1, 0, 1, 53]),
    (700540, [1, 1, 1, 1, 2, 0, 2, 53]),
    (700897, [52, 52, 52, 52, 53, 51, 1, 51]),
    (700904, [1, 1, 1, 1, 2, 0, 2, 52]),
    (701265, [0, 1, 52, 1, 0, 0, 53, 52]),
    (701632, [1, 0, 1, 53, 1, 0, 1, 52]),
];

#[test]
fn fractions_round_half_up() {
    let value = parse_datetime(b"2024-12-31 23:59:59.5", SqlMode::DEFAULT).unwrap();
    assert_eq!(value.round(0).unwrap().to_string(), "2025-01-01 00:00:00");
    assert_eq!(value.truncate(0).to_string(), "2024-12-31 23:59:59");
    assert_eq!(Time::from_micros(-1_500_000).round(0), Time::from_micros(-2_000_000));
}

#[test]
fn zones_by_name() {
    let berlin = TimeZone::parse("Europe/Berlin").unwrap();
    let local = |text: &str| parse_datetime(text.as_bytes(), SqlMode::DEFAULT).unwrap();
    let instant = berlin.to_timestamp(local("2024-07-01 12:00:00")).unwrap();
    assert_eq!(TimeZone::utc().to_local(instant).to_string(), "2024-07-01 10:00:00");
    assert!(berlin.to_timestamp(local("2024-03-31 02:30:00")).is_err());
    let fold = berlin.to_timestamp(local("2024-10-27 02:30:00")).unwrap();
    assert_eq!(TimeZone::utc().to_local(fold).to_string(), "2024-10-27 00:30:00");
    assert_eq!(TimeZone::parse("+5:30").unwrap().name(), "+05:30");
    assert_eq!(TimeZone::parse("-13:59").unwrap().offset_at_utc(0), -(13 * 60 + 59) * 60);
    for wrong in ["+14:01", "-14:00", "+1", "Nowhere/At_All", "", "+é:00"] {
        assert!(TimeZone::parse(wrong).is_none(), "{wrong}");
    }
    assert_eq!(berlin.to_local(Timestamp::ZERO), DateTime::ZERO);
    assert!(TimeZone::utc().to_timestamp(local("2038-01-19 03:14:08")).is_err());
    assert!(TimeZone::utc().to_timestamp(local("1970-01-01 00:00:00")).is_err());
}

#[test]
fn a_local_time_lies_between_its_instants() {
    const SECOND: i64 = 1_000_000;
    const QUARTER: i64 = 900 * SECOND;
    let (mut twice, mut never) = (0, 0);
    for name in ["Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns"] {
        let zone = TimeZone::parse(name).unwrap();
        let shown = |instant: i64| instant + i64::from(zone.offset_at_utc(instant)) * SECOND;
        for change in zone.changes().iter().filter(|change| change.at > 0) {
            let instants: Vec<i64> = (-12..12).map(|quarters| change.at * SECOND + quarters * QUARTER).collect();
            for local in instants.iter().flat_map(|instant| [shown(*instant), instant + i64::from(change.offset) * SECOND]) {
                let (first, last) = zone.instants_of(local);
                let times = instants.iter().filter(|instant| shown(**instant) == local).count();
                assert!(first == last || times != 1, "{name} {local}: {first} {last}");
                (twice, never) = (twice + usize::from(times == 2), never + usize::from(first != last && times == 0));
                for instant in &instants {
                    let fits = match shown(*instant).cmp(&local) {
                        std::cmp::Ordering::Less => *instant <= last,
                        std::cmp::Ordering::Equal => (first..=last).contains(instant),
                        std::cmp::Ordering::Greater => *instant >= first,
                    };
                    assert!(fits, "{name}: {instant} shows {}, and {local} lies between {first} and {last}", shown(*instant));
                    assert!(first != last || (instant.cmp(&first) == shown(*instant).cmp(&local)), "{name} {instant} {local}");
                }
            }
        }
    }
    assert!(twice > 100 && never > 100, "{twice} {never}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn days_agree_with_jiff(days in 366i64..3_652_424) {
        let date = Date::from_days(days).unwrap();
        prop_assert_eq!(date.to_days(), Some(days));
        let civil = jiff::civil::Date::new(date.year() as i16, date.month() as i8, date.day() as i8).unwrap();
        prop_assert_eq!(civil.weekday().to_monday_zero_offset() as u8, date.weekday().unwrap());
        prop_assert_eq!(civil.day_of_year() as u16, date.day_of_year().unwrap());
        let iso = civil.iso_week_date();
        prop_assert_eq!(date.week(3), Some((iso.year() as u16, iso.week() as u8)));
    }

    #[test]
    fn text_of_a_datetime_comes_back(micros in 366 * 86_400_000_000i64..3_652_424 * 86_400_000_000) {
        let value = DateTime::from_micros(micros).unwrap();
        prop_assert_eq!(value.to_micros(), Some(micros));
        prop_assert_eq!(parse_datetime(value.to_string().as_bytes(), SqlMode::DEFAULT), Some(value));
        prop_assert_eq!(DateTime::from_packed(value.packed()), Some(value));
    }

    /// The form in which values are printed is read by itself; it means what it means as any other. One character changed makes it another form, or another day.
    #[test]
    fn the_usual_form_is_one_of_all(seconds in 0..3_652_424 * 86_400i64, is_date: bool, at in 0..19usize, other in prop::sample::select(b"0123456789-:. T".to_vec())) {
        let mut text = DateTime::from_micros(seconds * 1_000_000).unwrap().to_string().into_bytes();
        text.truncate(if is_date { 10 } else { 19 });
        for _ in 0..2 {
            for mode in [SqlMode::DEFAULT, SqlMode::NONE, SqlMode::ALLOW_INVALID_DATES] {
                prop_assert_eq!(parse_datetime_full(&text, mode), parse::parse_any_datetime(&text, mode));
            }
            if let Some(byte) = text.get_mut(at) {
                *byte = other;
            }
        }
    }

    #[test]
    fn any_text_is_no_panic(text in prop::collection::vec(prop::sample::select(b"0123456789-:. T+a/".to_vec()), 0..30)) {
        let _ = parse_datetime_full(&text, SqlMode::NONE);
        let _ = parse_time_full(&text);
    }

    #[test]
    fn zones_come_back(micros in Timestamp::MIN.micros()..Timestamp::MAX.micros()) {
        let instant = Timestamp::from_micros(micros);
        for name in ["Europe/Berlin", "America/New_York", "+05:30", "Asia/Tokyo"] {
            let zone = TimeZone::parse(name).unwrap();
            let back = zone.to_timestamp(zone.to_local(instant)).unwrap();
            // In the hour that clocks are set back the first instant is taken.
            prop_assert!(back == instant || instant.micros() - back.micros() == 3_600_000_000);
        }
    }
}
