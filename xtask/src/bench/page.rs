//! The page docs/benchmarks.md, and a plot for each family.

use super::measure::{BenchEnding, Measured};
use super::plan::{self, BenchRow, RowFamily, TargetBar};
use super::verdict::{self, BarVerdict};
use super::{instructions, record};
use crate::lanes::BenchLane;
use crate::lanes::show::{digits, markdown};
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};
use svg::Chart;

/// The table of all figures.
const RECORD: &str = "benchmarks.tsv";

/// What a row may take by medians, as a multiple of the better peer's time. Chosen: medians of a few
/// rounds differ by some hundredths on an idle machine; any value from 1.03 to 1.1 will do.
const MOST_BY_MEDIANS: f64 = 1.05;

/// What the page says before its tables.
const HEAD: &str = "\
# Overheads beside libgomp and libomp

Written by `cargo xtask bench`, and by `cargo xtask pages` from [all figures](plots/benchmarks.tsv) of its last run; [benchmarks](../benchmarks/README.md) describes the programs, and how they are measured.

*Cells* are least / median; ᵖ: with `OMP_WAIT_POLICY=passive`, which was faster than the default. *Ratio* is the faster of Gangway's
two columns over the better peer, by their least and by the medians beside them: below 1, Gangway is faster. In the task suite
it is the median of the ratios of the same round, in the build of the better peer, with its 95 % confidence interval. *Aim* says what we want, and
whether both of Gangway's columns have it. T is the number of threads of the outermost team. The plots show the same least
figures, relative to the better peer.

";

fn cell(measured: &Measured, lane: usize) -> String {
    let series = measured.best(lane);
    if let Some(figure) = series.figure() {
        let mark = if series.passive { "ᵖ" } else { "" };
        return format!("{} / {}{mark}", digits(figure.least), digits(figure.median));
    }
    match &series.ending {
        Some(BenchEnding::Stopped(seconds)) => format!("no end within {seconds} s"),
        Some(BenchEnding::Failed(why)) => why.clone(),
        Some(BenchEnding::Serial) => "on one thread".into(),
        Some(BenchEnding::Slow) | None => "-".into(),
    }
}

fn ratio(measured: &Measured, lanes: &[BenchLane]) -> String {
    if measured.row.family != RowFamily::Suite {
        let words = |(least, median)| format!("{} / {}", digits(least), digits(median));
        return verdict::ratio(measured, lanes).map_or("-".into(), words);
    }
    verdict::pairs(measured, lanes).map_or("-".into(), |(ratio, _)| {
        let interval = ratio.interval.map(|(low, high)| format!(" [{}, {}]", digits(low), digits(high)));
        digits(ratio.median) + &interval.unwrap_or_default()
    })
}

fn aims(measured: &Measured, lanes: &[BenchLane]) -> String {
    if measured.row.bars.is_empty() {
        return "none: no call of a runtime".into();
    }
    let words = measured.row.bars.iter().map(|bar| {
        let aim = match bar {
            TargetBar::Peers => "≤ peers".to_string(),
            TargetBar::TimesLibomp(times) => format!("≤ libomp/{times}"),
            TargetBar::AtMost(most) => format!("≤ {}", digits(*most)),
            TargetBar::Pairs(most) => format!("≤ {most} peers"),
        };
        match verdict::of(*bar, measured, lanes) {
            BarVerdict::Met => format!("{aim}: met"),
            BarVerdict::Missed => format!("{aim}: **missed**"),
            BarVerdict::Open => aim,
        }
    });
    words.collect::<Vec<String>>().join("; ")
}

/// A row in one line, for progress.
pub fn line(measured: &Measured, lanes: &[BenchLane]) -> String {
    let figure = |at: usize| format!("{} {}", lanes[at].name, cell(measured, at));
    let figures: Vec<String> = (0..lanes.len()).filter(|at| cell(measured, *at) != "-").map(figure).collect();
    let (row, ratio) = (&measured.row, ratio(measured, lanes));
    format!("{row} [{}]: {}; ratio {ratio}", row.unit.0, figures.join("; "))
}

