//! The page: tables and sentences as HTML, and what the chart draws as numbers, packed.
//!
//! One file, without anything from elsewhere: it can be sent by mail. The stretches of a lane are
//! four words each, in base64: begin and length in ticks of the page, kind and name, task. A
//! million of them are 21 MB, and are drawn without being unpacked into objects.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;

use super::advice::{Advice, time};
use super::path::CriticalPath;
use super::summary::{CLASSES, SHORTEST, Summary, SummaryRow};
use super::timeline::{LaneActivity, Timeline, TimelineStretch};
use super::trace::Trace;

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Rows of a table that are shown.
const ROWS: usize = 40;
/// Lanes of the table of idle times, and of that of steals, which has a column for each, too.
const LANES: usize = 1024;
const THIEVES: usize = 64;
/// Links of the path, and gangs, that are drawn.
const DRAWN: usize = 200_000;

/// The whole page.
pub fn of(
    trace: &Trace,
    timeline: &Timeline,
    path: &CriticalPath,
    summary: &Summary,
    advice: &[Advice],
) -> String {
    let program = if trace.program.is_empty() { "program" } else { &trace.program };
    let parts = [
        ("PROGRAM", escape(program)),
        ("FIGURES", figures(timeline, summary)),
        ("ADVICE", advice.iter().map(|a| format!("<li>{}</li>\n", escape(&a.text))).collect()),
        ("LEGEND", legend()),
        ("IDLE", idle(trace, summary)),
        ("PATH", on_path(summary)),
        ("TASKS", table("task", &summary.tasks)),
        ("LENGTHS", lengths(summary)),
        ("REGIONS", regions(&summary.regions)),
        ("STEALS", steals(trace, summary)),
        ("GANGS", gangs(summary)),
        ("STYLE", STYLE.to_owned()),
        ("DATA", data(trace, timeline, path, summary)),
        ("SCRIPT", SCRIPT.to_owned()),
    ];
    let mut page = String::with_capacity(parts.iter().map(|p| p.1.len()).sum::<usize>() + TEMPLATE.len());
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        page.push_str(parts.iter().find(|p| p.0 == name).map_or("", |p| &p.1));
        rest = after;
    }
    page + rest
}

/// Text between tags or in an attribute.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The bounds of the critical path and of the parallelism.
fn path_bounds(summary: &Summary) -> (String, String) {
    let path = format!("{} to {}", time(summary.path), time(summary.path_at_most));
    let least = summary.parallelism_at_least;
    match summary.path > 0.0 {
        true => (path, format!("{least:.1} to {:.1}", summary.parallelism)),
        false => (path, format!("at least {least:.1}")),
    }
}

fn figures(timeline: &Timeline, summary: &Summary) -> String {
    let busy: f64 = LaneActivity::ALL.iter().filter(|k| k.is_work()).map(|&k| summary.share(k)).sum();
    let unknown = summary.share(LaneActivity::Short);
    let busy = if unknown < 0.001 {
        percent(busy)
    } else {
        format!("{} to {}", percent(busy - unknown), percent(busy))
    };
    let (path, parallelism) = if summary.has_path() {
        (time(summary.path), format!("{:.1}", summary.parallelism))
    } else if summary.has_only_path_bounds() {
        path_bounds(summary)
    } else {
        ("not known".into(), "not known".into())
    };
    let workers = timeline.lanes.iter().filter(|lane| !lane.is_empty()).count();
    let figures = [
        ("run", time(summary.length)),
        ("workers", workers.to_string()),
        ("busy", busy),
        ("tasks", summary.task_count.to_string()),
        ("regions", summary.regions.iter().map(|r| r.count).sum::<u64>().to_string()),
        ("critical path", path),
        ("parallelism", parallelism),
    ];
    figures.iter().map(|(name, value)| format!("<div><b>{value}</b><span>{name}</span></div>\n")).collect()
}

fn swatch(kind: LaneActivity) -> String {
    format!("<i class=\"k{}\"></i>", kind as usize)
}

fn legend() -> String {
    LaneActivity::ALL.iter().map(|&kind| format!("<span>{}{}</span>\n", swatch(kind), kind.name())).collect()
}

