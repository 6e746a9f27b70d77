//! Random expressions over random chunks: what kernels say is what the evaluator says, value by value, and where the evaluator warns or fails
//! they say nothing.

use super::chunk::Chunk;
use super::column::Column;
use super::compare::{FALSE, NULL, TRUE};
use crate::context::{StatementContext, UserVariable};
use crate::exec::{Exec, Scratch};
use crate::run::Result;
use engine::{Engine, EngineConfig};
use env::SplitMix64 as Random;
use env::{SimClock, SimDisk};
use mysql_error::{SqlError, Warning};
use planner::Plan;
use planner::expr::{ArithOp, CastTo, CmpOp, Expr, ExprKind, VariableScope};
use planner::func::Func;
use std::sync::Arc;
use types::{Collation, ColumnType, Date, DateTime, Decimal, LocalTime, SqlMode, Time, TimeZone, Timestamp, TypeKind, Utc, Value};

/// A session, in UTC where it has no other zone, that keeps warnings.
#[derive(Default)]
pub(crate) struct Context {
    warnings: Vec<Warning>,
    pub(crate) zone: Option<TimeZone>,
}

impl Context {
    fn zone(&self) -> &dyn LocalTime {
        match &self.zone {
            Some(zone) => zone,
            None => &Utc,
        }
    }
}

impl LocalTime for Context {
    fn offset_at_utc(&self, utc_micros: i64) -> i32 {
        self.zone().offset_at_utc(utc_micros)
    }
    fn local_to_utc(&self, local_micros: i64) -> Option<i64> {
        self.zone().local_to_utc(local_micros)
    }
}

impl StatementContext for Context {
    fn statement_micros(&self) -> i64 {
        1_714_979_289_123_456
    }
    fn current_micros(&self) -> i64 {
        1_714_979_289_123_456
    }
    fn sql_mode(&self) -> SqlMode {
        SqlMode::DEFAULT
    }
    fn database(&self) -> Option<&str> {
        None
    }
    fn user(&self) -> String {
        String::new()
    }
    fn current_user(&self) -> String {
        String::new()
    }
    fn version(&self) -> String {
        String::new()
    }
    fn connection_id(&self) -> u64 {
        1
    }
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn set_last_insert_id(&mut self, _: u64) {}
    fn row_count(&self) -> i64 {
        0
    }
    fn found_rows(&self) -> u64 {
        0
    }
    fn user_variable(&self, _: &str) -> UserVariable {
        UserVariable::default()
    }
    fn set_user_variable(&mut self, _: &str, _: Value, _: Option<Collation>) {}
    fn system_variable(&self, _: VariableScope, name: &str) -> Result<Value> {
        Err(mysql_error::codes::unknown_system_variable(name).into())
    }
    fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }
    fn random(&mut self) -> f64 {
        0.5
    }
    fn sleep(&mut self, _: f64) -> bool {
        false
    }
    fn is_cancelled(&self) -> bool {
        false
    }
    fn cancel_error(&self) -> SqlError {
        mysql_error::codes::query_interrupted()
    }
}

/// Kinds of values that a column is made of; the last one mixes them.
const KINDS: u64 = 12;

fn value(r: &mut Random, kind: u64) -> Value {
    let small = r.below(12) as i64 - 4;
    match kind {
        0 | 1 => Value::Int(small),
        2 => Value::Int(r.pick(&[i64::MAX, i64::MIN, i64::MAX - 1, 1 << 40, 0, -1])),
        3 => Value::UInt(r.pick(&[0, 1, 2, 3, u64::MAX, 1 << 63])),
        4 => Value::Double(small as f64 / 2.0),
        5 => Value::Decimal(Decimal::new(i128::from(small) * 25, 2)),
        6 => Value::Decimal(r.pick(&[Decimal::new(i128::MAX, 3), Decimal::new(15, 1), Decimal::new(-7, 30), Decimal::ZERO])),
        7 => Value::from(r.pick(&["a", "A", "ab", "b%", "", "1", "2.5x", "2024-01-02", "ä"])),
        8 => Value::Date(Date::from_fields(2024, 1, r.below(4) as u8 + 1)),
        9 => Value::DateTime(DateTime::from_fields(Date::from_fields(2024, 1, r.below(3) as u8 + 1), r.below(2) as u8, 0, 0, 0)),
        10 => match r.below(3) {
            0 => Value::Time(Time::from_micros(small * 1_000_000)),
            1 => Value::Timestamp(Timestamp::from_micros(1_704_067_200_000_000 + small * 86_400_000_000)),
            _ => Value::Float(small as f32 / 4.0),
        },
        _ => {
            let kind = r.below(KINDS - 1);
            value(r, kind)
        }
    }
}

