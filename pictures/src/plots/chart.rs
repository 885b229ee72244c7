//! Lines in a coordinate system, as SVG.

use std::ops::Range;

use anyhow::{anyhow, Result};
use plotters::chart::ChartBuilder;
pub use plotters::chart::SeriesLabelPosition;
use plotters::drawing::IntoDrawingArea;
use plotters::element::{Circle, PathElement};
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::{Color, RGBColor, BLACK, WHITE};
use plotters_svg::SVGBackend;

/// A panel's width and height.
const PANEL: (u32, u32) = (520, 380);
const FONT: &str = "sans-serif";
/// Lines that are near one another differ in lightness too.
const COLOURS: [RGBColor; 3] = [RGBColor(0, 92, 170), RGBColor(214, 96, 0), RGBColor(0, 132, 84)];

/// How an axis is divided and labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Numbers as they are.
    Plain,
    /// By powers of 2.
    Doublings,
    /// By powers of 10.
    Decades,
}

impl Scale {
    /// Where a number lies.
    fn at(self, number: f64) -> f64 {
        match self {
            Self::Plain => number,
            Self::Doublings => number.log2(),
            Self::Decades => number.log10(),
        }
    }

    /// What stands there.
    fn label(self, at: f64) -> String {
        match self {
            Self::Plain => format!("{}", (at * 1000.0).round() / 1000.0),
            Self::Doublings if at >= 20.0 => format!("{} Mi", (at - 20.0).exp2().round()),
            Self::Doublings if at >= 10.0 => format!("{} Ki", (at - 10.0).exp2().round()),
            Self::Doublings => format!("{}", at.exp2().round()),
            Self::Decades => format!("{}", 10f64.powf(at).round()),
        }
    }
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is along it.
    pub title: &'static str,
    /// From where to where, as the scale places numbers.
    pub range: Range<f64>,
    /// How it is divided.
    pub scale: Scale,
}

impl Axis {
    /// How many labels it has at most.
    fn labels(&self) -> usize {
        match self.scale {
            Scale::Plain => 9,
            Scale::Doublings | Scale::Decades => (self.range.end - self.range.start) as usize + 1,
        }
    }
}

/// A coordinate system.
#[derive(Clone)]
pub struct Panel {
    /// Above it.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// Where the names of the lines stand: where no line is.
    pub names: SeriesLabelPosition,
}

/// Points that are joined.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// A bound; it has the colour of the line before it.
    pub dashed: bool,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

/// Draws panels beside one another.
///
/// # Errors
/// The plot cannot be drawn.
pub fn draw(panels: &[(Panel, Vec<Line>)]) -> Result<String> {
    let mut svg = String::new();
    {
        let size = (PANEL.0 * panels.len() as u32, PANEL.1);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        for ((panel, lines), part) in panels.iter().zip(area.split_evenly((1, panels.len()))) {
            let mut chart = ChartBuilder::on(&part)
                .caption(&panel.title, (FONT, 16))
                .margin(12)
                .x_label_area_size(44)
                .y_label_area_size(64)
                .build_cartesian_2d(panel.x.range.clone(), panel.y.range.clone())
                .map_err(failed)?;
            chart
                .configure_mesh()
                .light_line_style(WHITE)
                .bold_line_style(BLACK.mix(0.12))
                .x_desc(panel.x.title)
                .y_desc(panel.y.title)
                .x_labels(panel.x.labels().min(11))
                .y_labels(panel.y.labels())
                .x_label_formatter(&|at| panel.x.scale.label(*at))
                .y_label_formatter(&|at| panel.y.scale.label(*at))
                .label_style((FONT, 13))
                .draw()
                .map_err(failed)?;
            let mut colours = COLOURS.iter().cycle();
            let mut colour = COLOURS[0];
            for line in lines {
                let place = |&(x, y): &(f64, f64)| (panel.x.scale.at(x), panel.y.scale.at(y));
                let points: Vec<(f64, f64)> = line.points.iter().map(place).collect();
                let style;
                let series = if line.dashed {
                    style = colour.stroke_width(1);
                    chart.draw_series(DashedLineSeries::new(points, 5, 4, style)).map_err(failed)?
                } else {
                    colour = colours.next().copied().unwrap_or(BLACK);
                    style = colour.stroke_width(2);
                    let dots = points.iter().map(|point| Circle::new(*point, 3, colour.filled()));
                    chart.draw_series(dots).map_err(failed)?;
                    chart.draw_series(LineSeries::new(points, style)).map_err(failed)?
                };
                let dashed = line.dashed;
                series.label(&line.name).legend(move |(x, y)| {
                    // A dashed line is two short ones here.
                    let ends = if dashed { vec![(x, y), (x + 7, y)] } else { vec![(x, y), (x + 20, y)] };
                    PathElement::new(ends, style)
                });
            }
            chart
                .configure_series_labels()
                .position(panel.names.clone())
                .background_style(WHITE.mix(0.85))
                .border_style(BLACK.mix(0.3))
                .label_font((FONT, 13))
                .draw()
                .map_err(failed)?;
        }
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

/// The library's errors may not be sent to another thread.
fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("the plot cannot be drawn: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_what_the_axis_counts() {
        assert_eq!(
            [0.0, 4.0, 10.0, 16.0, 20.0].map(|at| Scale::Doublings.label(at)),
            ["1", "16", "1 Ki", "64 Ki", "1 Mi"]
        );
        assert_eq!([2.0, 6.0].map(|at| Scale::Decades.label(at)), ["100", "1000000"]);
        assert_eq!(Scale::Plain.label(0.1 + 0.2), "0.3");
    }

    #[test]
    fn the_same_lines_make_the_same_picture() {
        let axis = Axis { title: "x", range: 0.0..10.0, scale: Scale::Plain };
        let panel =
            Panel { title: "t".into(), x: axis.clone(), y: axis, names: SeriesLabelPosition::UpperLeft };
        let line = |dashed| Line { name: "line".into(), dashed, points: vec![(0.0, 1.0), (10.0, 9.0)] };
        let picture = || draw(&[(panel.clone(), vec![line(false), line(true)])]).unwrap();
        assert_eq!(picture(), picture());
        assert!(picture().starts_with("<svg"));
    }
}