/// Who did what, in parts of the lane's time, and all lanes together.
fn idle(trace: &Trace, summary: &Summary) -> String {
    let mut text = String::from("<table><thead><tr><th>worker<th class=bar>time");
    LaneActivity::ALL.iter().for_each(|kind| _ = write!(text, "<th>{}", kind.name()));
    text.push_str("</thead><tbody>\n");
    let mut row = |name: &str, times: &dyn Fn(LaneActivity) -> f64| {
        let all: f64 = LaneActivity::ALL.iter().map(|&kind| times(kind)).sum();
        if all <= 0.0 {
            return;
        }
        _ = write!(text, "<tr><td>{}<td class=bar><div class=stack>", escape(name));
        for kind in LaneActivity::ALL {
            _ = write!(
                text,
                "<i class=\"k{}\" style=\"width:{:.2}%\" title=\"{} {}\"></i>",
                kind as usize,
                100.0 * times(kind) / all,
                kind.name(),
                time(times(kind))
            );
        }
        text.push_str("</div>");
        for kind in LaneActivity::ALL {
            let share = times(kind) / all;
            _ = if share < 0.0005 {
                write!(text, "<td class=zero>·")
            } else {
                write!(text, "<td title=\"{}\">{}", time(times(kind)), percent(share))
            };
        }
        text.push('\n');
    };
    for (lane, times) in trace.lanes.iter().zip(&summary.lanes).take(LANES) {
        row(&lane.name, &|kind| times[kind as usize]);
    }
    let totals = LaneActivity::ALL.map(|kind| summary.total(kind));
    row("all", &|kind| totals[kind as usize]);
    if trace.lanes.len() > LANES {
        _ = writeln!(
            text,
            "<tr><td colspan={}>and {} more, which the last row counts, too",
            LaneActivity::ALL.len() + 2,
            trace.lanes.len() - LANES
        );
    }
    text + "</tbody></table>"
}

fn on_path(summary: &Summary) -> String {
    if summary.has_only_path_bounds() {
        return "<p class=none>The path is not known, because tasks were left out of this trace. It is at least as long as the longest chain of written tasks, and at most as long as the time in which at least one worker worked.</p>".into();
    }
    if summary.ranks > 1 {
        return "<p class=none>Not known: what ranks wait for of each other is not in their traces. A page of one rank has its path.</p>".into();
    }
    let mut text =
        String::from("<table><thead><tr><th>on the critical path<th>time<th>share</thead><tbody>\n");
    for (name, length) in summary.on_path.iter().take(10) {
        _ = writeln!(
            text,
            "<tr><td>{}<td>{}<td>{}",
            escape(name),
            time(*length),
            percent(length / summary.path.max(1e-9))
        );
    }
    text + "</tbody></table>"
}

fn head(what: &str, more: &str) -> String {
    format!("<table><thead><tr><th>{what}<th>count<th>total<th>mean<th>longest{more}</thead><tbody>\n")
}

fn line(row: &SummaryRow) -> String {
    format!(
        "<tr><td>{}<td>{}<td>{}<td>{}<td>{}",
        escape(&row.name),
        row.count,
        time(row.total),
        time(row.mean()),
        time(row.longest)
    )
}

fn rest(rows: &[SummaryRow], columns: usize) -> String {
    let more = rows.len().saturating_sub(ROWS);
    if more == 0 {
        "</tbody></table>".into()
    } else {
        format!("<tr><td colspan={columns}>and {more} more</tbody></table>")
    }
}

fn table(what: &str, rows: &[SummaryRow]) -> String {
    let lines: String = rows.iter().take(ROWS).map(|row| line(row) + "\n").collect();
    head(what, "") + &lines + &rest(rows, 5)
}

fn regions(rows: &[SummaryRow]) -> String {
    let share =
        |row: &SummaryRow| if row.threads > 0.0 { percent(row.barriers / row.threads) } else { "·".into() };
    let lines: String =
        rows.iter().take(ROWS).map(|row| format!("{}<td>{}\n", line(row), share(row))).collect();
    head("region", "<th>in barriers") + &lines + &rest(rows, 6)
}

