//! Progress, failures, skips and the summary.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use super::AbiOutcome;
use super::compilers::CompilerDriver;
use super::meta::TestMode;
use super::plan::{AbiProgram, AbiRecord, AbiVerdict, cell_name};

/// Collects verdicts from several threads and prints as they come.
pub struct AbiReport {
    state: Mutex<AbiState>,
    start: Instant,
}

#[derive(Default)]
struct AbiState {
    total: usize,
    done: usize,
    outcome: AbiOutcome,
    table: BTreeMap<(String, TestMode), AbiCell>,
    skips: BTreeMap<String, Vec<String>>,
    /// A line for each run: program, compiler, way of loading, threads, devices, seconds, separated
    /// by tabs.
    cells: Vec<String>,
}

/// Runs of one compiler with one way of loading, by outcome.
#[derive(Default)]
struct AbiCell {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl AbiReport {
    /// Empty.
    pub fn new() -> Self {
        Self { state: Mutex::new(AbiState::default()), start: Instant::now() }
    }

    /// Announces the set.
    pub fn begin(&self, programs: usize, compilers: &[CompilerDriver]) {
        let names: Vec<String> = compilers.iter().map(|c| format!("{} ({})", c.name, c.version)).collect();
        println!("abi-tests: {programs} programs; compilers: {}", names.join(", "));
        self.with(|state| state.total = programs);
    }

    /// A line that is no verdict.
    pub fn note(&self, line: &str) {
        println!("note: {line}");
    }

    /// A pair that is not built.
    pub fn skip(&self, title: &str, reason: &str) {
        self.with(|state| state.skip(title, reason));
    }

    /// A source with a bad header.
    pub fn fail_source(&self, name: &str, problem: &str) {
        println!("FAIL {name}: {problem}");
        self.with(|state| state.fail(format!("{name}: {problem}")));
    }

    /// A check that is not a compiled program.
    pub fn check(&self, name: &str, verdict: AbiVerdict) {
        self.with(|state| match verdict {
            AbiVerdict::Passed => state.outcome.passed += 1,
            AbiVerdict::Skipped(reason) => state.skip(name, &reason),
            AbiVerdict::Failed(what, command) => {
                println!("FAIL {name}: {what}\n     {command}");
                state.fail(format!("{name}: {what}"));
            }
        });
    }

    /// Takes the runs of one program.
    pub fn add(&self, program: &AbiProgram, records: Vec<AbiRecord>) {
        let seconds = self.start.elapsed().as_secs();
        self.with(|state| {
            state.done += 1;
            state.outcome.programs += 1;
            for record in records {
                state.record(program, record);
            }
            if state.done % 25 == 0 || state.done == state.total {
                println!(
                    "[{}/{}] {} passed, {} failed, {seconds} s",
                    state.done,
                    state.total,
                    state.outcome.passed,
                    state.outcome.failures.len()
                );
            }
        });
    }

    /// Writes a line for each run to `file`.
    pub fn write_cells(&self, file: &Path) -> Result<(), String> {
        self.with(|state| {
            state.cells.sort();
            fs::write(file, state.cells.join("\n") + "\n")
                .map_err(|error| format!("{}: {error}", file.display()))
        })
    }

    /// Prints skips, the table and the last line.
    pub fn finish(&self) -> AbiOutcome {
        self.with(|state| {
            state.print_skips();
            state.print_table();
            println!(
                "{} programs built and run in {} s",
                state.outcome.programs,
                self.start.elapsed().as_secs()
            );
            for failure in &state.outcome.failures {
                println!("failed: {failure}");
            }
            let AbiOutcome { passed, failures, skipped, .. } = &state.outcome;
            println!("abi-tests: {passed} passed, {} failed, {skipped} skipped", failures.len());
            state.outcome.clone()
        })
    }

    fn with<R>(&self, change: impl FnOnce(&mut AbiState) -> R) -> R {
        change(&mut self.state.lock().expect("no holder panics"))
    }
}

impl AbiState {
    fn skip(&mut self, title: &str, reason: &str) {
        self.outcome.skipped += 1;
        self.skips.entry(reason.to_owned()).or_default().push(title.to_owned());
    }

    fn fail(&mut self, line: String) {
        self.outcome.failures.push(line);
    }

    fn record(&mut self, program: &AbiProgram, record: AbiRecord) {
        if !matches!(record.verdict, AbiVerdict::Skipped(_)) {
            let name = cell_name(program, record.mode, record.threads, record.devices);
            self.cells.push(format!("{name}\t{:.2}", record.seconds));
        }
        let cell = self.table.entry((program.compiler.name.clone(), record.mode)).or_default();
        let title =
            format!("{} {:?} threads={}", program.title(), record.mode, record.threads).to_lowercase();
        match record.verdict {
            AbiVerdict::Passed => {
                cell.passed += 1;
                self.outcome.passed += 1;
            }
            AbiVerdict::Skipped(reason) => {
                cell.skipped += 1;
                self.skip(&title, &reason);
            }
            AbiVerdict::Failed(what, command) => {
                cell.failed += 1;
                println!("FAIL {title}: {what}\n     {command}");
                self.fail(format!("{title}: {what}"));
            }
        }
    }

    fn print_skips(&self) {
        for (reason, titles) in &self.skips {
            let shown: Vec<&str> = titles.iter().take(3).map(String::as_str).collect();
            let more = if titles.len() > 3 { ", …" } else { "" };
            println!("skipped ({}): {reason}: {}{more}", titles.len(), shown.join(", "));
        }
    }

    fn print_table(&self) {
        println!("{:<14} {:<8} {:>7} {:>7} {:>7}", "compiler", "loaded", "passed", "failed", "skipped");
        for ((compiler, mode), cell) in &self.table {
            let mode = format!("{mode:?}").to_lowercase();
            println!("{compiler:<14} {mode:<8} {:>7} {:>7} {:>7}", cell.passed, cell.failed, cell.skipped);
        }
    }
}
