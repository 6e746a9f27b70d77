//! `optimizer_switch`: MySQL's flags, and those that this planner has something to choose for.
//!
//! All of them can be set, so that applications which do are served; [`Switch`] lists those that change a plan. The others name mechanisms that
//! there is one of here, or none (`COMPAT.md`).

use std::fmt;
use std::sync::LazyLock;

/// The flags in MySQL's order, with their defaults.
const FLAGS: [(&str, bool); 27] = [
    ("index_merge", true),
    ("index_merge_union", true),
    ("index_merge_sort_union", true),
    ("index_merge_intersection", true),
    ("engine_condition_pushdown", true),
    ("index_condition_pushdown", true),
    ("mrr", true),
    ("mrr_cost_based", true),
    ("block_nested_loop", true),
    ("batched_key_access", false),
    ("materialization", true),
    ("semijoin", true),
    ("loosescan", true),
    ("firstmatch", true),
    ("duplicateweedout", true),
    ("subquery_materialization_cost_based", true),
    ("use_index_extensions", true),
    ("condition_fanout_filter", true),
    ("derived_merge", true),
    ("use_invisible_indexes", false),
    ("skip_scan", true),
    ("hash_join", true),
    ("subquery_to_derived", false),
    ("prefer_ordering_index", true),
    ("hypergraph_optimizer", false),
    ("derived_condition_pushdown", true),
    ("hash_set_operations", true),
];

/// Flags that change plans, by their place among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Switch {
    /// Several indexes of a table are read for one condition.
    IndexMerge = 0,
    /// Unions of them that come in primary key order.
    IndexMergeUnion = 1,
    /// Other unions.
    IndexMergeSortUnion = 2,
    /// Intersections.
    IndexMergeIntersection = 3,
    /// An index's entries are asked what they can tell before rows are fetched.
    IndexConditionPushdown = 5,
    /// Keys are looked up together, and rows fetched in the order of the primary key.
    Mrr = 6,
    /// Only where that is cheaper.
    MrrCostBased = 7,
    /// Joins by hash tables; MySQL's switch for them is still named after what they have replaced.
    BlockNestedLoop = 8,
    /// Joins by keys look them up together, and EXPLAIN shows it.
    BatchedKeyAccess = 9,
    /// Subqueries are run once, and their rows looked up or joined.
    Materialization = 10,
    /// IN and EXISTS become joins.
    Semijoin = 11,
    /// A correlated subquery is run once for all rows only where that is cheaper, not wherever it can be.
    SubqueryMaterializationCostBased = 15,
    /// The primary key's columns count as parts of a secondary index.
    UseIndexExtensions = 16,
    /// Conditions that no index stands for count in the number of rows that go on.
    ConditionFanoutFilter = 17,
    /// Views that only join and filter become part of the query.
    DerivedMerge = 18,
    /// Invisible indexes are seen.
    UseInvisibleIndexes = 19,
    /// Ranges of key parts behind others that are free.
    SkipScan = 20,
    /// With LIMIT an index that yields the order is taken for what it saves.
    PreferOrderingIndex = 23,
    /// Conditions go into derived tables.
    DerivedConditionPushdown = 25,
}

/// What is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Switches(u32);

impl Default for Switches {
    fn default() -> Switches {
        Switches(DEFAULT_BITS)
    }
}

const DEFAULT_BITS: u32 = {
    let (mut bits, mut at) = (0, 0);
    while at < FLAGS.len() {
        bits |= (FLAGS[at].1 as u32) << at;
        at += 1;
    }
    bits
};

/// What the variable says in a session that has not set it: read at each login, each reset and after each hint.
static DEFAULT_TEXT: LazyLock<String> = LazyLock::new(|| Switches::default().to_string());

impl Switches {
    /// Whether a flag is on.
    pub fn has(self, switch: Switch) -> bool {
        self.0 >> switch as u8 & 1 == 1
    }

