//! Each function is answered by the family that it is of.

use crate::batch::tests::Context;
use crate::exec::{Exec, Scratch};
use engine::{Engine, EngineConfig};
use env::{SimClock, SimDisk};
use planner::Plan;
use planner::expr::{Expr, ExprKind};
use planner::func::{Func, lookup};
use std::sync::Arc;
use types::{Collation, ColumnType, TypeKind, Value};

#[test]
fn each_function_is_answered_by_its_family() {
    let engine = Engine::open(Arc::new(SimDisk::new(1)), Arc::new(SimClock::new(0)), EngineConfig::small()).expect("an engine");
    let mut session = engine.connect();
    let plan = Plan::default();
    let null = Expr::literal(Value::Null, ColumnType::new(TypeKind::Null));
    // A constant once it is bound.
    for func in Func::ALL.iter().filter(|func| **func != Func::Coercibility) {
        let info = lookup(func.name()).expect("found by its own name");
        assert_eq!(info.func, *func);
        let args = vec![null.clone(); info.args_min];
        let call = Expr { kind: ExprKind::Func(*func, args.clone()), ty: ColumnType::varchar(100, Collation::DEFAULT) };
        let mut context = Context::default();
        let mut scratch = Scratch::default();
        let mut x = Exec::new(&plan, &[], &mut session, &mut context, &mut scratch);
        if let Err(error) = x.call(*func, &args, &call) {
            assert!(!error.to_string().contains("is not implemented"), "{func:?} of {:?}: {error}", func.family());
        }
    }
}
