//! Charts as SVG text: grouped bars, stacked bars, lines, Gantt charts. No dependencies.
//!
//! A chart takes labelled numbers and returns a complete document with a white background, so that
//! it can be read wherever it is shown. Axes begin at zero (or at the lowest value, if that is
//! negative). What may not live here: where numbers come from, and files.

mod frame;
mod gantt;

use frame::{ChartFrame, escape};
pub use gantt::{GanttStretch, Panel, gantt};
use std::fmt::Write;
use std::ops::Range;

/// Titles and size of a chart, in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Chart<'a> {
    /// Above it.
    pub title: &'a str,
    /// Below the horizontal axis; may be empty.
    pub x: &'a str,
    /// Beside the vertical axis, with the unit.
    pub y: &'a str,
    /// Width of the whole picture.
    pub width: u32,
    /// Height of the whole picture.
    pub height: u32,
    /// Whether the vertical axis of grouped bars is logarithmic. Bars then begin at 1, upwards or
    /// downwards.
    pub logarithmic: bool,
}

impl<'a> Chart<'a> {
    /// A chart of a usual size.
    #[must_use]
    pub const fn new(title: &'a str, x: &'a str, y: &'a str) -> Self {
        Self { title, x, y, width: 860, height: 420, logarithmic: false }
    }
}

/// One colour of a bar chart: a name for the legend and one value for each group, or each bar.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<f64>,
}

/// One line: a name for the legend and its points, in the order in which they are joined.
#[derive(Clone, Debug)]
pub struct ChartLine {
    /// Its name.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// The bar of a stacked chart: neighbours of the same group stand together.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The group, written once under its bars.
    pub group: String,
    /// The bar, written under it.
    pub label: String,
}

