//! Reports as JSON, and back.
//!
//! Numbers are written with as many digits as tell them apart from their neighbours, so that reading gives the same ones; histograms as the
//! counts of their buckets. What is not known yet is left out by readers of the same schema; a file of a later schema is refused by name.

use super::{Comparison, Report, SliceFigures};
use crate::histogram::Histogram;
use crate::outcome::{Kind, Local, Outcome, Second};
use crate::report::machine::Machine;
use crate::soak::{Sample, Soak};
use json::{Json, Object};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The form of the file; 1 is the first.
pub const SCHEMA: u64 = 1;

// ---------------------------------------------------------------------------------------------------------------- writing

fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The shortest digits that read back as the same number, with a point, so that it is not read as a whole one.
fn number(value: f64) -> String {
    if value.is_finite() { format!("{value:?}") } else { "null".to_owned() }
}

fn maybe<T>(value: Option<T>, write: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "null".to_owned(), write)
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn object<'a>(members: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let members: Vec<String> = members.into_iter().map(|(name, value)| format!("{}:{value}", text(name))).collect();
    format!("{{{}}}", members.join(","))
}

/// As an object, its parts each on a line of its own.
pub fn write(report: &Report) -> String {
    let lines = |items: Vec<String>| if items.is_empty() { "[]".to_owned() } else { format!("[\n{}\n]", items.join(",\n")) };
    let parts = [
        ("schema", SCHEMA.to_string()),
        ("program", text(&report.program)),
        ("command", text(&report.command)),
        ("begun", text(&report.begun)),
        ("machine", machine(&report.machine)),
        ("outcomes", lines(report.outcomes.iter().map(outcome).collect())),
        ("comparisons", lines(report.comparisons.iter().map(comparison).collect())),
        ("soaks", lines(report.soaks.iter().map(soak).collect())),
        ("notes", array(report.notes.iter().map(|n| text(n)))),
    ];
    let members: Vec<String> = parts.into_iter().map(|(name, value)| format!("{}: {value}", text(name))).collect();
    format!("{{\n{}\n}}\n", members.join(",\n"))
}

fn machine(it: &Machine) -> String {
    object([
        ("cpu", text(&it.cpu)),
        ("cores", it.cores.to_string()),
        ("memory_kib", it.memory_kib.to_string()),
        ("kernel", text(&it.kernel)),
        ("load_average", number(it.load_average)),
    ])
}

fn outcome(it: &Outcome) -> String {
    let second = |s: &Second| format!("[{},{},{}]", s.transactions, s.p99_us, maybe(s.resident_kib, |kib| kib.to_string()));
    let error = |(code, (count, message)): (&u16, &(u64, String))| {
        object([("code", code.to_string()), ("count", count.to_string()), ("message", text(message))])
    };
    object([
        ("server", text(&it.server)),
        ("version", text(&it.version)),
        ("workload", text(&it.workload)),
        ("settings", settings(&it.settings)),
        ("connections", it.connections.to_string()),
        ("seconds", number(it.seconds)),
        ("kinds", array(it.kinds.iter().map(kind))),
        ("each_second", array(it.each_second.iter().map(second))),
        ("retries", it.retries.to_string()),
        ("failed", it.failed.to_string()),
        ("errors", array(it.errors.iter().map(error))),
        ("lost", it.lost.to_string()),
        ("local", maybe(it.local.as_ref(), local)),
        ("client_cpu_seconds", number(it.client_cpu_seconds)),
    ])
}

/// A histogram as value, count, and then always how far to the next value, and its count.
fn kind(it: &Kind) -> String {
    let mut last = 0;
    let buckets = it.latency.counts().into_iter().map(|(us, count)| {
        let gap = us - last;
        last = us;
        format!("{gap},{count}")
    });
    object([
        ("name", text(&it.name)),
        ("count", it.latency.count().to_string()),
        ("sum_us", it.latency.sum_us().to_string()),
        ("max_us", it.latency.max_us().to_string()),
        ("buckets", array(buckets)),
    ])
}

fn local(it: &Local) -> String {
    object([
        ("user_seconds", number(it.user_seconds)),
        ("system_seconds", number(it.system_seconds)),
        ("resident_kib", it.resident_kib.to_string()),
    ])
}

fn settings(all: &BTreeMap<String, String>) -> String {
    object(all.iter().map(|(name, value)| (name.as_str(), text(value))))
}