    /// All flags as one number.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The flags of a number; `None` when it has others.
    pub fn from_bits(bits: u64) -> Option<Switches> {
        (bits < 1 << FLAGS.len()).then_some(Switches(bits as u32))
    }

    /// These with what a text says, `flag={on|off|default}` or `default` between commas. The error is the text from where it cannot be read.
    pub fn with(self, text: &str) -> Result<Switches, &str> {
        if text.is_empty() {
            return Ok(self);
        }
        // It names all of them.
        if text == *DEFAULT_TEXT {
            return Ok(Switches::default());
        }
        let (mut bits, mut set, mut reset) = (self.0, 0u32, false);
        let mut rest = text;
        loop {
            let (word, next) = match rest.split_once(',') {
                Some((word, next)) => (word, Some(next)),
                None => (rest, None),
            };
            if word.eq_ignore_ascii_case("default") && !reset {
                reset = true;
            } else {
                let (flag, value) = word.split_once('=').ok_or(rest)?;
                let at = FLAGS.iter().position(|(name, _)| flag.eq_ignore_ascii_case(name)).ok_or(rest)?;
                let on = match value.to_ascii_lowercase().as_str() {
                    "on" => true,
                    "off" => false,
                    "default" => FLAGS[at].1,
                    _ => return Err(rest),
                };
                if set >> at & 1 == 1 {
                    return Err(rest);
                }
                set |= 1 << at;
                bits = bits & !(1 << at) | u32::from(on) << at;
            }
            match next {
                Some(next) => rest = next,
                None => break,
            }
        }
        if reset {
            bits = bits & set | Switches::default().0 & !set;
        }
        Ok(Switches(bits))
    }
}

impl fmt::Display for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, _)) in FLAGS.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{name}={}", if self.0 >> at & 1 == 1 { "on" } else { "off" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_as_mysql_reads_them() {
        let default = Switches::default();
        let check = |text: &str, expect: Result<&[(Switch, bool)], &str>| match (default.with(text), expect) {
            (Ok(switches), Ok(list)) => list.iter().for_each(|(switch, on)| assert_eq!(switches.has(*switch), *on, "{text}")),
            (Err(rest), Err(expect)) => assert_eq!(rest, expect, "{text}"),
            (found, expect) => panic!("{text}: {found:?}, not {expect:?}"),
        };
        check("", Ok(&[(Switch::Semijoin, true)]));
        check("SEMIJOIN=Off,use_invisible_indexes=on", Ok(&[(Switch::Semijoin, false), (Switch::UseInvisibleIndexes, true)]));
        check("semijoin=off,default", Ok(&[(Switch::Semijoin, false), (Switch::DerivedMerge, true)]));
        check("semijoin=off,semijoin=on", Err("semijoin=on"));
        check("semijoin=off,", Err(""));
        check("semijoin=off, mrr=off", Err(" mrr=off"));
        check("default,default", Err("default"));
        check("mrr=on=off", Err("mrr=on=off"));
        assert_eq!(Switches(0).with("default"), Ok(default));
        assert_eq!(Switches(0).with(&default.to_string()), Ok(default));
        assert_eq!(Switches::from_bits(1 << 27), None);
    }

    #[test]
    fn switches_stand_where_their_names_do() {
        for (switch, name) in [
            (Switch::BlockNestedLoop, "block_nested_loop"),
            (Switch::Materialization, "materialization"),
            (Switch::Semijoin, "semijoin"),
            (Switch::SubqueryMaterializationCostBased, "subquery_materialization_cost_based"),
            (Switch::UseIndexExtensions, "use_index_extensions"),
            (Switch::ConditionFanoutFilter, "condition_fanout_filter"),
            (Switch::DerivedMerge, "derived_merge"),
            (Switch::UseInvisibleIndexes, "use_invisible_indexes"),
            (Switch::SkipScan, "skip_scan"),
            (Switch::PreferOrderingIndex, "prefer_ordering_index"),
            (Switch::DerivedConditionPushdown, "derived_condition_pushdown"),
        ] {
            assert_eq!(FLAGS[switch as usize].0, name);
        }
    }
}
