//! Tables for people (Markdown, which a terminal shows well enough), tables for programs, and
//! plots.

use super::measure::{Comparison, FactorizationEnding, FactorizationRow, Samples};
use super::plan::{FactorizationCell, FactorizationRoutine, RankGrid};
use super::spin::{self, SpinTime};
use crate::lanes::show::{digits, markdown};
use crate::lanes::{BenchLane, statistics};
use std::fmt::Write as _;
use svg::{Chart, Series};

/// The rows of one routine.
pub fn table(routine: FactorizationRoutine, rows: &[FactorizationRow], lanes: &[BenchLane]) -> String {
    let mut lines = vec![["ranks", "n", "nb", "T", "P", "pinned"].map(String::from).to_vec()];
    lines[0].extend(lanes.iter().map(|lane| lane.name.clone()));
    lines[0].extend(["Gangway / better peer", "target"].map(String::from));
    for row in rows.iter().filter(|row| row.cell.routine == routine) {
        let cell = &row.cell;
        let numbers = [cell.n, cell.nb, cell.threads, cell.panel].map(|n| n.to_string());
        let mut line = vec![ranks(cell)];
        line.extend(numbers);
        line.push(if cell.pinned { "yes" } else { "no" }.into());
        line.extend(row.samples.iter().map(speed));
        line.push(row.comparison().map_or("-".into(), ratio));
        line.push(target(row));
        lines.push(line);
    }
    format!("{} (median GFlop/s)\n\n{}", routine.name(), markdown(&lines))
}

/// A row in one line, for progress.
pub fn line(row: &FactorizationRow, lanes: &[BenchLane]) -> String {
    let figure = |(samples, lane): (&Samples, &BenchLane)| format!("{} {}", lane.name, speed(samples));
    let figures: Vec<String> = row.samples.iter().zip(lanes).map(figure).collect();
    let ratio = row.comparison().map_or("-".into(), ratio);
    format!("{}: {}; ratio {ratio}", row.cell, figures.join("; "))
}

fn speed(samples: &Samples) -> String {
    let values = samples.values();
    match &samples.ending {
        Some(FactorizationEnding::Failed(why) | FactorizationEnding::NoFigure(why)) => why.clone(),
        Some(FactorizationEnding::Stopped { bound, seconds }) if values.is_empty() => {
            format!("≤ {} (stopped after {seconds} s)", digits(*bound))
        }
        _ => digits(statistics::median(&values)),
    }
}

fn ratio(comparison: Comparison) -> String {
    match comparison {
        Comparison::AtLeast(ratio) => format!("≥ {}", digits(ratio)),
        Comparison::Pairs(ratio) => {
            let interval = ratio.interval.map(|(low, high)| format!(" [{}, {}]", digits(low), digits(high)));
            digits(ratio.median) + &interval.unwrap_or_default()
        }
    }
}

fn target(row: &FactorizationRow) -> String {
    let Some(target) = row.cell.target() else {
        return "-".into();
    };
    let word = match row.meets_target() {
        Some(true) => "met",
        Some(false) => "missed",
        None => "no ratio",
    };
    format!("≥ {target}: {word}")
}

/// The rows of spin barriers.
pub fn barriers(rows: &[spin::SpinRow], lanes: &[BenchLane]) -> String {
    let mut lines = vec![["teams × P", "sched_yield"].map(String::from).to_vec()];
    lines[0].extend(lanes.iter().map(|lane| lane.name.clone()));
    lines[0].push("target".into());
    for row in rows {
        let one = &row.barriers;
        let mut line = vec![format!("{}×{}", one.teams, one.panel)];
        line.push(if one.yields { "yes" } else { "no" }.into());
        line.extend(row.times.iter().map(|time| match time {
            SpinTime::Measured(least, median) => format!("{} / {}", digits(*least), digits(*median)),
            SpinTime::MoreThan(ms) => format!("> {ms:.0}"),
            SpinTime::Failed(why) | SpinTime::NoFigure(why) => why.clone(),
        }));
        line.push(match one.target.zip(row.meets_target(lanes)) {
            Some((target, true)) => format!("≤ {target}: met"),
            Some((target, false)) => format!("≤ {target}: missed"),
            None => "-".into(),
        });
        lines.push(line);
    }
    let title = format!("spin barriers, T={} (least / median ms)", spin::THREADS);
    format!("{title}\n\n{}", markdown(&lines))
}

/// The grid of ranks.
fn ranks(cell: &FactorizationCell) -> String {
    format!("{}x{}", cell.ranks.rows, cell.ranks.columns)
}

