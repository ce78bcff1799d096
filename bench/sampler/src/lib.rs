//! Rounds of samples, the subjects alternating, and the lines they become.

mod load;
pub mod originals;
mod postgres;

pub use load::{Cpu, Load, Server, free_port, wrk};
pub use postgres::Postgres;

use std::{fmt::Write, hint::black_box, process::Command};

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

const ROUNDS: usize = 9;

pub struct Sampler {
    bench: &'static str,
    date: String,
    commit: String,
    machine: String,
    lines: String,
}

/// A name and what it does once, giving one sample.
pub type Subject<'s> = (&'static str, Box<dyn FnMut() -> f64 + 's>);

impl Sampler {
    pub fn new(bench: &'static str, date: &str) -> Sampler {
        let git = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
        let commit = git.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
        let (date, commit) = (date.to_owned(), commit.unwrap_or_default());
        Sampler { bench, date, commit, machine: machine(), lines: String::new() }
    }

    /// Takes nine samples of every subject, in turns.
    pub fn row(&mut self, row: &str, unit: &str, mut subjects: Vec<Subject<'_>>) {
        let mut samples = vec![Vec::new(); subjects.len()];
        for _ in 0..ROUNDS {
            for ((_, sample), samples) in subjects.iter_mut().zip(&mut samples) {
                samples.push(sample());
            }
        }
        for ((subject, _), samples) in subjects.iter().zip(samples) {
            self.samples(row, unit, subject, &samples);
        }
    }

    /// Notes samples taken elsewhere, or one figure that does not vary.
    pub fn samples(&mut self, row: &str, unit: &str, subject: &str, samples: &[f64]) {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        eprintln!("{row}: {subject}: {:.3} {unit}", sorted[sorted.len() / 2]);
        self.line(&json!({
            "bench": self.bench, "row": row, "subject": subject, "unit": unit, "samples": samples,
            "machine": self.machine, "date": self.date, "commit": self.commit,
        }));
    }

    /// Notes a point of a curve, which is drawn and not told: what was measured with so many clients.
    pub fn point(
        &mut self,
        curve: &str,
        clients: usize,
        unit: &str,
        subject: &str,
        samples: &[f64],
    ) {
        self.line(&json!({
            "bench": self.bench, "row": curve, "clients": clients, "subject": subject, "unit": unit,
            "samples": samples,
        }));
    }

    /// The most that `sakuin` may need in a row: a figure, or a multiple of a subject's in this or another row.
    pub fn target(&mut self, row: &str, most: f64, ratio_to: Option<(&str, &str)>) {
        let (other_row, subject) = ratio_to.unzip();
        self.line(&json!({
            "bench": self.bench, "row": row, "target": most,
            "ratio_to": subject, "ratio_to_row": other_row,
        }));
    }

    /// The most that another subject may need in a row.
    pub fn target_of(&mut self, row: &str, subject: &str, most: f64) {
        self.line(&json!({"bench": self.bench, "row": row, "subject": subject, "target": most}));
    }

    /// The most that another subject may need in a row, as a multiple of a third one's.
    pub fn target_of_ratio(&mut self, row: &str, subject: &str, most: f64, ratio_to: &str) {
        self.line(&json!({
            "bench": self.bench, "row": row, "subject": subject, "target": most, "ratio_to": ratio_to,
        }));
    }

    /// The least that `sakuin` should reach in a row, for rates.
    pub fn target_least(&mut self, row: &str, least: f64) {
        self.line(&json!({"bench": self.bench, "row": row, "target_least": least}));
    }

    /// The least multiple of a subject's rate that `sakuin` should reach.
    pub fn target_least_ratio(&mut self, row: &str, least: f64, subject: &str) {
        self.line(
            &json!({"bench": self.bench, "row": row, "target_least": least, "ratio_to": subject}),
        );
    }

    pub fn lines(self) -> String {
        self.lines
    }

    fn line(&mut self, value: &serde_json::Value) {
        writeln!(self.lines, "{value}").expect("a string takes all");
    }
}

/// Nanoseconds of CPU that this thread needs for each of `operations` that `work` does.
pub fn thread_time<T>(operations: usize, work: impl FnOnce() -> T) -> f64 {
    time(ClockId::ThreadCPUTime, operations, work)
}

/// The same for all threads of the process.
pub fn process_time<T>(operations: usize, work: impl FnOnce() -> T) -> f64 {
    time(ClockId::ProcessCPUTime, operations, work)
}

fn time<T>(clock: ClockId, operations: usize, work: impl FnOnce() -> T) -> f64 {
    let now = || {
        let time = clock_gettime(clock);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let start = now();
    let result = work();
    let end = now();
    black_box(result);
    (end - start) / operations as f64
}

/// Model of the processor and number of cores.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores", model.unwrap_or("unknown processor").trim())
}
