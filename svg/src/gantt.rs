//! Gantt charts: what runs where when, one panel above the other over the same time.

use crate::colour;
use crate::frame::{escape, number, step_of};
use std::fmt::Write;

/// A stretch of time in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct GanttStretch {
    /// The row, from the top.
    pub row: usize,
    /// From here on.
    pub begin: f64,
    /// Until here.
    pub end: f64,
    /// Written into it where there is room.
    pub label: String,
    /// Which entry of the legend it belongs to.
    pub kind: usize,
    /// Drawn as a thin line in the middle, without a label.
    pub thin: bool,
}

/// One way of doing it.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Above it.
    pub title: String,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// What is in them.
    pub stretches: Vec<GanttStretch>,
}

const LEFT: f64 = 70.0;
const WIDTH: f64 = 860.0;
const ROW: f64 = 17.0;
/// Between two panels, with the title of the lower one.
const BETWEEN: f64 = 30.0;
const TOP: f64 = 56.0;

/// A chart of these panels. `unit` is written below the time, which begins at 0.
#[must_use]
pub fn gantt(title: &str, unit: &str, legend: &[&str], panels: &[Panel]) -> String {
    let end = panels.iter().flat_map(|p| &p.stretches).map(|s| s.end).fold(0.0, f64::max);
    let end = if end > 0.0 { end } else { 1.0 };
    let scale = (WIDTH - LEFT - 20.0) / end;
    let mut body = String::new();
    text(&mut body, WIDTH / 2.0, 22.0, title, r#"text-anchor="middle" font-size="15" font-weight="bold""#);
    let mut x = LEFT;
    for (at, entry) in legend.iter().enumerate() {
        let _ = writeln!(body, r#"<rect x="{x:.1}" y="32" width="12" height="12" fill="{}"/>"#, colour(at));
        text(&mut body, x + 17.0, 42.0, entry, "");
        x += 30.0 + 7.0 * entry.chars().count() as f64;
    }
    let mut top = TOP;
    for one in panels {
        panel(&mut body, one, top, scale, end);
        top += BETWEEN + ROW * one.rows.len() as f64;
    }
    let step = step_of(end);
    for at in 0..=(end / step) as usize {
        let value = step * at as f64;
        text(&mut body, LEFT + value * scale, top + 6.0, &number(value, step), r#"text-anchor="middle""#);
    }
    text(&mut body, LEFT + end * scale / 2.0, top + 24.0, unit, r#"text-anchor="middle""#);
    let height = top + 34.0;
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" fill="black">
<rect width="{WIDTH}" height="{height}" fill="white"/>
{body}</svg>
"#
    )
}

fn text(body: &mut String, x: f64, y: f64, text: &str, attributes: &str) {
    let _ = writeln!(body, r#"<text x="{x:.1}" y="{y:.1}" {attributes}>{}</text>"#, escape(text));
}

fn panel(body: &mut String, panel: &Panel, top: f64, scale: f64, end: f64) {
    text(body, LEFT, top + 12.0, &panel.title, r#"font-weight="bold""#);
    let top = top + 18.0;
    for (at, name) in panel.rows.iter().enumerate() {
        let (y, right) = (top + ROW * at as f64, LEFT + end * scale);
        text(body, LEFT - 6.0, y + 13.0, name, r#"text-anchor="end" font-size="11""#);
        let _ =
            writeln!(body, r##"<line x1="{LEFT}" y1="{y:.1}" x2="{right:.1}" y2="{y:.1}" stroke="#ddd"/>"##);
    }
    for one in &panel.stretches {
        stretch(body, one, top + ROW * one.row as f64, scale);
    }
}

fn stretch(body: &mut String, one: &GanttStretch, y: f64, scale: f64) {
    let (x, width, tip) = (LEFT + one.begin * scale, (one.end - one.begin) * scale, escape(&one.label));
    let (inset, height) = if one.thin { (7.0, 3.0) } else { (1.0, ROW - 2.0) };
    let (y, colour) = (y + inset, colour(one.kind));
    let (begin, end) = (one.begin, one.end);
    let _ = writeln!(
        body,
        r##"<rect x="{x:.2}" y="{y:.1}" width="{width:.2}" height="{height}" fill="{colour}" stroke="white" stroke-width="0.4"><title>{tip}: {begin:.3} to {end:.3}</title></rect>"##
    );
    if !one.thin && width > 6.5 * one.label.chars().count() as f64 {
        text(
            body,
            x + width / 2.0,
            y + 11.5,
            &one.label,
            r#"text-anchor="middle" font-size="10" fill="white""#,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_as_long_as_their_time_and_lie_in_their_row() {
        let one = |row, begin, end| GanttStretch {
            row,
            begin,
            end,
            label: "a<b".into(),
            kind: row,
            thin: row == 1,
        };
        let panel = Panel {
            title: "p".into(),
            rows: vec!["r".into(), "s".into()],
            stretches: vec![one(0, 0.0, 1.0), one(1, 1.0, 4.0)],
        };
        let svg = gantt("t", "ms", &["k", "l"], &[panel.clone(), panel]);
        let number = |line: &str, name: &str| -> f64 {
            let from = line.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
            line[from..].split('"').next().unwrap().parse().unwrap()
        };
        let own: Vec<&str> = svg.lines().filter(|l| l.contains("<title>")).collect();
        assert_eq!(own.len(), 4);
        assert!((number(own[1], "width") / number(own[0], "width") - 3.0).abs() < 0.01);
        assert!((number(own[0], "x") + number(own[0], "width") - number(own[1], "x")).abs() < 0.02);
        assert!(number(own[1], "y") > number(own[0], "y") && number(own[2], "y") > number(own[1], "y"));
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b") && svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn an_empty_chart_is_a_chart() {
        let svg = gantt("t", "ms", &[], &[]);
        assert!(svg.trim_end().ends_with("</svg>") && !svg.contains("NaN") && !svg.contains("inf"));
    }
}