fn comparison(it: &Comparison) -> String {
    let slice = |s: &Option<SliceFigures>| {
        maybe(s.as_ref(), |s| format!("[{},{},{}]", s.transactions, number(s.seconds), maybe(s.cpu_seconds, number)))
    };
    object([
        ("workload", text(&it.workload)),
        ("settings", settings(&it.settings)),
        ("connections", it.connections.to_string()),
        ("servers", array(it.servers.iter().map(|s| text(s)))),
        ("rounds", array(it.rounds.iter().map(|round| array(round.iter().map(slice))))),
    ])
}

fn soak(it: &Soak) -> String {
    let sample = |s: &Sample| {
        let gauges = object(s.gauges.iter().map(|(name, value)| (name.as_str(), number(*value))));
        object([("at_seconds", number(s.at_seconds)), ("resident_kib", maybe(s.resident_kib, |kib| kib.to_string())), ("gauges", gauges)])
    };
    object([
        ("planned_seconds", number(it.planned_seconds)),
        ("outcome", outcome(&it.outcome)),
        ("samples", array(it.samples.iter().map(sample))),
    ])
}

// ---------------------------------------------------------------------------------------------------------------- reading

type Read<T> = Result<T, String>;

/// What `write` wrote.
///
/// # Errors
/// It is no JSON, no report, or one of a later schema.
pub fn read(bytes: &[u8]) -> Read<Report> {
    let whole = json::parse(bytes).map_err(|e| format!("this is no JSON: {e:?}"))?;
    let it = as_object(&whole, "a report")?;
    let schema = it.get("schema").map(whole_number).transpose()?.ok_or("this is no report of `altiplano bench`: it has no `schema`")?;
    if schema == 0 || schema > SCHEMA {
        return Err(format!("a report of schema {schema}; this program reads up to {SCHEMA}"));
    }
    Ok(Report {
        program: get(it, "program", string)?,
        command: get(it, "command", string)?,
        begun: get(it, "begun", string)?,
        machine: get(it, "machine", read_machine)?,
        outcomes: get(it, "outcomes", each(read_outcome))?,
        comparisons: get(it, "comparisons", each(read_comparison))?,
        soaks: get(it, "soaks", each(read_soak))?,
        notes: get(it, "notes", each(string))?,
    })
}

fn get<T>(it: &Object, name: &str, read: impl Fn(&Json) -> Read<T>) -> Read<T> {
    let value = it.get(name).ok_or_else(|| format!("`{name}` is missing"))?;
    read(value).map_err(|e| format!("{name}: {e}"))
}

fn each<T>(read: impl Fn(&Json) -> Read<T>) -> impl Fn(&Json) -> Read<Vec<T>> {
    move |value| items(value)?.iter().enumerate().map(|(at, item)| read(item).map_err(|e| format!("[{at}] {e}"))).collect()
}

fn optional<T>(read: impl Fn(&Json) -> Read<T>) -> impl Fn(&Json) -> Read<Option<T>> {
    move |value| if *value == Json::Null { Ok(None) } else { read(value).map(Some) }
}

fn as_object<'a>(value: &'a Json, what: &str) -> Read<&'a Object> {
    match value {
        Json::Object(it) => Ok(it),
        _ => Err(format!("{what} is an object")),
    }
}

fn items(value: &Json) -> Read<&[Json]> {
    match value {
        Json::Array(it) => Ok(it),
        _ => Err("not an array".to_owned()),
    }
}

fn string(value: &Json) -> Read<String> {
    match value {
        Json::String(it) => Ok(it.clone()),
        _ => Err("not a string".to_owned()),
    }
}

fn whole_number(value: &Json) -> Read<u64> {
    match value {
        Json::Int(it) => u64::try_from(*it).map_err(|_| "below zero".to_owned()),
        Json::UInt(it) => Ok(*it),
        _ => Err("not a whole number".to_owned()),
    }
}

fn count(value: &Json) -> Read<usize> {
    usize::try_from(whole_number(value)?).map_err(|_| "too big".to_owned())
}

/// A number; null is what is none, as it was written.
fn float(value: &Json) -> Read<f64> {
    match value {
        Json::Double(it) => Ok(*it),
        Json::Int(it) => Ok(*it as f64),
        Json::UInt(it) => Ok(*it as f64),
        Json::Null => Ok(f64::NAN),
        _ => Err("not a number".to_owned()),
    }
}

fn read_machine(value: &Json) -> Read<Machine> {
    let it = as_object(value, "a machine")?;
    Ok(Machine {
        cpu: get(it, "cpu", string)?,
        cores: get(it, "cores", count)?,
        memory_kib: get(it, "memory_kib", whole_number)?,
        kernel: get(it, "kernel", string)?,
        load_average: get(it, "load_average", float)?,
    })
}