/// Colours that people with any kind of colour vision tell apart (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"];

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// The range of an axis: from zero, or from what is below it.
fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((0.0, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
    low..high
}

fn names<T>(all: &[T], name: impl Fn(&T) -> &str) -> Vec<String> {
    all.iter().map(|one| name(one).to_string()).collect()
}

fn rectangle(out: &mut String, x: f64, width: f64, span: Range<f64>, colour: &str, tip: &str) {
    let (top, height, tip) = (span.start, span.end - span.start, escape(tip));
    let _ = writeln!(
        out,
        r#"<rect x="{x:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"><title>{tip}</title></rect>"#
    );
}

/// Bars side by side: for each of `groups` one bar of each series. Missing or infinite values leave
/// a gap. A name of two lines stands below its bars with the second one; the first is written once
/// below neighbours that share it.
#[must_use]
pub fn grouped_bars(chart: &Chart, groups: &[&str], series: &[Series]) -> String {
    let height = |value: f64| if chart.logarithmic { value.log10() } else { value };
    let values = series.iter().flat_map(|one| one.values.iter().copied().map(height));
    let mut frame = ChartFrame::new(chart, range(values), &names(series, |one| &one.name));
    let slot = frame.plot_width() / groups.len().max(1) as f64;
    let bar = 0.8 * slot / series.len().max(1) as f64;
    for (at, group) in groups.iter().enumerate() {
        let left = frame.left() + slot * at as f64;
        for (index, one) in series.iter().enumerate() {
            let value = one.values.get(at).copied().filter(|value| height(*value).is_finite());
            if let Some(value) = value {
                let x = left + 0.1 * slot + bar * index as f64;
                let span = frame.span(0.0, height(value));
                let tip = format!("{group}, {}: {value:.3}", one.name);
                rectangle(&mut frame.body, x, bar * 0.94, span, colour(index), &tip);
            }
        }
        frame.label_below(left + slot / 2.0, group.split_once('\n').map_or(*group, |lines| lines.1), 0);
    }
    let shared: Vec<Option<&str>> = groups.iter().map(|group| Some(group.split_once('\n')?.0)).collect();
    let mut at = 0;
    for run in shared.chunk_by(|a, b| a == b) {
        let middle = frame.left() + slot * (at as f64 + run.len() as f64 / 2.0);
        run[0].into_iter().for_each(|name| frame.label_below(middle, name, 1));
        at += run.len();
    }
    frame.finish()
}

/// One bar for each of `bars`, made of one piece of each layer, the first at the bottom. Values are
/// not negative.
#[must_use]
pub fn stacked_bars(chart: &Chart, bars: &[Bar], layers: &[Series]) -> String {
    let value = |layer: &Series, at: usize| layer.values.get(at).copied().unwrap_or(0.0).max(0.0);
    let sums = (0..bars.len()).map(|at| layers.iter().map(|layer| value(layer, at)).sum());
    let mut frame = ChartFrame::new(chart, range(sums), &names(layers, |one| &one.name));
    let changes = bars.windows(2).filter(|pair| pair[0].group != pair[1].group).count();
    let slot = frame.plot_width() / (bars.len() as f64 + changes as f64 * 0.6).max(1.0);
    let mut left = frame.left();
    let mut group_began = left;
    for (at, bar) in bars.iter().enumerate() {
        let mut below = 0.0;
        for (index, layer) in layers.iter().enumerate() {
            let piece = value(layer, at);
            let span = frame.span(below, below + piece);
            let tip = format!("{} {}, {}: {piece:.3}", bar.group, bar.label, layer.name);
            rectangle(&mut frame.body, left + 0.1 * slot, 0.8 * slot, span, colour(index), &tip);
            below += piece;
        }
        frame.label_below(left + slot / 2.0, &bar.label, 0);
        left += slot;
        if bars.get(at + 1).is_none_or(|next| next.group != bar.group) {
            frame.label_below((group_began + left) / 2.0, &bar.group, 1);
            left += 0.6 * slot;
            group_began = left;
        }
    }
    frame.finish()
}

/// Lines with a mark at each point, over a numeric horizontal axis.
#[must_use]
pub fn lines(chart: &Chart, lines: &[ChartLine]) -> String {
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let mut frame =
        ChartFrame::new(chart, range(points().map(|point| point.1)), &names(lines, |one| &one.name));
    let (low, high) =
        points().fold((f64::MAX, f64::MIN), |(low, high), point| (low.min(point.0), high.max(point.0)));
    let (low, high) = if low < high { (low, high) } else { (low.min(0.0), high.max(0.0) + 1.0) };
    frame.numbers_below(low, high);
    for (index, line) in lines.iter().enumerate() {
        let place = |&(x, y): &(f64, f64)| (frame.across(x, low, high), frame.height_of(y));
        let places: Vec<(f64, f64)> = line.points.iter().map(place).collect();
        let joined: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let (colour, joined) = (colour(index), joined.join(" "));
        let _ = writeln!(
            frame.body,
            r#"<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>"#
        );
        for ((x, y), (at, value)) in places.iter().zip(&line.points) {
            let tip = escape(&format!("{}: {at}, {value:.3}", line.name));
            let _ = writeln!(
                frame.body,
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"><title>{tip}</title></circle>"#
            );
        }
    }
    frame.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHART: Chart = Chart::new("a < b & c", "x", "y");

    fn series(name: &str, values: &[f64]) -> Series {
        Series { name: name.to_string(), values: values.to_vec() }
    }

    /// The numbers of an attribute, in the order of the elements that begin with `element`.
    fn attribute(svg: &str, element: &str, name: &str) -> Vec<f64> {
        let own = svg.lines().filter(|line| line.starts_with(element) && line.contains("<title>"));
        own.map(|line| {
            let from = line.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
            line[from..].split('"').next().unwrap().parse().unwrap()
        })
        .collect()
    }

    #[test]
    fn text_is_escaped_and_the_document_is_closed() {
        let svg = grouped_bars(&CHART, &["g"], &[series("s", &[1.0])]);
        assert!(svg.contains("a &lt; b &amp; c") && !svg.contains("a < b"));
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn bars_are_as_high_as_their_values() {
        let svg =
            grouped_bars(&CHART, &["g", "h"], &[series("s", &[1.0, 3.0]), series("t", &[2.0, f64::NAN])]);
        let heights = attribute(&svg, "<rect", "height");
        assert_eq!(heights.len(), 3, "no bar for what is no number");
        assert!((heights[1] / heights[0] - 2.0).abs() < 0.01, "{heights:?}");
        assert!((heights[2] / heights[0] - 3.0).abs() < 0.01, "{heights:?}");
    }

    #[test]
    fn logarithmic_bars_begin_at_one() {
        let chart = Chart { logarithmic: true, ..CHART };
        let svg = grouped_bars(&chart, &["g"], &[series("s", &[100.0, 0.0]), series("t", &[0.1])]);
        let (top, height) = (attribute(&svg, "<rect", "y"), attribute(&svg, "<rect", "height"));
        assert_eq!(height.len(), 2, "nothing has no logarithm");
        assert!((height[0] / height[1] - 2.0).abs() < 0.01, "{height:?}");
        assert!((top[0] + height[0] - top[1]).abs() < 0.2, "one upwards, the other downwards");
        assert!(svg.contains(">100<") && svg.contains(">0.10<"), "{svg}");
    }

    #[test]
    fn what_neighbours_share_is_written_once() {
        let svg = grouped_bars(&CHART, &["a\n1", "a\n2", "b\n1", "c"], &[series("s", &[1.0; 4])]);
        for (label, times) in [("a", 1), ("b", 1), ("c", 1), ("1", 2)] {
            assert!(svg.matches(&format!(">{label}</text>")).count() >= times, "{label}");
        }
        assert_eq!(svg.matches(">a</text>").count(), 1);
    }

    #[test]
    fn pieces_stand_on_each_other() {
        let bar = |group: &str| Bar { group: group.to_string(), label: "b".to_string() };
        let svg = stacked_bars(
            &CHART,
            &[bar("g"), bar("h")],
            &[series("s", &[1.0, 1.0]), series("t", &[2.0, 0.5])],
        );
        let (top, height) = (attribute(&svg, "<rect", "y"), attribute(&svg, "<rect", "height"));
        assert!((top[1] + height[1] - top[0]).abs() < 0.2);
        assert!((height[1] / height[0] - 2.0).abs() < 0.01);
    }

    #[test]
    fn points_lie_where_they_should() {
        let line = ChartLine { name: "l".to_string(), points: vec![(8.0, 0.0), (24.0, -1.0), (40.0, 1.0)] };
        let svg = lines(&CHART, &[line]);
        let (x, y) = (attribute(&svg, "<circle", "cx"), attribute(&svg, "<circle", "cy"));
        assert!(((x[0] + x[2]) / 2.0 - x[1]).abs() < 0.2);
        assert!(((y[1] + y[2]) / 2.0 - y[0]).abs() < 0.2, "negative values have their place");
    }

    #[test]
    fn empty_charts_are_charts() {
        for svg in [grouped_bars(&CHART, &[], &[]), stacked_bars(&CHART, &[], &[]), lines(&CHART, &[])] {
            assert!(svg.trim_end().ends_with("</svg>") && !svg.contains("NaN") && !svg.contains("inf"));
        }
    }
}