fn table(family: RowFamily, all: &[Measured], lanes: &[BenchLane]) -> Option<String> {
    let rows: Vec<&Measured> = all.iter().filter(|one| one.row.family == family).collect();
    let shown: Vec<usize> =
        (0..lanes.len()).filter(|at| rows.iter().any(|one| cell(one, *at) != "-")).collect();
    let mut lines = vec![["", "unit", "T"].map(String::from).to_vec()];
    lines[0].extend(shown.iter().map(|at| lanes[*at].name.clone()));
    lines[0].extend(["ideal", "ratio", "aim"].map(String::from));
    for one in &rows {
        let row = &one.row;
        let mut line = vec![row.title.clone(), row.unit.0.into(), row.threads.to_string()];
        line.extend(shown.iter().map(|at| cell(one, *at)));
        line.push(row.ideal.map_or("-".into(), digits));
        line.extend([ratio(one, lanes), aims(one, lanes)]);
        lines.push(line);
    }
    (!rows.is_empty()).then(|| markdown(&lines))
}

/// The tables of all families.
pub fn tables(all: &[Measured], lanes: &[BenchLane]) -> String {
    let part = |family: &RowFamily| Some(format!("{}\n\n{}", family.names().0, table(*family, all, lanes)?));
    let parts: Vec<String> = RowFamily::ALL.iter().filter_map(part).collect();
    format!("{}\n{}", parts.join("\n"), summary(all, lanes))
}

/// How many rows have all they should.
fn summary(all: &[Measured], lanes: &[BenchLane]) -> String {
    let has = |one: &Measured, wanted: BarVerdict| {
        one.row.bars.iter().any(|bar| verdict::of(*bar, one, lanes) == wanted)
    };
    let missed = all.iter().filter(|one| has(one, BarVerdict::Missed)).count();
    let open = all.iter().filter(|one| !has(one, BarVerdict::Missed) && has(one, BarVerdict::Open)).count();
    let aimed = all.iter().filter(|one| !one.row.bars.is_empty()).count();
    let aims = format!(
        "{aimed} rows with aims: {} meet them, {missed} do not, {open} are open.",
        aimed - missed - open
    );
    format!("{aims}\n\n{}", behind_by_medians(all, lanes))
}

/// The rows in which Gangway is behind the better peer by medians, with the program of that peer.
fn behind_by_medians(all: &[Measured], lanes: &[BenchLane]) -> String {
    let with_peers = all.iter().filter(|one| one.row.bars.contains(&TargetBar::Peers));
    let ratios: Vec<(&Measured, f64)> =
        with_peers.filter_map(|one| Some((one, verdict::by_medians(one, lanes)?))).collect();
    let behind: Vec<String> = ratios
        .iter()
        .filter(|(_, ratio)| *ratio > MOST_BY_MEDIANS)
        .map(|(one, ratio)| format!("{} T={} ({})", one.row.title, one.row.threads, digits(*ratio)))
        .collect();
    format!(
        "In {} of {} rows that aim at the peers, the better peer's program takes more than {MOST_BY_MEDIANS} times as long on Gangway, by medians{}{}.",
        behind.len(),
        ratios.len(),
        if behind.is_empty() { "" } else { ":\n" },
        behind.join(";\n")
    )
}

/// Writes plots/benchmarks.tsv, and from it benchmarks.md and a plot for each family. Rows of
/// `plan` that are not in `all` are taken from the benchmarks.tsv that is there.
///
/// # Errors
/// A directory or a file that cannot be written.
pub fn write(out: &Path, plan: &[BenchRow], all: &[Measured], lanes: &[BenchLane]) -> io::Result<()> {
    let plots = out.join("plots");
    fs::create_dir_all(&plots)?;
    let before = fs::read_to_string(plots.join(RECORD)).unwrap_or_default();
    let now = |row: &BenchRow| all.iter().find(|one| one.row.to_string() == row.to_string()).cloned();
    let kept = |row: &BenchRow| record::read(&before, vec![row.clone()], lanes).pop();
    let all: Vec<Measured> = plan.iter().filter_map(|row| now(row).or_else(|| kept(row))).collect();
    let text = record::write(&machine(), &all, lanes);
    for (name, content) in of_record(&text, plan.to_vec()) {
        fs::write(out.join(name), content)?;
    }
    fs::write(plots.join(RECORD), text)
}

/// The page and the plots as the record of a whole run in `docs` says, each with its name there.
pub fn pages(docs: &Path) -> io::Result<Vec<(String, String)>> {
    let text = fs::read_to_string(docs.join("plots").join(RECORD))?;
    let processors = record::machine(&text).split(' ').find_map(|word| word.parse().ok()).unwrap_or(1);
    Ok(of_record(&text, plan::rows(processors, false)))
}