fn read_outcome(value: &Json) -> Read<Outcome> {
    let it = as_object(value, "an outcome")?;
    let error = |value: &Json| {
        let it = as_object(value, "an error")?;
        let code = u16::try_from(get(it, "code", whole_number)?).map_err(|_| "code: past 65,535".to_owned())?;
        Ok((code, (get(it, "count", whole_number)?, get(it, "message", string)?)))
    };
    Ok(Outcome {
        server: get(it, "server", string)?,
        version: get(it, "version", string)?,
        workload: get(it, "workload", string)?,
        settings: get(it, "settings", read_settings)?,
        connections: get(it, "connections", count)?,
        seconds: get(it, "seconds", float)?,
        kinds: get(it, "kinds", each(read_kind))?,
        each_second: get(it, "each_second", each(read_second))?,
        retries: get(it, "retries", whole_number)?,
        failed: get(it, "failed", whole_number)?,
        errors: get(it, "errors", each(error))?.into_iter().collect(),
        lost: get(it, "lost", whole_number)?,
        local: get(it, "local", optional(read_local))?,
        client_cpu_seconds: get(it, "client_cpu_seconds", float)?,
    })
}

fn read_second(value: &Json) -> Read<Second> {
    let [transactions, p99_us, resident_kib] = items(value)? else { return Err("a second has three numbers".to_owned()) };
    Ok(Second {
        transactions: whole_number(transactions)?,
        p99_us: whole_number(p99_us)?,
        resident_kib: optional(whole_number)(resident_kib)?,
    })
}

fn read_kind(value: &Json) -> Read<Kind> {
    let it = as_object(value, "a kind")?;
    let buckets = get(it, "buckets", each(whole_number))?;
    if buckets.len() % 2 != 0 {
        return Err("buckets: a value without its count".to_owned());
    }
    let mut us = 0u64;
    let counts = buckets.chunks_exact(2).map(|pair| {
        us = us.saturating_add(pair[0]);
        (us, pair[1])
    });
    let latency = Histogram::from_counts(counts, get(it, "sum_us", whole_number)?, get(it, "max_us", whole_number)?);
    if latency.count() != get(it, "count", whole_number)? {
        return Err("the buckets' counts do not add up to `count`".to_owned());
    }
    Ok(Kind { name: get(it, "name", string)?, latency })
}

fn read_local(value: &Json) -> Read<Local> {
    let it = as_object(value, "local")?;
    Ok(Local {
        user_seconds: get(it, "user_seconds", float)?,
        system_seconds: get(it, "system_seconds", float)?,
        resident_kib: get(it, "resident_kib", whole_number)?,
    })
}

fn read_settings(value: &Json) -> Read<BTreeMap<String, String>> {
    as_object(value, "settings")?.iter().map(|(name, value)| Ok((name.to_owned(), string(value)?))).collect()
}

fn read_comparison(value: &Json) -> Read<Comparison> {
    let it = as_object(value, "a comparison")?;
    let slice = |value: &Json| {
        let [transactions, seconds, cpu] = items(value)? else { return Err("a slice has three numbers".to_owned()) };
        Ok(SliceFigures { transactions: whole_number(transactions)?, seconds: float(seconds)?, cpu_seconds: optional(float)(cpu)? })
    };
    let servers = get(it, "servers", each(string))?;
    let rounds: Vec<Vec<Option<SliceFigures>>> = get(it, "rounds", each(each(optional(slice))))?;
    if rounds.iter().any(|round| round.len() != servers.len()) {
        return Err("rounds: not a slice for each server".to_owned());
    }
    // Reports of earlier versions have none.
    let settings = it.get("settings").map_or(Ok(BTreeMap::new()), read_settings)?;
    Ok(Comparison { workload: get(it, "workload", string)?, settings, connections: get(it, "connections", count)?, servers, rounds })
}

fn read_soak(value: &Json) -> Read<Soak> {
    let it = as_object(value, "a soak")?;
    let gauges = |value: &Json| -> Read<BTreeMap<String, f64>> {
        as_object(value, "gauges")?.iter().map(|(name, value)| Ok((name.to_owned(), float(value)?))).collect()
    };
    let sample = |value: &Json| {
        let it = as_object(value, "a sample")?;
        Ok(Sample {
            at_seconds: get(it, "at_seconds", float)?,
            resident_kib: get(it, "resident_kib", optional(whole_number))?,
            gauges: get(it, "gauges", gauges)?,
        })
    };
    Ok(Soak {
        planned_seconds: get(it, "planned_seconds", float)?,
        outcome: get(it, "outcome", read_outcome)?,
        samples: get(it, "samples", each(sample))?,
    })
}

#[cfg(test)]
mod tests;
