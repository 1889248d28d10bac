//! What changes when one parameter does.

use super::{ModelReport, median, milliseconds, row, shape, table};
use crate::model::{Factorization, ModelConfig};
use svg::{self, Chart, ChartLine};
use ult::victim::VictimKind;

/// One parameter, changed.
pub(super) struct Sweep {
    name: &'static str,
    title: &'static str,
    x: &'static str,
    values: &'static [f64],
    set: fn(&mut ModelConfig, f64),
}

pub(super) const BY_WORKERS: Sweep = Sweep {
    name: "model_by_workers",
    title: "What is gained over history, by number of workers",
    x: "workers of a rank",
    values: &[8.0, 12.0, 16.0, 20.0, 28.0, 40.0],
    set: |config, value| {
        config.workers = value as usize;
        config.panel_threads = config.workers / 2;
    },
};

pub(super) const BY_MATRIX: Sweep = Sweep {
    name: "model_by_matrix",
    title: "What is gained over history, by size of the matrix",
    x: "rows of tiles",
    values: &[16.0, 24.0, 32.0, 40.0, 56.0],
    set: |config, value| config.tiles = value as usize,
};

pub(super) const BY_MESSAGES: Sweep = Sweep {
    name: "model_by_messages",
    title: "What is gained over history, by cost of messages",
    x: "factor on the time of messages",
    values: &[0.0, 0.5, 1.0, 1.5, 2.0, 3.0],
    set: |config, value| config.messages = value,
};

pub(super) const BY_TILE: Sweep = Sweep {
    name: "model_by_tile",
    title: "What is gained over history, by size of the tiles (messages scale with their work)",
    x: "rows of a tile",
    values: &[16.0, 32.0, 64.0, 128.0, 256.0],
    // Messages would win with small tiles: their bytes shrink with the square, the work with the
    // cube.
    set: |config, value| {
        config.messages = value / config.tile;
        config.tile = value;
    },
};

/// The gain of random and hybrid over history, in percent of its time.
pub(super) fn one(seeds: u64, sweep: &Sweep) -> ModelReport {
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for config in Factorization::ALL.map(ModelConfig::new) {
        for policy in [VictimKind::Random, VictimKind::Hybrid] {
            let name = format!("{} {}, {}", config.what.name(), shape(&config), policy.name());
            let mut points = Vec::new();
            for &value in sweep.values {
                let mut changed = config;
                (sweep.set)(&mut changed, value);
                let time = |policy| milliseconds(median(ModelConfig { policy, ..changed }, seeds).time);
                let (before, after) = (time(VictimKind::History), time(policy));
                let gain = 100.0 * (1.0 - after / before);
                rows.push(row(&[&name], &[value, before, after, gain]));
                points.push((value, gain));
            }
            lines.push(ChartLine { name, points });
        }
    }
    let chart = Chart::new(sweep.title, sweep.x, "% less time than with history");
    ModelReport {
        name: sweep.name,
        table: table(&["run", sweep.x, "history ms", "ms", "gain %"], &rows),
        plot: svg::lines(&chart, &lines),
    }
}

/// What more looks of hybrid change where it gains most, where it falls behind random, and where
/// looks cost most.
pub(super) fn looks(seeds: u64) -> ModelReport {
    let cholesky = ModelConfig::new(Factorization::Cholesky);
    let mut small = ModelConfig::new(Factorization::Qr);
    (BY_TILE.set)(&mut small, 32.0);
    let runs = [
        ("Cholesky, 20 workers", cholesky),
        ("Cholesky, 40 workers", ModelConfig { workers: 40, ..cholesky }),
        ("QR gang, tiles of 32 rows", small),
    ];
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for (name, config) in runs {
        let time = |config| milliseconds(median(config, seeds).time);
        let before = time(ModelConfig { policy: VictimKind::History, ..config });
        let gain = |looks| 100.0 * (1.0 - time(ModelConfig { looks, ..config }) / before);
        let points: Vec<(f64, f64)> = (1..=6).map(|looks| (looks as f64, gain(looks))).collect();
        rows.extend(points.iter().map(|&(looks, gain)| row(&[name], &[looks, gain])));
        lines.push(ChartLine { name: name.into(), points });
    }
    let chart = Chart::new(
        "What hybrid gains over history, by number of looks elsewhere after a success",
        "looks",
        "% less time than with history",
    );
    ModelReport {
        name: "model_by_looks",
        table: table(&["run", "looks", "gain %"], &rows),
        plot: svg::lines(&chart, &lines),
    }
}