/// Columns whose heights are the logarithms of counts.
fn lengths(summary: &Summary) -> String {
    let used: Vec<usize> = (0..CLASSES).filter(|&c| summary.lengths[c] > 0).collect();
    let (Some(&first), Some(&last)) = (used.first(), used.last()) else {
        return "<p class=none>There are no explicit tasks.</p>".into();
    };
    let most = summary.lengths.iter().max().copied().unwrap_or(1) as f64;
    let mut text = String::from("<div class=columns>");
    for class in first..=last {
        let count = summary.lengths[class];
        let height = if count == 0 { 0.0 } else { 100.0 * (1.0 + count as f64).log2() / (1.0 + most).log2() };
        let from = if class == 0 { 0.0 } else { SHORTEST * f64::from(1_u32 << (class - 1).min(31)) };
        _ = write!(
            text,
            "<div title=\"{count} tasks from {} on\"><b>{}</b><i style=\"height:{height:.1}%\"></i><span>{}</span></div>",
            time(from),
            if count == 0 { String::new() } else { count.to_string() },
            short(from)
        );
    }
    text + "</div>"
}

/// A length of a class, in four letters.
fn short(microseconds: f64) -> String {
    match microseconds {
        t if t < 1.0 => format!("{:.0}n", t * 1000.0),
        t if t < 1000.0 => format!("{t:.0}u"),
        t if t < 1e6 => format!("{:.0}m", t / 1000.0),
        t => format!("{:.0}s", t / 1e6),
    }
}

/// Thieves down, victims across. Of very many lanes those with the most steals.
fn steals(trace: &Trace, summary: &Summary) -> String {
    if summary.steals.is_empty() {
        return "<p class=none>Nothing was stolen.</p>".into();
    }
    let mut by_lane: HashMap<usize, u64> = HashMap::new();
    for &(thief, victim, count) in &summary.steals {
        *by_lane.entry(thief).or_default() += count;
        *by_lane.entry(victim).or_default() += count;
    }
    let mut lanes: Vec<(usize, u64)> = by_lane.into_iter().collect();
    lanes.sort_unstable_by_key(|&(lane, count)| (Reverse(count), lane));
    let more = lanes.len().saturating_sub(THIEVES);
    let mut lanes: Vec<usize> = lanes.iter().take(THIEVES).map(|lane| lane.0).collect();
    lanes.sort_unstable();
    let counts: HashMap<(usize, usize), u64> =
        summary.steals.iter().map(|&(thief, victim, count)| ((thief, victim), count)).collect();
    let most = summary.steals.iter().map(|s| s.2).max().unwrap_or(1) as f64;
    let short = |lane: usize| {
        if summary.ranks > 1 { escape(&trace.lanes[lane].name) } else { trace.lanes[lane].number.to_string() }
    };
    let mut text = String::from("<table class=matrix><thead><tr><th>thief \\ victim");
    lanes.iter().for_each(|&lane| _ = write!(text, "<th>{}", short(lane)));
    text.push_str("</thead><tbody>\n");
    for &thief in &lanes {
        _ = write!(text, "<tr><th>{}", short(thief));
        for &victim in &lanes {
            _ = match counts.get(&(thief, victim)) {
                None => write!(text, "<td class=zero>·"),
                Some(&count) => write!(text, "<td style=\"--heat:{:.2}\">{count}", count as f64 / most),
            };
        }
        text.push('\n');
    }
    text += "</tbody></table>";
    if more > 0 {
        _ = write!(text, "<p class=none>{more} more lanes have fewer steals.</p>");
    }
    text
}

fn gangs(summary: &Summary) -> String {
    match summary.gangs.len() {
        0 => "<p class=none>No region was gang-scheduled.</p>".into(),
        count => {
            let waited: f64 = summary.gangs.iter().map(|g| g.begin - g.queued).sum::<f64>() / count as f64;
            format!(
                "<p>{count} gangs; from queue to the first thread {} on average. Each bar is a gang, from its start to the end of its last thread, by level.</p><canvas id=gangs></canvas>",
                time(waited)
            )
        }
    }
}

// ---- what is drawn ----------------------------------------------------------

/// Microseconds of a tick: a nanosecond, or more, so that the whole trace fits in 32 bits.
fn tick(timeline: &Timeline) -> f64 {
    (timeline.length() / f64::from(u32::MAX - 1)).max(0.001)
}

