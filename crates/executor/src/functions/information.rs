//! What is known of the session, the server and an expression; what waits, and named locks.

use super::not_answered;
use crate::context::UserLockCall;
use crate::convert;
use crate::exec::Exec;
use crate::run::Result;
use mysql_error::codes;
use planner::expr::Expr;
use planner::func::Func;
use types::Value;

impl Exec<'_> {
    /// Calls one of them.
    #[inline(never)]
    pub(super) fn call_information(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        use Func as F;
        match func {
            F::Database => Ok(self.context.database().map_or(Value::Null, Value::from)),
            F::User => Ok(Value::from(self.context.user())),
            F::CurrentUser => Ok(Value::from(self.context.current_user())),
            F::Version => Ok(Value::from(self.context.version())),
            F::ConnectionId => Ok(Value::UInt(self.context.connection_id())),
            F::LastInsertId => match args.first() {
                None => Ok(Value::UInt(self.context.last_insert_id())),
                Some(a) => {
                    let v = self.eval(a)?;
                    let id = self.bits_of_operand(&v, a)?;
                    self.context.set_last_insert_id(id);
                    self.explicit_insert_id = Some(id);
                    Ok(if v.is_null() { v } else { Value::UInt(id) })
                }
            },
            F::QueryAttribute => match self.eval(&args[0])? {
                Value::Bytes(name) => Ok(self.context.query_attribute(&name)),
                _ => Ok(Value::Null),
            },
            F::RowCount => Ok(Value::Int(self.context.row_count())),
            F::FoundRows => Ok(Value::Int(self.context.found_rows() as i64)),
            F::Sleep => {
                let Some(seconds) = self.double_arg(&args[0])? else {
                    return Err(mysql_error::codes::wrong_arguments("sleep.").into());
                };
                if seconds < 0.0 {
                    return Err(mysql_error::codes::wrong_arguments("sleep.").into());
                }
                let killed = self.context.sleep(seconds);
                // Between one row and the next MySQL sees that the statement is to end; without tables there is no next.
                if killed && !self.plan.tables.is_empty() {
                    return Err(self.context.cancel_error().into());
                }
                Ok(Value::bool(killed))
            }
            F::GetLock | F::ReleaseLock | F::IsFreeLock | F::IsUsedLock => self.user_lock(func, args),
            F::ReleaseAllLocks => Ok(Value::UInt(self.context.release_all_user_locks()?)),
            F::LoadFile => {
                let Some(name) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(self.context.load_file(&name)?.map_or(Value::Null, Value::bytes))
            }
            F::Charset => Ok(Value::from(charset_of(&args[0]))),
            F::CollationOf => Ok(Value::from(collation_of(&args[0]))),
            F::Benchmark => self.benchmark(args),
            F::CurrentRole => Ok(Value::from(self.context.current_role())),
            _ => Err(not_answered(func)),
        }
    }

    /// GET_LOCK and its family, of one name.
    #[inline(never)]
    fn user_lock(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        use Func as F;
        let name = match args.first() {
            Some(name) => self.text_arg(name)?,
            None => None,
        };
        let name = name.map(|name| String::from_utf8_lossy(&name).into_owned());
        let call = match func {
            F::GetLock => {
                let timeout = self.eval(&args[1])?;
                // NULL is 0.
                UserLockCall::Get { timeout_s: convert::to_i64(&timeout, &*self.context) }
            }
            F::ReleaseLock => UserLockCall::Release,
            F::IsFreeLock => UserLockCall::IsFree,
            F::IsUsedLock => UserLockCall::IsUsed,
            _ => return Err(not_answered(func)),
        };
        let unsigned = func == F::IsUsedLock;
        Ok(match self.context.user_lock(call, name.as_deref())? {
            Value::Int(n) if unsigned => Value::UInt(n.cast_unsigned()),
            other => other,
        })
    }

    /// BENCHMARK: the expression again and again, and then 0.
    fn benchmark(&mut self, args: &[Expr]) -> Result<Value> {
        let Some(count) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
        if count < 0 {
            self.tell(codes::wrong_value_for_type("count", count, "benchmark"))?;
            return Ok(Value::Null);
        }
        for _ in 0..count {
            self.tick()?;
            self.eval(&args[1])?;
        }
        Ok(Value::Int(0))
    }
}

fn charset_of(e: &Expr) -> &'static str {
    if planner::typing::is_string_class(&e.ty) { e.ty.collation.charset().name() } else { "binary" }
}

fn collation_of(e: &Expr) -> &'static str {
    if planner::typing::is_string_class(&e.ty) { e.ty.collation.name() } else { "binary" }
}
