//! The tables and plots of `docs/models/victim.md`.

mod sweep;

use super::account::AccountActivity;
use super::{Factorization, ModelConfig, ModelOutcome, ModelTime, run};
use svg::{self, Bar, Chart, ChartLine, Series};
use ult::victim::VictimKind;

/// A table and its picture, under one name.
#[derive(Clone, Debug)]
pub struct ModelReport {
    /// File name without ending; letters and underscores.
    pub name: &'static str,
    /// Lines of tab-separated values, the first one the heads of the columns.
    pub table: String,
    /// The picture.
    pub plot: String,
}

/// All policies, the default last: the order in which they are shown.
const POLICIES: [VictimKind; VictimKind::ALL.len()] = {
    let mut all = VictimKind::ALL;
    all.rotate_left(1);
    all
};

/// All reports, each figure the median of so many seeds.
#[must_use]
pub fn all(seeds: u64) -> Vec<ModelReport> {
    vec![
        policies(seeds),
        critical_path(seeds),
        workers(seeds),
        panels(),
        sweep::one(seeds, &sweep::BY_WORKERS),
        sweep::one(seeds, &sweep::BY_MATRIX),
        sweep::one(seeds, &sweep::BY_MESSAGES),
        sweep::one(seeds, &sweep::BY_TILE),
        sweep::looks(seeds),
    ]
}

/// The run with the median time.
fn median(config: ModelConfig, seeds: u64) -> ModelOutcome {
    let mut outcomes: Vec<ModelOutcome> =
        (1..=seeds).map(|seed| run(&ModelConfig { seed, ..config })).collect();
    outcomes.sort_by_key(|outcome| outcome.time);
    outcomes.swap_remove(outcomes.len() / 2)
}

fn milliseconds(time: ModelTime) -> f64 {
    time as f64 / 1e6
}

fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let lines = rows.iter().map(|row| row.join("\t") + "\n");
    heads.join("\t") + "\n" + &lines.collect::<String>()
}

/// What a configuration is called, apart from its policy.
fn shape(config: &ModelConfig) -> &'static str {
    match (config.what, config.panel_threads, config.gangs) {
        (Factorization::Cholesky, ..) => "tasks",
        (_, 1, _) => "sequential",
        (_, _, false) => "threads",
        (_, _, true) => "gang",
    }
}

/// The kinds of panel that a factorization is shown with.
fn shapes(what: Factorization) -> Vec<ModelConfig> {
    let config = ModelConfig::new(what);
    match what {
        Factorization::Cholesky => vec![config],
        _ => vec![
            ModelConfig { panel_threads: 1, gangs: false, ..config },
            ModelConfig { gangs: false, ..config },
            config,
        ],
    }
}

/// Figure 7: all policies with all kinds of panel, relative to history with threads that are no
/// gang.
fn policies(seeds: u64) -> ModelReport {
    let (mut groups, mut rows) = (Vec::new(), Vec::new());
    let mut series: Vec<Series> = POLICIES.iter().map(|kind| named(kind.name())).collect();
    for what in Factorization::ALL {
        let plain = ModelConfig { policy: VictimKind::History, gangs: false, ..ModelConfig::new(what) };
        let base = median(plain, seeds).time as f64;
        for config in shapes(what) {
            groups.push(format!("{}, {}", what.name(), shape(&config)));
            for (policy, series) in POLICIES.into_iter().zip(&mut series) {
                let outcome = median(ModelConfig { policy, ..config }, seeds);
                let relative = outcome.time as f64 / base;
                series.values.push(relative);
                rows.push(vec![
                    what.name().into(),
                    shape(&config).into(),
                    policy.name().into(),
                    format!("{:.1}", milliseconds(outcome.time)),
                    format!("{relative:.3}"),
                    format!("{:.2}", outcome.overlap),
                    outcome.steals.attempts.to_string(),
                    outcome.steals.successes.to_string(),
                ]);
            }
        }
    }
    let heads = ["factorization", "panel", "policy", "ms", "relative", "overlap", "attempts", "successes"];
    let chart = Chart::new(
        "Time by victim policy and kind of panel",
        "",
        "time, relative to history with plain threads",
    );
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    ModelReport {
        name: "model_policies",
        table: table(&heads, &rows),
        plot: svg::grouped_bars(&chart, &groups, &series),
    }
}

