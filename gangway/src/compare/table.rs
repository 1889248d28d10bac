//! The table of `gangway compare`, and the same as JSON.

use serde_json::{Value, json};

use super::child::{ChildEnding, ChildRun};
use super::{Request, Side};
use crate::terminal::{self, Look, styled};
use crate::words;

const HEADS: [&str; 9] = ["", "min", "median", "ratio", "CPU", "max RSS", "switches", "status", "output"];

/// Figures of a side.
struct SideRow {
    min: f64,
    median: f64,
    /// Processors in use on average, in the quickest run.
    cpus: f64,
    most_bytes: u64,
    switches: [u64; 2],
}

impl SideRow {
    fn of(runs: &[ChildRun]) -> SideRow {
        let mut by_time: Vec<&ChildRun> = runs.iter().collect();
        by_time.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let quickest = by_time[0];
        let middle = by_time.len() / 2;
        let median = if by_time.len() % 2 == 1 {
            by_time[middle].seconds
        } else {
            (by_time[middle - 1].seconds + by_time[middle].seconds) / 2.0
        };
        SideRow {
            min: quickest.seconds,
            median,
            cpus: quickest.busy / quickest.seconds,
            most_bytes: runs.iter().map(|run| run.most_bytes).max().unwrap_or(0),
            switches: quickest.switches,
        }
    }
}

/// Prints the table, or the object.
pub fn print(request: &Request<'_>, sides: &[Side]) {
    if request.options.get_flag("json") {
        return println!("{}", value(request, sides));
    }
    let colour = terminal::has_colour();
    println!("{}", styled(&heading(request, sides), Look::Bold, colour));
    let own = SideRow::of(&sides[0].runs);
    let mut rows = vec![HEADS.map(|head| (head.to_string(), Look::Bold))];
    rows.extend(sides.iter().enumerate().map(|(index, side)| cells(index, side, &own)));
    let widths: Vec<usize> = (0..HEADS.len())
        .map(|column| rows.iter().map(|row| row[column].0.chars().count()).max().unwrap_or(0))
        .collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, ((text, look), width))| {
            // Names and what follows the figures begin at one place; figures end at one.
            let padded = if column == 0 || column + 2 >= HEADS.len() {
                format!("{text:<width$}")
            } else {
                format!("{text:>width$}")
            };
            styled(&padded, *look, colour)
        });
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    for side in sides {
        if let Some(difference) = &side.difference {
            println!("{}: {}", side.title, styled(difference, Look::Bad, colour));
        }
    }
}

fn shown(request: &Request<'_>) -> String {
    let (word, arguments) = words::program(request.options);
    [word].iter().chain(&arguments).map(|word| words::quoted(word)).collect::<Vec<_>>().join(" ")
}

fn heading(request: &Request<'_>, sides: &[Side]) -> String {
    let runs = sides[0].runs.len();
    let threads = request
        .options
        .get_one::<String>("threads")
        .map_or(String::new(), |n| format!(", OMP_NUM_THREADS={n}"));
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (some, turns) = if runs == 1 { ("run", "") } else { ("runs", " in turns") };
    format!("{}: {runs} {some} under each{turns}{threads}, {processors} processors", shown(request))
}

fn cells(index: usize, side: &Side, own: &SideRow) -> [(String, Look); 9] {
    let row = SideRow::of(&side.runs);
    let plain = |text: String| (text, Look::Plain);
    let [waited, made] = row.switches;
    let endings: Vec<ChildEnding> = side.runs.iter().map(|run| run.ending).collect();
    let ending = endings.iter().find(|e| **e != ChildEnding::Status(0)).unwrap_or(&endings[0]);
    let ending = match ending {
        ChildEnding::Late => ("too late".to_string(), Look::Bad),
        ChildEnding::Status(0) => plain("0".into()),
        ChildEnding::Status(n) => (n.to_string(), Look::Bad),
    };
    let output = match (&side.difference, index) {
        (Some(_), 0) => ("changes from run to run".into(), Look::Bad),
        (Some(_), _) => ("differs".into(), Look::Bad),
        (None, 0) => plain("-".into()),
        (None, _) => ("agrees".into(), Look::Good),
    };
    [
        plain(side.title.clone()),
        plain(time(row.min)),
        plain(time(row.median)),
        plain(format!("{:.2}", row.min / own.min)),
        plain(format!("{:.2}", row.cpus)),
        plain(format!("{:.1} MiB", row.most_bytes as f64 / f64::from(1 << 20))),
        plain(format!("{waited}+{made}")),
        ending,
        output,
    ]
}

fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.3} s") }
}

fn value(request: &Request<'_>, sides: &[Side]) -> Value {
    let own = SideRow::of(&sides[0].runs);
    let side = |side: &Side| {
        let row = SideRow::of(&side.runs);
        let numbers = |each: &dyn Fn(&ChildRun) -> f64| side.runs.iter().map(each).collect::<Value>();
        let status = |run: &ChildRun| if let ChildEnding::Status(n) = run.ending { Some(n) } else { None };
        json!({
            "runtime": side.title,
            "seconds": numbers(&|run| run.seconds),
            "min": row.min,
            "median": row.median,
            "ratio": row.min / own.min,
            "cpu_seconds": numbers(&|run| run.busy),
            "max_rss_bytes": row.most_bytes,
            "voluntary_switches": row.switches[0],
            "involuntary_switches": row.switches[1],
            "status": side.runs.iter().map(status).collect::<Vec<_>>(),
            "difference": side.difference,
        })
    };
    json!({
        "command": shown(request),
        "tolerance": request.tolerance,
        "runtimes": sides.iter().map(side).collect::<Value>(),
    })
}
