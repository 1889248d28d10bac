//! The page docs/busy.md, and its plot.

use super::measure::{BusyFigure, BusyRow};
use super::plan::BusyLaneKind;
use super::record;
use crate::lanes::show::{digits, markdown};
use crate::lanes::statistics;
use std::path::Path;
use std::{fs, io};
use svg::Chart;

/// Upper bounds of the two ratios: to the better peer, and to the best fixed number of workers. Half a
/// unit of the last digit is added for rounding.
const BOUNDS: [f64; 2] = [1.005, 1.305];

const HEAD: &str = "\
# Beside other programs

Written by `cargo xtask bench --busy`, and by `cargo xtask pages` from [all figures](plots/busy.tsv) of its last run. The programs are in
`benchmarks/busy/busy.c`, `benchmarks/factorizations` and `conformance/programs/numpy_openblas.py`. Each process has a thread for each
processor, the factorizations two; OpenBLAS in them has one.

A *situation* is what runs beside the program: nothing, endless loops, or further processes of the same program. The figure is the time
until the last process has ended, in seconds, with its start. Cells are wall time / processor time of all processes, medians of
interleaved rounds. A peer that takes longer than 3 s runs once. *One worker* and *n workers* are Gangway with that number in `GANGWAY_WORKERS`; without it, the number of
running workers follows the processors that the program gets ([protocols/allotment.md](protocols/allotment.md)).

The last two columns are medians of the ratios of the same round, from three rounds on with the 95 % confidence interval: Gangway over the better peer (aim: at most 1),
and over the best fixed number of workers (aim: at most 1.3). Bold: the aim is missed.

";

fn figure(row: &BusyRow, wanted: impl Fn(BusyLaneKind) -> bool) -> Option<(usize, BusyFigure)> {
    let all = row.series.iter().enumerate().filter(|(_, series)| wanted(series.kind));
    let all = all.filter_map(|(at, series)| Some((at, series.figure()?)));
    all.min_by(|a, b| a.1.wall.total_cmp(&b.1.wall))
}

fn is_peer(kind: BusyLaneKind) -> bool {
    matches!(kind, BusyLaneKind::Libgomp | BusyLaneKind::Libomp)
}

fn is_fixed(kind: BusyLaneKind) -> bool {
    matches!(kind, BusyLaneKind::Fixed(_))
}

fn is_gangway(kind: BusyLaneKind) -> bool {
    kind == BusyLaneKind::Gangway
}

/// Gangway over the better peer, and over the best fixed number. A series with fewer rounds, of a
/// peer that crawls, is compared by its median.
fn ratios(row: &BusyRow) -> [Option<statistics::Ratio>; 2] {
    let gangway = figure(row, is_gangway);
    [is_peer as fn(BusyLaneKind) -> bool, is_fixed].map(|wanted| {
        let (ours, own) = gangway?;
        let (theirs, other) = figure(row, wanted)?;
        let rounds = row.series[ours].rounds.iter().zip(&row.series[theirs].rounds);
        let pairs: Vec<(f64, f64)> =
            rounds.filter_map(|(a, b)| Some((a.as_ref()?.wall, b.as_ref()?.wall))).collect();
        if pairs.len() < 2 {
            return Some(statistics::Ratio { median: own.wall / other.wall, interval: None });
        }
        statistics::ratio(&pairs)
    })
}

fn ratio_words(ratio: Option<statistics::Ratio>, bound: f64) -> String {
    let Some(ratio) = ratio else { return "-".into() };
    let interval = ratio.interval.map(|(low, high)| format!(" [{}, {}]", digits(low), digits(high)));
    let bold = if ratio.median > bound { "**" } else { "" };
    format!("{bold}{}{bold}{}", digits(ratio.median), interval.unwrap_or_default())
}

fn cells(row: &BusyRow, lanes: &[BusyLaneKind]) -> Vec<String> {
    let cell = |figure: BusyFigure| format!("{} / {}", digits(figure.wall), digits(figure.processor));
    let of = |series: &super::measure::BusySeries| {
        series.figure().map(cell).or(series.failure.clone()).unwrap_or("-".into())
    };
    let ratios = ratios(row).into_iter().zip(BOUNDS).map(|(ratio, bound)| ratio_words(ratio, bound));
    let series = |kind: &BusyLaneKind| row.series.iter().find(|series| series.kind == *kind);
    lanes.iter().map(|kind| series(kind).map_or("-".into(), of)).chain(ratios).collect()
}

