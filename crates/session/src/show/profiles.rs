//! SHOW PROFILES and SHOW PROFILE, from `counters/profiles.rs`.

use super::{Table, server};
use crate::client_session::ClientSession;
use crate::counters::profiles::{Profile, Stage};
use crate::error_map::Outcome;
use crate::reply::fixed_columns::{ColumnList, Columns, lists};
use executor::StatementContext;
use mysql_error::codes;
use parser::ast::{Limit, ProfilePart};
use types::{Decimal, Value};

/// Decimals of times.
const MICROS: u8 = 6;

/// SHOW PROFILES.
pub(super) fn profiles(session: &mut ClientSession) -> Table {
    session.core.warn(codes::warn_deprecated_syntax("SHOW PROFILES", "Performance Schema").into());
    let mut table = Table::new(lists::PROFILES);
    let kept = session.core.profiles.iter().flat_map(|profiles| profiles.kept());
    for profile in kept {
        let text = String::from_utf8_lossy(&profile.text);
        table.row(vec![Value::Int(i64::from(profile.id)), Value::Double(profile.time().as_secs_f64()), Value::from(&*text)]);
    }
    table
}

/// The value of a column that a part adds.
type Extra = fn(&Stage) -> Value;

fn micros(micros: i64) -> Value {
    Value::Decimal(Decimal::new(i128::from(micros), MICROS))
}

/// What a part tells of each stage, and the columns of that.
fn columns_of(part: ProfilePart) -> (ColumnList, &'static [Extra]) {
    match part {
        ProfilePart::Cpu => (lists::PROFILE_CPU, &[|stage| micros(stage.usage.user_micros), |stage| micros(stage.usage.system_micros)]),
        ProfilePart::ContextSwitches => (
            lists::PROFILE_CONTEXT_SWITCHES,
            &[|stage| Value::Int(stage.usage.voluntary_switches), |stage| Value::Int(stage.usage.involuntary_switches)],
        ),
        ProfilePart::BlockIo => {
            (lists::PROFILE_BLOCK_IO, &[|stage| Value::Int(stage.usage.blocks_in), |stage| Value::Int(stage.usage.blocks_out)])
        }
        // Linux counts no messages and no swaps.
        ProfilePart::Ipc => (lists::PROFILE_IPC, &[|_| Value::Int(0), |_| Value::Int(0)]),
        ProfilePart::PageFaults => {
            (lists::PROFILE_PAGE_FAULTS, &[|stage| Value::Int(stage.usage.major_faults), |stage| Value::Int(stage.usage.minor_faults)])
        }
        ProfilePart::Swaps => (lists::PROFILE_SWAPS, &[|_| Value::Int(0)]),
        ProfilePart::Source => (
            lists::PROFILE_SOURCE,
            &[
                |stage| stage.place.map_or(Value::Null, |place| Value::from(place.function)),
                |stage| stage.place.map_or(Value::Null, |place| Value::from(place.file())),
                |stage| stage.place.map_or(Value::Null, |place| Value::Int(i64::from(place.line()))),
            ],
        ),
        ProfilePart::Memory | ProfilePart::All => (lists::NOTHING, &[]),
    }
}

/// All parts, in the order of their columns.
const PARTS: [ProfilePart; 7] = [
    ProfilePart::Cpu,
    ProfilePart::ContextSwitches,
    ProfilePart::BlockIo,
    ProfilePart::Ipc,
    ProfilePart::PageFaults,
    ProfilePart::Swaps,
    ProfilePart::Source,
];

/// SHOW PROFILE: of the statement with a number, or of the last one that is kept.
pub(super) fn profile(
    session: &mut ClientSession,
    parts: &[ProfilePart],
    query: Option<u32>,
    limit: Option<&Limit<'_>>,
) -> Result<Table, Outcome> {
    session.core.warn(codes::warn_deprecated_syntax("SHOW PROFILE", "Performance Schema").into());
    let (offset, count) = server::offset_and_count(limit)?;
    // However often, and in whatever order, they are named.
    let (mut columns, mut extras) = (vec![lists::PROFILE], Vec::new());
    for part in PARTS.into_iter().filter(|part| parts.contains(part) || parts.contains(&ProfilePart::All)) {
        let (list, values) = columns_of(part);
        columns.push(list);
        extras.extend_from_slice(values);
    }
    let mut table = Table::with(Columns::of(&columns));
    let kept = session.core.profiles.as_ref().map(|profiles| profiles.kept());
    let profile = kept.and_then(|kept| match query {
        Some(id) => kept.iter().find(|profile| profile.id == id),
        None => kept.back(),
    });
    for stage in profile.iter().flat_map(|profile| profile.stages()).skip(offset).take(count) {
        let mut row = vec![Value::from(stage.name), duration(&stage)];
        row.extend(extras.iter().map(|value| value(&stage)));
        table.row(row);
    }
    Ok(table)
}

fn duration(stage: &Stage) -> Value {
    micros(i64::try_from(stage.time.as_micros()).unwrap_or(i64::MAX))
}

/// Rows of `information_schema.PROFILING`: all columns of all stages of a profile.
pub(crate) fn rows_of(profile: &Profile) -> Vec<Vec<Value>> {
    // MySQL's begin with 2.
    let numbered = profile.stages().zip(2_i64..);
    numbered
        .map(|(stage, seq)| {
            let mut row = vec![Value::Int(i64::from(profile.id)), Value::Int(seq), Value::from(stage.name), duration(&stage)];
            row.extend(PARTS.into_iter().flat_map(|part| columns_of(part).1).map(|value| value(&stage)));
            row
        })
        .collect()
}
