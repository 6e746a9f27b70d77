//! The functions of the schema `sys` (`planner::sys_functions` has their arguments and types).
//!
//! `performance_schema` records nothing here, so no account and no consumer is enabled and no thread is instrumented, as in MySQL with it OFF.

use crate::convert;
use crate::exec::Exec;
use crate::functions::format_bytes;
use crate::run::Result;
use mysql_error::{SqlError, codes};
use planner::expr::{Expr, VariableScope};
use planner::func::Func;
use planner::sys_functions::{CONFIG, FUNCTIONS, SysType};
use types::Value;

/// The user variable that says after how many characters FORMAT_STATEMENT cuts.
const TRUNCATE_LEN: &str = "sys.statement_truncate_len";

/// What FORMAT_PATH shortens, in the order in which it looks: the first directory that a path lies in.
const DIRECTORIES: [&str; 7] =
    ["datadir", "tmpdir", "replica_load_tmpdir", "innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory", "basedir"];

/// Picoseconds and names of FORMAT_TIME's units.
const UNITS: [(f64, &str); 8] =
    [(6.048e17, "w"), (8.64e16, "d"), (3.6e15, "h"), (6e13, "m"), (1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")];

/// Characters of a name.
const NAME_CHARS: usize = 64;

impl Exec<'_> {
    /// Calls one of them.
    #[inline(never)]
    #[cold]
    pub(super) fn call_sys(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        use Func as F;
        let Some(function) = FUNCTIONS.iter().find(|function| function.func == func) else {
            return Err(super::not_answered(func));
        };
        let mut given = Vec::with_capacity(args.len());
        for (arg, param) in args.iter().zip(function.params) {
            given.push(self.sys_argument(arg, *param)?);
        }
        let argument = |no: usize| given.get(no).and_then(Option::as_deref);
        let number = || argument(0).and_then(|text| text.parse::<u64>().ok());
        let made = |text: &str| Ok(Value::from(text));
        let Some(first) = argument(0) else {
            // What NULL, or nothing, means.
            return match func {
                F::SysVersionMajor | F::SysVersionMinor | F::SysVersionPatch => Ok(Value::UInt(self.version_part(func))),
                F::SysListAdd => list_add("", argument(1)),
                F::SysListDrop if argument(1).is_none() => Err(unwanted_null("list_drop: in_drop_value")),
                F::SysIsAccountEnabled => made("NO"),
                F::SysThreadId => Ok(Value::UInt(self.context.connection_id())),
                F::SysGetConfig => Ok(argument(1).map_or(Value::Null, Value::from)),
                _ => Ok(Value::Null),
            };
        };
        match func {
            F::SysSchemaOfFile => {
                let path = first.replace('\\', "/");
                let mut parts = path.rsplit('/');
                let last = parts.next().unwrap_or_default();
                made(&start(parts.next().unwrap_or(last), NAME_CHARS))
            }
            F::SysTableOfFile => {
                let path = first.replace('\\', "/");
                let file = path.rsplit('/').next().unwrap_or_default().replace("@0024", "$");
                made(&start(file.split('.').next().unwrap_or_default(), NAME_CHARS))
            }
            F::SysFormatBytes => {
                let bytes = convert::to_f64(&Value::from(first), &*self.context);
                made(&format_bytes(if bytes.abs() < 1024.0 { bytes.trunc() } else { bytes }))
            }
            F::SysFormatPath => made(&self.short_path(first)),
            F::SysFormatStatement => self.short_statement(first),
            F::SysFormatTime => {
                let picos = convert::to_f64(&Value::from(first), &*self.context);
                let Some((unit, name)) = UNITS.iter().find(|(least, _)| picos >= *least) else { return made(&format!("{first} ps")) };
                made(&format!("{} {name}", (picos / unit * 100.0).round() / 100.0))
            }
            F::SysListAdd => list_add(first, argument(1)),
            F::SysListDrop => {
                let Some(dropped) = argument(1) else { return Err(unwanted_null("list_drop: in_drop_value")) };
                let rest = format!(",{first}").replace(&format!(",{dropped}"), "").replace(&format!(", {dropped}"), "");
                made(rest.trim_matches(','))
            }
            F::SysIsAccountEnabled => made("NO"),
            F::SysIsConsumerEnabled => {
                let message = format!("Invalid argument error: {first} in function sys.ps_is_consumer_enabled.");
                Err(SqlError::with_message(3047, message).into())
            }
            F::SysIsThreadInstrumented => {
                made(if number().and_then(|id| self.context.account_of_connection(id)).is_some() { "NO" } else { "UNKNOWN" })
            }
            F::SysThreadAccount => Ok(number().and_then(|id| self.context.account_of_connection(id)).map_or(Value::Null, Value::from)),
            F::SysThreadId => {
                let there = |id: &u64| self.context.account_of_connection(*id).is_some();
                Ok(number().filter(there).map_or(Value::Null, Value::UInt))
            }
            F::SysQuoteIdentifier => made(&format!("`{}`", first.replace('`', "``"))),
            F::SysGetConfig => {
                let value = CONFIG.iter().find(|(name, _)| name.eq_ignore_ascii_case(first)).and_then(|(_, value)| *value);
                Ok(value.or(argument(1)).map_or(Value::Null, Value::from))
            }
            _ => Ok(Value::Null),
        }
    }

    /// An argument as the text that its parameter would hold: 1406 where that is too long, 1366 where it is no number.
    fn sys_argument(&mut self, arg: &Expr, (name, ty): (&str, SysType)) -> Result<Option<String>> {
        let Some(text) = self.text_arg(arg)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&text).into_owned();
        let too_long = match ty {
            SysType::VarChar(chars) => text.chars().count() > chars as usize,
            SysType::Text => text.len() > usize::from(u16::MAX),
            _ => false,
        };
        if too_long {
            return Err(codes::data_too_long(name, 1).into());
        }
        if ty == SysType::BigInt && text.trim().parse::<f64>().is_err() {
            return Err(codes::truncated_wrong_value_for_field("integer", text, name, 1).into());
        }
        Ok(Some(if ty == SysType::BigInt { text.trim().to_owned() } else { text }))
    }

    fn version_part(&self, func: Func) -> u64 {
        let at = func as usize - Func::SysVersionMajor as usize;
        let version = self.context.version();
        let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
        version.split('.').nth(at).and_then(|part| digits(part).parse().ok()).unwrap_or(0)
    }

    fn short_path(&self, path: &str) -> String {
        let path = path.strip_prefix("/private").filter(|rest| rest.starts_with('/')).unwrap_or(path);
        for variable in DIRECTORIES {
            let Ok(Value::Bytes(directory)) = self.context.system_variable(VariableScope::Global, variable) else { continue };
            let directory = directory.to_text();
            let directory = directory.trim_end_matches('/');
            if directory.is_empty() {
                continue;
            }
            if let Some(rest) = path.strip_prefix(directory).filter(|rest| rest.starts_with('/')) {
                return format!("@@{variable}{rest}");
            }
        }
        path.to_owned()
    }

    fn short_statement(&mut self, statement: &str) -> Result<Value> {
        if self.context.user_variable(TRUNCATE_LEN).value.is_null() {
            let length = CONFIG.iter().find(|(name, _)| *name == "statement_truncate_len").and_then(|(_, value)| *value);
            self.context.set_user_variable(TRUNCATE_LEN, Value::from(length.unwrap_or("64")), None);
        }
        let length = self.context.user_variable(TRUNCATE_LEN).value;
        if let Value::Bytes(text) = &length
            && text.to_text().trim().parse::<f64>().is_err()
        {
            return Err(codes::truncated_wrong_value("DOUBLE", text.to_text()).into());
        }
        let length = convert::to_f64(&length, &*self.context);
        let chars = statement.chars().count();
        let text = if chars as f64 > length {
            // Half of it at either end, and what stands between.
            let half = (length / 2.0 - 2.0).round_ties_even().max(0.0) as usize;
            let end: String = statement.chars().skip(chars.saturating_sub(half)).collect();
            format!("{} ... {end}", start(statement, half))
        } else {
            statement.to_owned()
        };
        Ok(Value::from(text.replace('\n', " ").as_str()))
    }
}

fn start(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

fn list_add(list: &str, added: Option<&str>) -> Result<Value> {
    let Some(added) = added else { return Err(unwanted_null("list_add: in_add_value")) };
    if list.is_empty() {
        return Ok(Value::from(added));
    }
    let list = list.trim_matches(' ').trim_matches(',');
    Ok(Value::from(format!("{list},{added}").as_str()))
}

fn unwanted_null(what: &str) -> crate::errors::Error {
    let message = format!("Function sys.{what} input variable should not be NULL");
    SqlError { sqlstate: *b"02200", ..SqlError::with_message(1138, message) }.into()
}