fn of_record(text: &str, plan: Vec<BenchRow>) -> Vec<(String, String)> {
    let lanes = record::lanes(text);
    let all = record::read(text, plan, &lanes);
    let mut page = format!("{HEAD}{}\n\n{}\n", record::machine(text), summary(&all, &lanes));
    let mut files = vec![];
    for family in RowFamily::ALL {
        let Some(table) = table(family, &all, &lanes) else { continue };
        let (heading, word) = family.names();
        let note = family.note();
        let _ = writeln!(page, "\n## {heading}\n\n{note}{table}\n![{heading}](plots/bench_{word}.svg)");
        files.push((format!("plots/bench_{word}.svg"), plot(family, &all, &lanes)));
    }
    let _ = write!(page, "\n{}", instructions::page());
    files.push(("benchmarks.md".into(), page));
    files
}

/// What it was measured on, in one line.
fn machine() -> String {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let text = read("/proc/cpuinfo");
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).collect();
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    let load = load.split(' ').nth(2).unwrap_or("?");
    format!(
        "Measured on {} processors ({}), Linux {}; load average of the last quarter of an hour, this run included: {load}.",
        names.len(),
        names.first().unwrap_or(&"unknown"),
        kernel.split('-').next().unwrap_or_default().trim(),
    )
}

/// Least figures relative to those of the better peer, on a logarithmic axis.
fn plot(family: RowFamily, all: &[Measured], lanes: &[BenchLane]) -> String {
    let rows: Vec<(&Measured, f64)> = all
        .iter()
        .filter(|one| one.row.family == family)
        .filter_map(|one| Some((one, verdict::better_peer(one, lanes)?.1.least)))
        .collect();
    let groups: Vec<String> = rows.iter().map(|(one, _)| label(one)).collect();
    let series = lanes.iter().enumerate().map(|(at, lane)| svg::Series {
        name: lane.name.clone(),
        values: rows
            .iter()
            .map(|(one, peer)| one.best(at).figure().map_or(f64::NAN, |figure| figure.least / peer))
            .map(|ratio| if ratio > 0.0 && ratio.is_finite() { ratio } else { f64::NAN })
            .collect(),
    });
    let series: Vec<svg::Series> =
        series.filter(|one| one.values.iter().any(|value| value.is_finite())).collect();
    let mut chart = Chart::new(family.names().0, "", "relative to the better peer (below 1: faster)");
    chart.logarithmic = true;
    chart.width = chart.width.max(100 + 70 * groups.len() as u32);
    let names: Vec<&str> = groups.iter().map(String::as_str).collect();
    svg::grouped_bars(&chart, &names, &series)
}

/// A short name for below the bars of a row, and its threads.
fn label(measured: &Measured) -> String {
    let row = &measured.row;
    let one_of_several = !matches!(row.family, RowFamily::Nested | RowFamily::Spin | RowFamily::Process);
    let most = if one_of_several { 26 } else { 11 };
    let short = row.title.split(", per iteration").next().unwrap_or_default();
    let short: String = short.chars().take(most).collect();
    format!("{}\nT={}", short.trim_end_matches([' ', ',']), row.threads)
}

#[cfg(test)]
mod tests {
    use super::super::measure::LaneSeries;
    use super::super::verdict::tests::{lanes, measured};
    use super::*;

    #[test]
    fn a_table_shows_figures_ratio_and_verdict() {
        let all = [measured([4.0, 1.0, 2.0, 3.0], 1)];
        let text = tables(&all, &lanes());
        assert!(
            text.contains("| 4.00 / 4.00 |")
                && text.contains("| 0.50 / 0.50 ")
                && text.contains("≤ peers: **missed**"),
            "{text}"
        );
        assert!(text.contains("1 rows with aims: 0 meet them, 1 do not, 0 are open."), "{text}");
        assert!(text.contains("In 1 of 1 rows") && text.contains(" (1.50)."), "{text}");
    }

    #[test]
    fn the_passive_policy_is_marked_where_it_is_faster() {
        let mut one = measured([4.0, 1.0, 2.0, 3.0], 1);
        let faster = measured([3.0, 5.0, 5.0, 5.0], 1);
        one.series.extend(faster.series.into_iter().map(|series| LaneSeries { passive: true, ..series }));
        assert_eq!([0, 1].map(|lane| cell(&one, lane)), ["3.00 / 3.00ᵖ", "1.00 / 1.00"]);
    }

    #[test]
    fn the_better_peer_is_at_one_in_the_plot() {
        let plot = plot(RowFamily::ForkJoin, &[measured([4.0, 1.0, 2.0, 3.0], 1)], &lanes());
        assert!(plot.contains(", libomp: 1.000<") && plot.contains(", Gangway, gcc: 0.500<"), "{plot}");
    }
}
