//! What all charts have: title, axes, grid, legend, and the way from values to pixels.

use super::{Chart, colour};
use std::fmt::Write;
use std::ops::Range;

const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const BELOW: f64 = 62.0;
const LINE: f64 = 18.0;

/// Text inside an element or an attribute.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A chart in the making. `body` is what has been drawn so far.
pub(super) struct ChartFrame<'a> {
    chart: &'a Chart<'a>,
    pub body: String,
    low: f64,
    high: f64,
    top: f64,
}

/// A distance between grid lines that reads well: 1, 2 or 5 times a power of ten, for at most about
/// eight lines.
pub(super) fn step_of(span: f64) -> f64 {
    let rough = span / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|one| one * power).find(|&step| step >= rough).unwrap_or(rough)
}

/// A grid line's number without digits that say nothing.
pub(super) fn number(value: f64, step: f64) -> String {
    let digits = (-step.log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}")
}

impl<'a> ChartFrame<'a> {
    /// Draws background, title, legend and the vertical axis for values of this range.
    pub fn new(chart: &'a Chart<'a>, values: Range<f64>, legend: &[String]) -> Self {
        let Range { start: low, end: high } = values;
        let high = if high > low { high } else { low + 1.0 };
        let step = step_of(high - low);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        let mut frame = Self { chart, body: String::new(), low, high, top: 0.0 };
        let (width, height) = (chart.width, chart.height);
        let _ = writeln!(frame.body, r#"<rect width="{width}" height="{height}" fill="white"/>"#);
        frame.text(
            f64::from(width) / 2.0,
            22.0,
            chart.title,
            r#"text-anchor="middle" font-size="15" font-weight="bold""#,
        );
        frame.legend(legend);
        frame.grid(step);
        frame
    }

    fn legend(&mut self, entries: &[String]) {
        let (mut x, mut y) = (LEFT, 44.0);
        for (index, entry) in entries.iter().enumerate() {
            let wide = 30.0 + 7.0 * entry.chars().count() as f64;
            if x + wide > f64::from(self.chart.width) - RIGHT && x > LEFT {
                (x, y) = (LEFT, y + LINE);
            }
            let (box_y, colour) = (y - 10.0, colour(index));
            let _ = writeln!(
                self.body,
                r#"<rect x="{x:.1}" y="{box_y:.1}" width="12" height="12" fill="{colour}"/>"#
            );
            self.text(x + 17.0, y, entry, "");
            x += wide;
        }
        self.top = y + LINE;
    }

    fn grid(&mut self, step: f64) {
        let right = self.left() + self.plot_width();
        let lines = ((self.high - self.low) / step).round() as usize;
        for at in 0..=lines {
            let value = self.low + step * at as f64;
            let (y, left) = (self.height_of(value), self.left());
            let stroke = if value.abs() < step / 2.0 { "#333" } else { "#ddd" };
            let _ = writeln!(
                self.body,
                r#"<line x1="{left:.1}" y1="{y:.1}" x2="{right:.1}" y2="{y:.1}" stroke="{stroke}"/>"#
            );
            self.text(left - 6.0, y + 4.0, &self.label_of(value, step), r#"text-anchor="end""#);
        }
        let middle = (self.top + self.bottom()) / 2.0;
        let turned = format!(r#"text-anchor="middle" transform="rotate(-90 16 {middle:.1})""#);
        self.text(16.0, middle, self.chart.y, &turned);
        let (x, y) = (self.left() + self.plot_width() / 2.0, f64::from(self.chart.height) - 8.0);
        self.text(x, y, self.chart.x, r#"text-anchor="middle""#);
    }

    /// What stands beside a grid line. Those of a logarithmic axis are at powers of ten.
    fn label_of(&self, value: f64, step: f64) -> String {
        if !self.chart.logarithmic {
            return number(value, step);
        }
        let power = 10_f64.powf(value);
        let digits = (1.0 - power.log10().floor()).clamp(0.0, 4.0) as usize;
        format!("{power:.digits$}")
    }

    fn text(&mut self, x: f64, y: f64, text: &str, attributes: &str) {
        let text = escape(text);
        let _ = writeln!(self.body, r#"<text x="{x:.1}" y="{y:.1}" {attributes}>{text}</text>"#);
    }

    /// Where the plot begins.
    pub fn left(&self) -> f64 {
        LEFT
    }

    /// How wide the plot is.
    pub fn plot_width(&self) -> f64 {
        f64::from(self.chart.width) - LEFT - RIGHT
    }

    fn bottom(&self) -> f64 {
        f64::from(self.chart.height) - BELOW
    }

    /// The height of a value, in pixels from the top.
    pub fn height_of(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.bottom() - share * (self.bottom() - self.top)
    }

    /// Top and bottom of a bar between two values.
    pub fn span(&self, from: f64, to: f64) -> Range<f64> {
        let (from, to) = (self.height_of(from), self.height_of(to));
        from.min(to)..from.max(to)
    }

    /// The place of a value on a horizontal axis from `low` to `high`.
    pub fn across(&self, value: f64, low: f64, high: f64) -> f64 {
        let margin = 12.0;
        LEFT + margin + (value - low) / (high - low) * (self.plot_width() - 2.0 * margin)
    }

    /// Numbers along a horizontal axis.
    pub fn numbers_below(&mut self, low: f64, high: f64) {
        let step = step_of(high - low);
        let mut value = (low / step).ceil() * step;
        while value <= high + step * 1e-9 {
            let x = self.across(value, low, high);
            self.label_below(x, &number(value, step), 0);
            value += step;
        }
    }

    /// A word below the plot, in the first row or the second.
    pub fn label_below(&mut self, x: f64, text: &str, row: usize) {
        let y = self.bottom() + LINE + LINE * row as f64;
        let weight = if row == 0 { "" } else { r#" font-weight="bold""# };
        self.text(x, y, text, &format!(r#"text-anchor="middle"{weight}"#));
    }

    /// The document.
    pub fn finish(self) -> String {
        let (width, height) = (self.chart.width, self.chart.height);
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" fill="black">
{}</svg>
"#,
            self.body
        )
    }
}