/// One line for each process of a factorization, and one for each lane that has fewer than the
/// others.
pub fn samples_tsv(rows: &[FactorizationRow], lanes: &[BenchLane]) -> String {
    let mut text =
        "routine\tranks\tn\tnb\tT\tP\tpinned\tcompiler\truntime\tround\tgflops\tnote\n".to_string();
    for row in rows {
        let cell = &row.cell;
        for (samples, lane) in row.samples.iter().zip(lanes) {
            let head = format!(
                "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
                cell.routine.name(),
                ranks(cell),
                cell.n,
                cell.nb,
                cell.threads,
                cell.panel,
                cell.pinned,
                lane.built.compiler,
                if lane.is_peer() { lane.built.runtime } else { "gangway" },
            );
            for (round, figure) in samples.rounds.iter().enumerate() {
                if let Some(figure) = figure {
                    let _ = writeln!(text, "{head}\t{round}\t{figure}\t");
                }
            }
            if let Some(ending) = &samples.ending {
                let note = match ending {
                    FactorizationEnding::Stopped { seconds, .. } => format!("stopped after {seconds} s"),
                    FactorizationEnding::Failed(why) | FactorizationEnding::NoFigure(why) => {
                        why.replace('\t', " ")
                    }
                    FactorizationEnding::Slow => "slow: run once".into(),
                };
                let _ = writeln!(text, "{head}\t\t\t{note}");
            }
        }
    }
    text
}

/// One line for each lane of each row of spin barriers.
pub fn barriers_tsv(rows: &[spin::SpinRow], lanes: &[BenchLane]) -> String {
    let mut text = "teams\tP\tyield\tcompiler\truntime\tmin_ms\tmedian_ms\tnote\n".to_string();
    for row in rows {
        for (time, lane) in row.times.iter().zip(lanes) {
            let one = &row.barriers;
            let runtime = if lane.is_peer() { lane.built.runtime } else { "gangway" };
            let figures = match time {
                SpinTime::Measured(least, median) => format!("{least}\t{median}\t"),
                SpinTime::MoreThan(ms) => format!("\t\tmore than {ms} ms"),
                SpinTime::Failed(why) | SpinTime::NoFigure(why) => format!("\t\t{}", why.replace('\t', " ")),
            };
            let compiler = &lane.built.compiler;
            let head = format!("{}\t{}\t{}\t{compiler}\t{runtime}", one.teams, one.panel, one.yields);
            let _ = writeln!(text, "{head}\t{figures}");
        }
    }
    text
}

/// Bars of median GFlop/s for the rows of one routine that are not pinned; nothing without such
/// rows.
pub fn plot(routine: FactorizationRoutine, rows: &[FactorizationRow], lanes: &[BenchLane]) -> Option<String> {
    let own = |row: &&FactorizationRow| row.cell.routine == routine && !row.cell.pinned;
    let rows: Vec<&FactorizationRow> = rows.iter().filter(own).collect();
    let label = |row: &&FactorizationRow| {
        let cell = &row.cell;
        let ranks = if cell.ranks == RankGrid::ONE {
            String::new()
        } else {
            format!(" {}x{}", cell.ranks.rows, cell.ranks.columns)
        };
        format!("{}/{} {}·{}{ranks}", cell.n, cell.nb, cell.threads, cell.panel)
    };
    let groups: Vec<String> = rows.iter().map(label).collect();
    let series = lanes.iter().enumerate().map(|(at, lane)| Series {
        name: lane.name.clone(),
        values: rows.iter().map(|row| statistics::median(&row.samples[at].values())).collect(),
    });
    let title = format!("{}, threads not bound", routine.name());
    let mut chart = Chart::new(&title, "n/nb T·P (no bar: stopped or failed)", "GFlop/s");
    chart.width = chart.width.max(100 + 84 * groups.len() as u32);
    let names: Vec<&str> = groups.iter().map(String::as_str).collect();
    let plot = svg::grouped_bars(&chart, &names, &series.collect::<Vec<_>>());
    (!rows.is_empty()).then_some(plot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_a_lane_is_shown() {
        let ended = |ending| Samples { rounds: vec![None], ending: Some(ending) };
        let stopped = FactorizationEnding::Stopped { bound: 0.0204, seconds: 8 };
        assert_eq!(speed(&ended(stopped)), "≤ 0.020 (stopped after 8 s)");
        assert_eq!(speed(&ended(FactorizationEnding::Failed("exit 1".into()))), "exit 1");
    }
}
