//! All figures of a run in one table: docs/plots/busy.tsv.

use super::measure::{BusyRow, BusySample, BusySeries};
use super::plan::BusyLaneKind;
use std::fmt::Write as _;

/// Its name in docs/plots.
pub const FILE: &str = "busy.tsv";

/// In the column `round`: the next column says why the lane failed.
const FAILED: &str = "failed";

/// The table. Its first line says what was measured on.
pub fn write(rows: &[BusyRow], cores: u32) -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').nth(2).unwrap_or("?").to_string();
    let mut text = format!("# {cores} processors; load average of the last quarter of an hour: {load}\n");
    text.push_str("# program\tsituation\tlane\tround\twall_s\tprocessor_s\n");
    for row in rows {
        for series in &row.series {
            let head = format!("{}\t{}\t{}", row.program, row.situation, series.kind.name());
            if let Some(failure) = &series.failure {
                let _ = writeln!(text, "{head}\t{FAILED}\t{failure}\t-");
            }
            for (round, sample) in series.rounds.iter().enumerate() {
                if let Some(BusySample { wall, processor }) = sample {
                    let _ = writeln!(text, "{head}\t{}\t{wall:.4}\t{processor:.2}", round + 1);
                }
            }
        }
    }
    text
}

/// What the first line says.
pub fn machine(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
}

/// The rows of a table.
pub fn read(text: &str) -> Vec<BusyRow> {
    let mut rows: Vec<BusyRow> = vec![];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [program, situation, lane, round, wall, processor] = fields[..] else { continue };
        let Some(kind) = BusyLaneKind::named(lane) else { continue };
        let row = match rows.iter().position(|row| row.program == program && row.situation == situation) {
            Some(at) => &mut rows[at],
            None => {
                rows.push(BusyRow { program: program.into(), situation: situation.into(), series: vec![] });
                rows.last_mut().expect("just pushed")
            }
        };
        let series = match row.series.iter().position(|series| series.kind == kind) {
            Some(at) => &mut row.series[at],
            None => {
                row.series.push(BusySeries::new(kind, vec![]));
                row.series.last_mut().expect("just pushed")
            }
        };
        match (round.parse::<usize>(), wall.parse(), processor.parse()) {
            (Ok(round @ 1..), Ok(wall), Ok(processor)) => {
                series.rounds.resize(series.rounds.len().max(round), None);
                series.rounds[round - 1] = Some(BusySample { wall, processor });
            }
            _ if round == FAILED => series.failure = Some(wall.into()),
            _ => {}
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let sample = |wall| Some(BusySample { wall, processor: 1.5 });
        let mut failed = BusySeries::new(BusyLaneKind::Libomp, vec![]);
        failed.failure = Some("exit 1".into());
        let series = [
            BusySeries::new(BusyLaneKind::Libgomp, vec![sample(3.0)]),
            failed,
            BusySeries::new(BusyLaneKind::Fixed(2), vec![sample(1.0), None, sample(2.0)]),
        ];
        let row = BusyRow { program: "a b".into(), situation: "2 loops".into(), series: series.to_vec() };
        let text = write(&[row], 2);
        assert!(machine(&text).starts_with("2 processors"));
        let read = read(&text);
        assert_eq!(read.len(), 1);
        assert_eq!((&*read[0].program, &*read[0].situation), ("a b", "2 loops"));
        assert_eq!(read[0].series[1].failure, series[1].failure);
        assert_eq!(read[0].series[2].rounds, series[2].rounds);
        assert_eq!(write(&read, 2), text);
    }
}