fn type_of(kind: u64) -> ColumnType {
    match kind {
        0..=2 => ColumnType::bigint(),
        3 => ColumnType::bigint_unsigned(),
        4 => ColumnType::double(),
        5 | 6 => ColumnType::decimal(20, 2),
        8 => ColumnType::new(TypeKind::Date),
        9 => ColumnType::temporal(TypeKind::DateTime, 0),
        _ => ColumnType::varchar(20, Collation::DEFAULT),
    }
}

fn expression(r: &mut Random, depth: u32, params: usize) -> Expr {
    let boxed = |r: &mut Random| Box::new(expression(r, depth - 1, params));
    let collation = r.pick(&[Collation::DEFAULT, Collation::Binary, Collation::Utf8mb4Bin]);
    let negated = r.below(2) == 0;
    if depth == 0 || r.below(6) == 0 {
        let kind = r.below(KINDS);
        return match r.below(8) {
            0 => {
                let v = if r.below(8) == 0 { Value::Null } else { value(r, kind) };
                Expr::literal(v, type_of(kind))
            }
            1 => Expr { kind: ExprKind::Param(r.below(params as u64) as u32), ty: type_of(kind) },
            // The last slot is of an enclosing query.
            2 => Expr::slot(KINDS as u32, ColumnType::bigint()),
            _ => Expr::slot(kind as u32, type_of(kind)),
        };
    }
    let list = |r: &mut Random, n: u64| (0..2 + r.below(n)).map(|_| expression(r, depth - 1, params)).collect::<Vec<_>>();
    let kind = match r.below(17) {
        0..=2 => {
            use ArithOp::*;
            ExprKind::Arith(r.pick(&[Add, Add, Sub, Sub, Mul, Mul, Div, IntDiv, Mod, BitAnd, BitXor, ShiftLeft]), boxed(r), boxed(r))
        }
        3 => ExprKind::Neg(boxed(r)),
        4..=6 => {
            use CmpOp::*;
            ExprKind::Compare(r.pick(&[Eq, NullSafeEq, Ne, Lt, Le, Gt, Ge]), collation, boxed(r), boxed(r))
        }
        7 => ExprKind::And(list(r, 2)),
        8 => ExprKind::Or(list(r, 2)),
        9 => ExprKind::Not(boxed(r)),
        10 => ExprKind::IsNull { operand: boxed(r), negated },
        11 => match r.below(2) {
            0 => ExprKind::IsTruth { operand: boxed(r), truth: r.below(2) == 0, negated },
            _ => ExprKind::Xor(boxed(r), boxed(r)),
        },
        12 => ExprKind::Between { operand: boxed(r), low: boxed(r), high: boxed(r), negated, collation },
        13 => {
            let list =
                if r.below(2) == 0 { (0..4).map(|_| Expr::literal(value(r, 0), ColumnType::bigint())).collect() } else { list(r, 3) };
            ExprKind::InList { operand: boxed(r), list: list.into(), negated, collation }
        }
        14 => ExprKind::Like { operand: boxed(r), pattern: boxed(r), escape: Some('\\'), negated, collation },
        15 => ExprKind::Case {
            operand: (r.below(2) == 0).then(|| boxed(r)),
            branches: (0..1 + r.below(2)).map(|_| (*boxed(r), *boxed(r))).collect(),
            otherwise: (r.below(2) == 0).then(|| boxed(r)),
            collation,
        },
        _ => match r.below(6) {
            0 => ExprKind::Func(Func::If, (0..3).map(|_| *boxed(r)).collect()),
            1 => ExprKind::Func(r.pick(&[Func::Coalesce, Func::IfNull, Func::Greatest, Func::NullIf]), vec![*boxed(r), *boxed(r)]),
            2 => ExprKind::Func(r.pick(&[Func::Length, Func::Upper, Func::Ascii]), vec![*boxed(r)]),
            3 => ExprKind::Func(r.pick(&[Func::Abs, Func::Day, Func::Sign]), vec![*boxed(r)]),
            4 => ExprKind::Cast(boxed(r), r.pick(&[CastTo::Signed, CastTo::Double, CastTo::Date])),
            _ => ExprKind::Collate(boxed(r), collation),
        },
    };
    let ty_kind = r.pick(&[0, 4, 5, 7]);
    Expr { kind, ty: type_of(ty_kind) }
}