/// The lanes of which a row has a series, each once.
fn lanes(rows: &[&BusyRow]) -> Vec<BusyLaneKind> {
    let mut all = vec![];
    for kind in rows.iter().flat_map(|row| &row.series).map(|series| series.kind) {
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    all
}

/// A row in one line, for progress.
pub fn line(row: &BusyRow) -> String {
    let lanes = lanes(std::slice::from_ref(&row));
    let names = lanes.iter().map(|kind| kind.name()).chain(["peers".into(), "fixed".into()]);
    let parts: Vec<String> =
        names.zip(cells(row, &lanes)).map(|(name, cell)| format!("{name} {cell}")).collect();
    format!("{} {}: {}", row.program, row.situation, parts.join("; "))
}

/// A table for each program, and how many rows have all that they should.
pub fn tables(rows: &[BusyRow]) -> String {
    let mut text = summary(rows);
    let mut programs: Vec<&str> = rows.iter().map(|row| &*row.program).collect();
    programs.dedup();
    for program in programs {
        let own: Vec<&BusyRow> = rows.iter().filter(|row| row.program == program).collect();
        let mut lines = vec![vec!["beside it".to_string()]];
        let lanes = lanes(&own);
        lines[0].extend(lanes.iter().map(|kind| kind.name()));
        lines[0].extend(["over the better peer", "over the best number"].map(String::from));
        lines.extend(
            own.iter().map(|row| {
                std::iter::once(row.situation.clone()).chain(cells(row, &lanes)).collect::<Vec<_>>()
            }),
        );
        let heading = format!("{}{}", program[..1].to_uppercase(), &program[1..]);
        text += &format!("\n\n## {heading}\n\n{}", markdown(&lines).trim_end());
    }
    text
}

fn summary(rows: &[BusyRow]) -> String {
    let missed = |which: usize| {
        rows.iter().filter(|row| ratios(row)[which].is_some_and(|ratio| ratio.median > BOUNDS[which])).count()
    };
    format!(
        "Of {} rows {} are behind the better peer, and {} take more than 1.3 times the time of the best fixed number.",
        rows.len(),
        missed(0),
        missed(1)
    )
}

/// The page and the plot as the record in `docs` says, each with its name there.
///
/// # Errors
/// The record cannot be read.
pub fn pages(docs: &Path) -> io::Result<Vec<(String, String)>> {
    let text = fs::read_to_string(docs.join("plots").join(record::FILE))?;
    let rows = record::read(&text);
    let page = format!(
        "{HEAD}Measured on {}.\n\n{}\n\n![Wall time relative to the better peer](plots/busy.svg)\n",
        record::machine(&text),
        tables(&rows)
    );
    Ok(vec![("busy.md".into(), page), ("plots/busy.svg".into(), plot(&rows))])
}

/// Wall times relative to the better peer, on a logarithmic axis.
fn plot(rows: &[BusyRow]) -> String {
    let rows: Vec<(&BusyRow, f64)> =
        rows.iter().filter_map(|row| Some((row, figure(row, is_peer)?.1.wall))).collect();
    let series = |name: &str, wanted: fn(BusyLaneKind) -> bool| svg::Series {
        name: name.into(),
        values: rows
            .iter()
            .map(|(row, peer)| figure(row, wanted).map_or(f64::NAN, |(_, figure)| figure.wall / peer))
            .collect(),
    };
    let all = [series("Gangway", is_gangway), series("Gangway, best fixed number of workers", is_fixed)];
    let groups: Vec<String> = rows
        .iter()
        .map(|(row, _)| {
            format!("{}\n{}", row.program.split([' ', ',']).next().unwrap_or_default(), row.situation)
        })
        .collect();
    let mut chart =
        Chart::new("Beside other programs", "", "wall time over the better peer (below 1: faster)");
    chart.logarithmic = true;
    chart.width = chart.width.max(100 + 60 * groups.len() as u32);
    let names: Vec<&str> = groups.iter().map(String::as_str).collect();
    svg::grouped_bars(&chart, &names, &all)
}

#[cfg(test)]
mod tests {
    use super::super::measure::{BusySample, BusySeries};
    use super::*;

    fn row(walls: [f64; 4]) -> BusyRow {
        use BusyLaneKind::{Fixed, Gangway, Libgomp, Libomp};
        let sample = |wall| Some(BusySample { wall, processor: 2.0 * wall });
        let series = [Libgomp, Libomp, Gangway, Fixed(1)].into_iter().zip(walls);
        let series = series.map(|(kind, wall)| BusySeries::new(kind, vec![sample(wall); 3])).collect();
        BusyRow { program: "barriers".into(), situation: "one loop".into(), series }
    }

    #[test]
    fn ratios_are_to_the_better_peer_and_the_best_number() {
        let good = tables(&[row([4.0, 2.0, 1.0, 0.9])]);
        assert!(good.starts_with("Of 1 rows 0 are behind the better peer, and 0 take"), "{good}");
        assert!(good.contains("| 0.50 [0.50, 0.50] ") && good.contains("| 1.11 [1.11, 1.11] "), "{good}");
        let bad = tables(&[row([4.0, 2.0, 3.0, 1.0])]);
        assert!(bad.starts_with("Of 1 rows 1 are behind the better peer, and 1 take"), "{bad}");
        assert!(bad.contains("| **1.50** [") && bad.contains("| **3.00** ["), "{bad}");
    }
}
