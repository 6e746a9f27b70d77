//! What a slice has shown beyond its [`Outcome`], and how it is printed: one line for people, one of JSON for scripts.

use crate::cpu::CpuTime;
use crate::histogram::Histogram;
use crate::json::Object;
use crate::options::RunOptions;
use crate::outcome::Outcome;
use crate::tally::Tally;
use std::collections::BTreeMap;
use std::time::Duration;

/// See the module's text.
pub struct Measured {
    /// What was run.
    pub options: RunOptions,
    /// What reports are made of.
    pub outcome: Outcome,
    /// All that was counted.
    pub tally: Tally,
    /// How long logging in took.
    pub login: Duration,
    /// What the server used.
    pub server_cpu: Option<CpuTime>,
    /// What this process used.
    pub client_cpu: Option<CpuTime>,
    /// The server's context switches.
    pub switches: Option<u64>,
    /// The server's memory in KiB.
    pub resident: Option<u64>,
    /// How much status counters grew.
    pub status: BTreeMap<String, f64>,
    /// What the workload's totals say: `ok`, or what is wrong; nothing where there are none.
    pub verdict: Option<String>,
}

impl Measured {
    /// Whether something was found that must not be: wrong totals or answers.
    pub fn is_wrong(&self) -> bool {
        self.verdict.as_deref().is_some_and(|verdict| verdict != "ok")
    }

    /// One line for people.
    pub fn summary(&self) -> String {
        let (options, all) = (&self.options, self.tally.all());
        let count = all.count().max(1) as f64;
        let cpu =
            self.server_cpu.map_or(String::new(), |cpu| format!(", server {:.1} + {:.1} µs", cpu.user_us / count, cpu.system_us / count));
        let mut text = format!(
            "{} {} x{}: {:.0}/s, p95 {:.2} ms, p99 {:.2} ms, max {:.1} ms{cpu}",
            options.label,
            self.outcome.workload,
            self.outcome.connections,
            self.outcome.rate(),
            all.percentile_ms(0.95),
            all.percentile_ms(0.99),
            all.max_ms()
        );
        for remark in self.remarks() {
            text.push_str("; ");
            text.push_str(&remark);
        }
        text.trim_start().to_owned()
    }

    /// What is not as everybody would wish: errors, lost connections, wrong totals.
    pub fn remarks(&self) -> Vec<String> {
        let tally = &self.tally;
        let mut remarks: Vec<String> = tally.errors.iter().map(|(code, (count, message))| format!("{count} x {code} {message}")).collect();
        for (what, count) in [("refused", tally.refused), ("lost", tally.lost), ("unfinished", tally.unfinished)] {
            if count > 0 {
                remarks.push(format!("{count} {what} ({})", tally.lost_reason.as_deref().unwrap_or("no reason")));
            }
        }
        if tally.wrong > 0 {
            remarks.push(format!("{} wrong answers", tally.wrong));
        }
        if tally.behind > 0 {
            remarks.push(format!("{} were due and had not begun: the rate is not reached", tally.behind));
        }
        remarks.extend(self.verdict.iter().map(|verdict| format!("check {verdict}")));
        remarks
    }

    /// All of it.
    pub fn json(&self) -> String {
        let (options, tally, all) = (&self.options, &self.tally, self.tally.all());
        let count = all.count().max(1) as f64;
        let measured = self.outcome.seconds.max(1e-9);
        let seconds: Vec<u64> = self.outcome.each_second.iter().map(|second| second.transactions).collect();
        let list: Vec<String> = seconds.iter().map(u64::to_string).collect();
        let mut object = Object::new()
            .text("label", &options.label)
            .text("version", &self.outcome.version)
            .text("workload", &self.outcome.workload)
            .whole("connections", options.connections as u64)
            .whole("ready", self.outcome.connections as u64)
            .whole("threads", u64::from(options.work.threads))
            .text("keys", &options.work.keys.to_string())
            .text("isolation", options.work.isolation.level().unwrap_or("default"))
            .text("statements", if options.work.text { "text" } else { "prepared" })
            .number("login_seconds", self.login.as_secs_f64())
            .number("seconds", self.outcome.seconds)
            .whole("transactions", all.count())
            .whole("replies", tally.replies)
            .number("tps", self.outcome.rate())
            .whole("tps_min", seconds.iter().min().copied().unwrap_or(0))
            .raw("per_second", &format!("[{}]", list.join(",")))
            .raw("latency_ms", &latencies(&all));
        if self.outcome.kinds.len() > 1 {
            let kinds = self.outcome.kinds.iter().fold(Object::new(), |kinds, kind| kinds.raw(&kind.name, &latencies(&kind.latency)));
            object = object.raw("kinds", &kinds.end());
        }
        if self.outcome.kinds.first().is_some_and(|kind| kind.name == "new_order") {
            object = object.number("tpmc", tally.kinds[0].count() as f64 * 60.0 / measured);
        }
        for (prefix, cpu) in [("server", self.server_cpu), ("client", self.client_cpu)] {
            if let Some(cpu) = cpu {
                object = object
                    .number(&format!("{prefix}_user_us"), cpu.user_us / count)
                    .number(&format!("{prefix}_system_us"), cpu.system_us / count)
                    .number(&format!("{prefix}_cpu_us"), (cpu.user_us + cpu.system_us) / count)
                    .number(&format!("{prefix}_cores"), (cpu.user_us + cpu.system_us) / (measured * 1e6));
            }
        }
        if let Some(switches) = self.switches {
            object = object.number("server_switches", switches as f64 / count);
        }
        if let Some(resident) = self.resident {
            object = object.whole("server_resident_kib", resident);
        }
        let errors = tally.errors.iter().fold(Object::new(), |errors, (code, (count, _))| errors.whole(&code.to_string(), *count));
        let status = self.status.iter().fold(Object::new(), |status, (name, value)| status.number(name, *value));
        object
            .whole("retries", tally.retries)
            .whole("failed", tally.failed)
            .whole("behind", tally.behind)
            .whole("wrong", tally.wrong)
            .raw("errors", &errors.end())
            .whole("refused", tally.refused)
            .whole("lost", tally.lost)
            .whole("unfinished", tally.unfinished)
            .text("reason", tally.lost_reason.as_deref().unwrap_or(""))
            .text("check", self.verdict.as_deref().unwrap_or("none"))
            .raw("status", &status.end())
            .end()
    }
}

fn latencies(histogram: &Histogram) -> String {
    Object::new()
        .whole("count", histogram.count())
        .number("mean", histogram.mean_ms())
        .number("p50", histogram.percentile_ms(0.5))
        .number("p95", histogram.percentile_ms(0.95))
        .number("p99", histogram.percentile_ms(0.99))
        .number("max", histogram.max_ms())
        .end()
}