fn random_chunk(r: &mut Random) -> Chunk {
    let len = r.below(40) as usize;
    let mut chunk = Chunk::default();
    chunk.reset(0..KINDS as u32);
    let nulls: Vec<u64> = (0..KINDS).map(|_| r.pick(&[0, 0, 1, 5, 10])).collect();
    for (kind, column) in chunk.columns_mut().iter_mut().enumerate() {
        for _ in 0..len {
            if r.below(10) < nulls[kind] {
                column.push_null();
            } else {
                column.push(&value(r, kind as u64));
            }
        }
    }
    chunk.set_len(len);
    if r.below(2) == 0 {
        let rows = (0..len as u16).filter(|_| r.below(3) > 0).collect();
        chunk.select(rows);
    }
    chunk
}

#[test]
fn kernels_agree_with_the_evaluator() {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_120);
    println!("SEED={seed}");
    let mut r = Random::new(seed);
    let engine = Engine::open(Arc::new(SimDisk::new(1)), Arc::new(SimClock::new(0)), EngineConfig::small()).expect("an engine");
    let mut session = engine.connect();
    let plan = Plan { frame_slots: KINDS as u32 + 1, param_count: 3, ..Plan::default() };
    let (mut answered, mut given_up, mut needless) = (0u64, 0u64, 0u64);
    for round in 0..6_000 {
        let params: Vec<Value> = [0, 5, 7].into_iter().map(|kind| value(&mut r, kind)).collect();
        let mut context = Context::default();
        let mut scratch = Scratch::default();
        let mut x = Exec::new(&plan, &params, &mut session, &mut context, &mut scratch);
        let chunk = random_chunk(&mut r);
        let outer = value(&mut r, 0);
        x.frame[KINDS as usize] = outer;
        let e = expression(&mut r, 3, params.len());
        let values = x.vector(&e, &chunk, chunk.rows());
        let truths = x.truths(&e, &chunk, chunk.rows());
        let mut clean = true;
        // As (value, truth) of each row; `None` where the evaluator fails.
        let mut expect = Vec::new();
        for row in chunk.rows() {
            chunk.load(usize::from(*row), &mut x.frame);
            let value = x.eval(&e).ok();
            let truth = x.truth(&e).ok();
            clean &= value.is_some();
            expect.push((value, truth));
        }
        drop(x);
        clean &= context.warnings.is_empty();
        let told = |row: u16| format!("SEED={seed} round {round} row {row}: {e:#?}\n{chunk:?}\n{:?}", context.warnings);
        match (values, truths) {
            (Some(values), Some(truths)) => {
                answered += 1;
                assert!(clean || chunk.rows().is_empty(), "a kernel passed over a warning or an error: {}", told(0));
                for (row, (value, truth)) in chunk.rows().iter().zip(expect) {
                    assert_eq!(Some(values.value(usize::from(*row))), value, "{}", told(*row));
                    let found = match truths[usize::from(*row)] {
                        FALSE => Some(false),
                        TRUE => Some(true),
                        NULL => None,
                        other => panic!("truth {other}"),
                    };
                    assert_eq!(Some(found), truth, "{}", told(*row));
                }
            }
            _ => {
                given_up += 1;
                needless += u64::from(clean);
            }
        }
    }
    println!("answered {answered}, given up {given_up}, without need {needless}");
    assert!(answered > given_up, "kernels answer most expressions: {answered} of {}", answered + given_up);
    assert!(given_up > 0, "some expressions need the evaluator");
}

#[test]
fn a_column_of_one_value_is_that_value() {
    for v in [Value::Null, Value::Int(3), Value::from("abc"), Value::Decimal(Decimal::new(5, 1))] {
        let column = Column::repeat(&v, 3);
        assert_eq!((0..column.len()).map(|at| column.value(at)).collect::<Vec<_>>(), vec![v.clone(), v.clone(), v]);
    }
}