fn named(name: &str) -> Series {
    Series { name: name.to_string(), values: Vec::new() }
}

/// Figure 9: the critical path by cause.
fn critical_path(seeds: u64) -> ModelReport {
    let mut layers = ["panel", "messages", "lookahead and trailing", "ready, not begun"].map(named);
    let (mut bars, mut rows) = (Vec::new(), Vec::new());
    for config in
        Factorization::ALL.into_iter().flat_map(shapes).filter(|config| shape(config) != "sequential")
    {
        let base =
            median(ModelConfig { policy: VictimKind::History, gangs: false, ..config }, seeds).time as f64;
        for policy in POLICIES {
            let path = median(ModelConfig { policy, ..config }, seeds).path;
            let parts = [path.panel, path.messages, path.other, path.queued];
            let group = format!("{}, {}", config.what.name(), shape(&config));
            rows.push(row(&[&group, policy.name()], &parts.map(milliseconds)));
            bars.push(Bar { group, label: policy.name().into() });
            layers.iter_mut().zip(parts).for_each(|(layer, part)| layer.values.push(part as f64 / base));
        }
    }
    let chart = Chart {
        width: 1000,
        ..Chart::new("The critical path by cause", "", "time, relative to history with plain threads")
    };
    ModelReport {
        name: "model_critical_path",
        table: table(&["run", "policy", "panel ms", "messages ms", "updates ms", "not begun ms"], &rows),
        plot: svg::stacked_bars(&chart, &bars, &layers),
    }
}

fn row(words: &[&str], numbers: &[f64]) -> Vec<String> {
    let words = words.iter().map(|word| (*word).to_string());
    words.chain(numbers.iter().map(|number| format!("{number:.1}"))).collect()
}

/// Figure 11 (d): what the workers do in Cholesky, for a small and a large matrix.
fn workers(seeds: u64) -> ModelReport {
    let mut layers = AccountActivity::ALL.map(|activity| named(activity.name()));
    let (mut bars, mut rows) = (Vec::new(), Vec::new());
    for tiles in [24, 40, 56] {
        let config = ModelConfig { tiles, ..ModelConfig::new(Factorization::Cholesky) };
        let base = median(ModelConfig { policy: VictimKind::History, ..config }, seeds).time as f64;
        for policy in POLICIES {
            let shares = median(ModelConfig { policy, ..config }, seeds).shares;
            let group = format!("{tiles} x {tiles} tiles");
            rows.push(row(&[&group, policy.name()], &shares.map(milliseconds)));
            bars.push(Bar { group, label: policy.name().into() });
            layers.iter_mut().zip(shares).for_each(|(layer, share)| layer.values.push(share as f64 / base));
        }
    }
    let heads = ["matrix", "policy"].into_iter().chain(AccountActivity::ALL.map(AccountActivity::name));
    let chart =
        Chart::new("What the workers of a rank do in Cholesky, on average", "", "time, relative to history");
    ModelReport {
        name: "model_workers",
        table: table(&heads.collect::<Vec<_>>(), &rows),
        plot: svg::stacked_bars(&chart, &bars, &layers),
    }
}

/// Figure 2: how far behind hybrid's first panels those of the others begin, in Cholesky.
fn panels() -> ModelReport {
    let config = ModelConfig::new(Factorization::Cholesky);
    let outcomes = POLICIES.map(|policy| run(&ModelConfig { policy, ..config }));
    let at = |step: usize| outcomes.each_ref().map(|outcome| milliseconds(outcome.panel_start[step]));
    let rows: Vec<_> = (0..config.tiles).map(|step| row(&[&step.to_string()], &at(step))).collect();
    let line = |index: usize| ChartLine {
        name: POLICIES[index].name().into(),
        points: (0..config.tiles).map(|step| (step as f64, at(step)[index])).collect(),
    };
    let chart = Chart::new("When the panels of Cholesky begin", "step", "ms");
    let heads = POLICIES.map(|policy| format!("{} ms", policy.name()));
    let heads: Vec<&str> = ["step"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let lines: Vec<ChartLine> = (0..POLICIES.len()).map(line).collect();
    ModelReport { name: "model_panels", table: table(&heads, &rows), plot: svg::lines(&chart, &lines) }
}
