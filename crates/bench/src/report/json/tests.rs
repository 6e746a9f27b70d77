//! What is written is read again.

use super::*;
use crate::report::samples;
use proptest::prelude::*;

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,8}",
        any::<String>(),
        Just("<script>alert('x')</script>".to_owned()),
        Just("\"\\\u{0}\u{1f}\u{7f}é\u{1F600}".to_owned())
    ]
}

fn floats() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("finite", |v| v.is_finite()), Just(0.1 + 0.2), Just(1e300), Just(5e-324), Just(3.0)]
}

fn histograms() -> impl Strategy<Value = Histogram> {
    prop::collection::vec((0u64..20_000_000_000, 1u64..1_000_000), 0..40).prop_map(|counts| {
        let mut it = Histogram::default();
        for (us, count) in counts {
            (0..count % 7).for_each(|_| it.add(std::time::Duration::from_micros(us)));
        }
        it
    })
}

fn seconds() -> impl Strategy<Value = Vec<Second>> {
    let second = (any::<u64>(), any::<u64>(), any::<Option<u64>>());
    prop::collection::vec(second.prop_map(|(transactions, p99_us, resident_kib)| Second { transactions, p99_us, resident_kib }), 0..20)
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    let kinds = prop::collection::vec((words(), histograms()).prop_map(|(name, latency)| Kind { name, latency }), 0..4);
    let local = (floats(), floats(), any::<u64>());
    let local = local.prop_map(|(user_seconds, system_seconds, resident_kib)| Local { user_seconds, system_seconds, resident_kib });
    let names = (words(), words(), words(), prop::collection::btree_map(words(), words(), 0..4), any::<usize>(), floats());
    let errors = prop::collection::btree_map(any::<u16>(), (any::<u64>(), words()), 0..4);
    let rest = (kinds, seconds(), any::<(u64, u64, u64)>(), errors, prop::option::of(local), floats());
    (names, rest).prop_map(|(names, rest)| {
        let (server, version, workload, settings, connections, seconds) = names;
        let (kinds, each_second, (retries, failed, lost), errors, local, client_cpu_seconds) = rest;
        Outcome {
            server,
            version,
            workload,
            settings,
            connections,
            seconds,
            kinds,
            each_second,
            retries,
            failed,
            errors,
            lost,
            local,
            client_cpu_seconds,
        }
    })
}

fn comparisons() -> impl Strategy<Value = Comparison> {
    let slice = (any::<u64>(), floats(), prop::option::of(floats()));
    let slice =
        prop::option::of(slice.prop_map(|(transactions, seconds, cpu_seconds)| SliceFigures { transactions, seconds, cpu_seconds }))
            .boxed();
    let settings = prop::collection::btree_map(words(), words(), 0..3);
    (words(), settings, any::<usize>(), prop::collection::vec(words(), 0..4)).prop_flat_map(
        move |(workload, settings, connections, servers)| {
            let rounds = prop::collection::vec(prop::collection::vec(slice.clone(), servers.len()), 0..4);
            rounds.prop_map(move |rounds| Comparison {
                workload: workload.clone(),
                settings: settings.clone(),
                connections,
                servers: servers.clone(),
                rounds,
            })
        },
    )
}

fn soaks() -> impl Strategy<Value = Soak> {
    let sample = (floats(), any::<Option<u64>>(), prop::collection::btree_map(words(), floats(), 0..4));
    let sample = sample.prop_map(|(at_seconds, resident_kib, gauges)| Sample { at_seconds, resident_kib, gauges });
    (floats(), outcomes(), prop::collection::vec(sample, 0..4)).prop_map(|(planned_seconds, outcome, samples)| Soak {
        planned_seconds,
        outcome,
        samples,
    })
}

fn reports() -> impl Strategy<Value = Report> {
    let machine = (words(), any::<usize>(), any::<u64>(), words(), floats());
    let machine =
        machine.prop_map(|(cpu, cores, memory_kib, kernel, load_average)| Machine { cpu, cores, memory_kib, kernel, load_average });
    let lists = (
        prop::collection::vec(outcomes(), 0..3),
        prop::collection::vec(comparisons(), 0..3),
        prop::collection::vec(soaks(), 0..2),
        prop::collection::vec(words(), 0..3),
    );
    (words(), words(), words(), machine, lists).prop_map(|(program, command, begun, machine, lists)| {
        let (outcomes, comparisons, soaks, notes) = lists;
        Report { program, command, begun, machine, outcomes, comparisons, soaks, notes }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(2)))]
    #[test]
    fn what_was_written_is_read(report in reports()) {
        let written = write(&report);
        let read = read(written.as_bytes()).map_err(|e| TestCaseError::fail(format!("{e}\n{written}")))?;
        prop_assert_eq!(&read, &report);
        prop_assert_eq!(write(&read), written);
    }

    #[test]
    fn bytes_of_any_kind_are_refused_in_words(cut in 0usize..20_000, byte in any::<u8>()) {
        let mut bytes = write(&samples::report()).into_bytes();
        let at = cut % (bytes.len() - 3);
        bytes[at] = byte;
        // Either it is a report still, or there is a reason.
        if let Err(why) = read(&bytes) {
            prop_assert!(!why.is_empty());
        }
        bytes.truncate(at);
        prop_assert!(read(&bytes).is_err());
    }
}

#[test]
fn a_later_schema_is_refused_by_name() {
    let written = write(&samples::report());
    let later = written.replacen("\"schema\": 1", "\"schema\": 2", 1);
    assert_eq!(read(later.as_bytes()).unwrap_err(), "a report of schema 2; this program reads up to 1");
    assert!(read(b"{}").unwrap_err().contains("no `schema`"));
    assert!(read(b"[1").unwrap_err().contains("no JSON"));
    assert_eq!(read(written.replacen("\"retries\":3", "\"retries\":-3", 1).as_bytes()).unwrap_err(), "outcomes: [0] retries: below zero");
    // What a program of the same schema adds is not looked at.
    assert!(read(written.replacen("\"schema\": 1", "\"schema\": 1, \"more\": [1]", 1).as_bytes()).is_ok());
}

#[test]
fn counts_that_do_not_add_up_are_damage() {
    let written = write(&samples::report());
    let at = written.find("\"count\":").unwrap() + 8;
    let damaged = format!("{}9{}", &written[..at], &written[at..]);
    assert!(read(damaged.as_bytes()).unwrap_err().contains("do not add up"));
}

#[test]
fn a_number_that_is_none_is_null() {
    let mut report = samples::report();
    report.outcomes.truncate(1);
    report.outcomes[0].seconds = f64::INFINITY;
    let read = read(write(&report).as_bytes()).unwrap();
    assert!(read.outcomes[0].seconds.is_nan());
}