fn data(trace: &Trace, timeline: &Timeline, path: &CriticalPath, summary: &Summary) -> String {
    let tick = tick(timeline);
    let mut text =
        format!("{{\"begin\":{},\"end\":{},\"tick\":{tick},\"names\":[", timeline.begin, timeline.end);
    text.push_str(&trace.names.all().iter().map(|name| quoted(name)).collect::<Vec<_>>().join(","));
    let kinds: Vec<String> = LaneActivity::ALL.iter().map(|kind| quoted(kind.name())).collect();
    _ = write!(
        text,
        "],\"kinds\":[{}],\"works\":{},\"lanes\":[",
        kinds.join(","),
        LaneActivity::ALL.iter().filter(|k| k.is_work()).count()
    );
    for (i, (lane, stretches)) in
        trace.lanes.iter().zip(&timeline.lanes).filter(|(_, s)| !s.is_empty()).enumerate()
    {
        let words = stretches.iter().flat_map(|s| packed(s, timeline.begin, tick));
        _ = write!(
            text,
            "{}{{\"name\":{},\"count\":{},\"data\":\"{}\"}}",
            if i == 0 { "" } else { "," },
            quoted(&lane.name),
            stretches.len(),
            base64(words)
        );
    }
    // Lanes without anything are not drawn, so the path's numbers are those among the rest.
    let drawn: Vec<u32> = timeline
        .lanes
        .iter()
        .scan(0, |next, lane| {
            let number = *next;
            *next += u32::from(!lane.is_empty());
            Some(number)
        })
        .collect();
    let links = path.links.iter().rev().take(if summary.has_path() { DRAWN } else { 0 }).rev();
    let at = |t: f64| ((t - timeline.begin) / tick).round() as u32;
    _ = write!(
        text,
        "],\"path\":\"{}\"",
        base64(links.flat_map(|l| [drawn[l.lane], at(l.begin), at(l.end)]))
    );
    let gangs = summary.gangs.iter().take(DRAWN);
    _ = write!(
        text,
        ",\"gangs\":\"{}\"}}",
        base64(gangs.flat_map(|g| [
            g.id as u32,
            g.level as u32,
            g.size,
            at(g.queued),
            at(g.begin),
            at(g.end)
        ]))
    );
    text
}

/// Text in JSON inside of a page: a tag's end must not stand in it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('<', "\\u003c")
}

fn packed(stretch: &TimelineStretch, begin: f64, tick: f64) -> [u32; 4] {
    let (from, to) = ((stretch.begin - begin) / tick, (stretch.end - begin) / tick);
    let name = stretch.name.map_or(0, |name| name + 1);
    [
        from.round() as u32,
        (to.round() - from.round()).max(0.0) as u32,
        stretch.kind as u32 | name << 4,
        stretch.task as u32,
    ]
}

/// Words, the lowest byte first.
fn base64(words: impl Iterator<Item = u32>) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word =
            three.iter().fold(0_u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize] as char;
            text.push(if place <= three.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::trace::{read, tests::file};
    use super::super::{advice, path};
    use super::*;

    #[test]
    fn base64_is_that_of_everybody() {
        assert_eq!(base64([].into_iter()), "");
        assert_eq!(base64([u32::from_le_bytes(*b"Many")].into_iter()), "TWFueQ==");
        assert_eq!(
            base64([*b"Many", *b" han", *b"ds m"].map(u32::from_le_bytes).into_iter()),
            "TWFueSBoYW5kcyBt"
        );
    }

    #[test]
    fn names_cannot_break_out_of_the_page() {
        let trace = read(&file(&["'ph':'X','tid':0,'name':'</script><b>','cat':'task','ts':1,'dur':2,'args':{'task':1,'parent':0,'created':0,'by':0,'end':1}"])).unwrap();
        let timeline = Timeline::of(&trace);
        let path = path::find(&trace, &timeline);
        let summary = Summary::of(&trace, &timeline, &path);
        let page = of(&trace, &timeline, &path, &summary, &advice::of(&summary));
        assert!(
            !page.contains("</script><b>")
                && page.contains("&lt;/script&gt;")
                && page.contains("\\u003c/script>")
        );
        assert!(!page.contains("{{") && page.matches("<script").count() == page.matches("</script>").count());
    }

    #[test]
    fn stretches_keep_their_place_in_four_words() {
        let stretch =
            TimelineStretch { begin: 101.5, end: 103.25, kind: LaneActivity::Lock, name: Some(6), task: 9 };
        assert_eq!(packed(&stretch, 100.0, 0.001), [1500, 1750, LaneActivity::Lock as u32 | 7 << 4, 9]);
    }
}
