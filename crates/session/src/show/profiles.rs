//! SHOW PROFILES and SHOW PROFILE, from `counters/profiles.rs`.

use super::{Table, server, text};
use crate::client_session::ClientSession;
use crate::counters::profiles::{Profile, Stage};
use crate::error_map::Outcome;
use executor::StatementContext;
use mysql_error::codes;
use parser::ast::{Limit, ProfilePart};
use types::{ColumnType, Decimal, Value};

/// Characters of a statement's text that the column says it has; the text may be longer, as MySQL's.
const QUERY_CHARS: u32 = 40;
/// Decimals of times.
const MICROS: u8 = 6;

/// SHOW PROFILES.
pub(super) fn profiles(session: &mut ClientSession) -> Table {
    session.core.warn(codes::warn_deprecated_syntax("SHOW PROFILES", "Performance Schema").into());
    let columns = [
        ("Query_ID", ColumnType::int().not_null()),
        ("Duration", ColumnType::double().not_null()),
        ("Query", text(QUERY_CHARS).not_null()),
    ];
    let mut table = Table::new(&columns);
    let kept = session.core.profiles.iter().flat_map(|profiles| profiles.kept());
    for profile in kept {
        let text = String::from_utf8_lossy(&profile.text);
        table.row(vec![Value::Int(i64::from(profile.id)), Value::Double(profile.time().as_secs_f64()), Value::from(&*text)]);
    }
    table
}

/// A column that a part adds, and its value of a stage.
type Extra = (&'static str, ColumnType, fn(&Stage) -> Value);

fn micros(micros: i64) -> Value {
    Value::Decimal(Decimal::new(i128::from(micros), MICROS))
}

/// `DECIMAL(9,6)` seconds.
fn seconds() -> ColumnType {
    ColumnType::decimal(9, MICROS)
}

/// What a part tells of each stage.
fn columns_of(part: ProfilePart) -> Vec<Extra> {
    let count = ColumnType::int;
    match part {
        ProfilePart::Cpu => vec![
            ("CPU_user", seconds(), |stage| micros(stage.usage.user_micros)),
            ("CPU_system", seconds(), |stage| micros(stage.usage.system_micros)),
        ],
        ProfilePart::ContextSwitches => vec![
            ("Context_voluntary", count(), |stage| Value::Int(stage.usage.voluntary_switches)),
            ("Context_involuntary", count(), |stage| Value::Int(stage.usage.involuntary_switches)),
        ],
        ProfilePart::BlockIo => vec![
            ("Block_ops_in", count(), |stage| Value::Int(stage.usage.blocks_in)),
            ("Block_ops_out", count(), |stage| Value::Int(stage.usage.blocks_out)),
        ],
        // Linux counts no messages and no swaps.
        ProfilePart::Ipc => vec![("Messages_sent", count(), |_| Value::Int(0)), ("Messages_received", count(), |_| Value::Int(0))],
        ProfilePart::PageFaults => vec![
            ("Page_faults_major", count(), |stage| Value::Int(stage.usage.major_faults)),
            ("Page_faults_minor", count(), |stage| Value::Int(stage.usage.minor_faults)),
        ],
        ProfilePart::Swaps => vec![("Swaps", count(), |_| Value::Int(0))],
        ProfilePart::Source => vec![
            ("Source_function", text(30), |stage| stage.place.map_or(Value::Null, |place| Value::from(place.function))),
            ("Source_file", text(20), |stage| stage.place.map_or(Value::Null, |place| Value::from(place.file()))),
            ("Source_line", count(), |stage| stage.place.map_or(Value::Null, |place| Value::Int(i64::from(place.line())))),
        ],
        ProfilePart::Memory | ProfilePart::All => Vec::new(),
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
    let extras: Vec<Extra> =
        PARTS.into_iter().filter(|part| parts.contains(part) || parts.contains(&ProfilePart::All)).flat_map(columns_of).collect();
    let mut columns = vec![("Status", text(30).not_null()), ("Duration", seconds().not_null())];
    columns.extend(extras.iter().map(|(name, ty, _)| (*name, ty.clone())));
    let mut table = Table::new(&columns);
    let kept = session.core.profiles.as_ref().map(|profiles| profiles.kept());
    let profile = kept.and_then(|kept| match query {
        Some(id) => kept.iter().find(|profile| profile.id == id),
        None => kept.back(),
    });
    for stage in profile.iter().flat_map(|profile| profile.stages()).skip(offset).take(count) {
        let mut row = vec![Value::from(stage.name), duration(&stage)];
        row.extend(extras.iter().map(|(_, _, value)| value(&stage)));
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
            row.extend(PARTS.into_iter().flat_map(columns_of).map(|(_, _, value)| value(&stage)));
            row
        })
        .collect()
}
