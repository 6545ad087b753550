//! Figures as SVG: lines for theory, points with confidence bands for measurements.

use std::error::Error;
use std::ops::Range;

use hustings_sim::statistics::Sample;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
pub(super) use plotters::prelude::SeriesLabelPosition as Corner;
use plotters::prelude::{
    BLACK, Cartesian2d, ChartBuilder, ChartContext, Color, EmptyElement, IntoDrawingArea, IntoFont,
    LineSeries, PathElement, Polygon, RGBColor, Ranged, SVGBackend, WHITE,
};

use super::budget::{ExperimentError, Result};
use super::evidence::number;

const SIZE: (u32, u32) = (860, 560);
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(60, 60, 60);
/// Colours that people with red or green blindness can tell apart (Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(213, 94, 0),
    RGBColor(230, 159, 0),
    RGBColor(0, 114, 178),
    RGBColor(86, 180, 233),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
];

/// Markers of measurements, in pixels around the point. They keep series apart without any colour.
const MARKERS: [&[(i32, i32)]; 6] = [
    // Nearly a disc.
    &[(2, -4), (4, -2), (4, 2), (2, 4), (-2, 4), (-4, 2), (-4, -2), (-2, -4)],
    &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
    &[(0, -5), (5, 4), (-5, 4)],
    &[(0, -6), (6, 0), (0, 6), (-6, 0)],
    &[(0, 5), (5, -4), (-5, -4)],
    &[(-6, -3), (6, -3), (6, 3), (-6, 3)],
];

/// A figure without its series.
pub(super) struct Panel {
    /// The file name without extension.
    pub(super) name: &'static str,
    pub(super) caption: &'static str,
    pub(super) title: &'static str,
    pub(super) frame: Frame,
}

/// The surroundings of the drawing.
pub(super) struct Frame {
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// The corner, or the side, that has room for the names of the series.
    pub(super) legend: Corner,
}

/// One of the two axes. Its range follows from the data.
pub(super) struct Axis {
    label: &'static str,
    scale: Scale,
}

impl Axis {
    pub(super) const fn linear(label: &'static str) -> Self {
        Self { label, scale: Scale::Linear }
    }

    pub(super) const fn roomy(label: &'static str) -> Self {
        Self { label, scale: Scale::Roomy }
    }

    pub(super) const fn logarithmic(label: &'static str) -> Self {
        Self { label, scale: Scale::Logarithmic }
    }
}

/// The scale of an axis.
#[derive(Clone, Copy)]
enum Scale {
    /// Linear, from zero.
    Linear,
    /// Linear, from zero, with room for the legend above the data.
    Roomy,
    /// Logarithmic, for values above zero.
    Logarithmic,
}

/// A line and points of one colour.
pub(super) struct Series {
    label: String,
    /// The index of the colour and marker. `None` uses the series' own index. An index keeps the
    /// look of one subject the same in every figure.
    looks_like: Option<usize>,
    line: Vec<(f64, f64)>,
    points: Vec<Point>,
}

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy)]
pub(super) struct Point {
    x: f64,
    mean: f64,
    ci95: [f64; 2],
}

impl Point {
    /// Returns the mean of `sample` at `x`, or `None` if the sample is empty.
    pub(super) fn of(x: f64, sample: &Sample) -> Option<Self> {
        let estimate = sample.estimate()?;
        Some(Self { x, mean: estimate.mean, ci95: estimate.ci95.unwrap_or([estimate.mean; 2]) })
    }
}

impl Series {
    /// A line of theory, and measured points.
    pub(super) fn new(label: impl Into<String>, line: Vec<(f64, f64)>, points: Vec<Point>) -> Self {
        Self { label: label.into(), looks_like: None, line, points }
    }

    /// A line without points.
    pub(super) fn line(label: impl Into<String>, line: Vec<(f64, f64)>) -> Self {
        Self::new(label, line, Vec::new())
    }

    /// Points, and a line through them.
    pub(super) fn through(label: impl Into<String>, points: Vec<Point>) -> Self {
        Self::new(label, points.iter().map(|point| (point.x, point.mean)).collect(), points)
    }

    pub(super) fn looking_like(self, look: usize) -> Self {
        Self { looks_like: Some(look), ..self }
    }

    fn draw<'a, 'b: 'a>(
        &self,
        colour: RGBColor,
        marker: &'static [(i32, i32)],
        chart: &mut Chart<'a, 'b>,
    ) -> Drawn {
        let low = self.points.iter().map(|point| (point.x, point.ci95[0]));
        let high = self.points.iter().map(|point| (point.x, point.ci95[1]));
        let band: Vec<(f64, f64)> = low.chain(high.rev()).collect();
        chart.draw_series([Polygon::new(band, colour.mix(0.2))])?;
        let line = LineSeries::new(self.line.iter().copied(), colour.stroke_width(2));
        let (has_line, has_points) = (!self.line.is_empty(), !self.points.is_empty());
        chart.draw_series(line)?.label(self.label.as_str()).legend(move |(x, y)| {
            let ends = if has_line { [(0, 0), (18, 0)] } else { [(9, 0); 2] };
            let around = |&(right, down): &(i32, i32)| (right + 9, down);
            let shape = if has_points { marker } else { &[] };
            EmptyElement::at((x, y))
                + PathElement::new(ends, colour.stroke_width(2))
                + Polygon::new(shape.iter().map(around).collect::<Vec<_>>(), colour)
        });
        let whisker = |point: &Point| {
            let ends = point.ci95.map(|end| (point.x, end));
            PathElement::new(ends.to_vec(), colour.stroke_width(1))
        };
        chart.draw_series(self.points.iter().map(whisker))?;
        let mark = |point: &Point| {
            EmptyElement::at((point.x, point.mean)) + Polygon::new(marker.to_vec(), colour)
        };
        chart.draw_series(self.points.iter().map(mark))?;
        Ok(())
    }

    fn xs(&self) -> impl Iterator<Item = f64> {
        let measured = self.points.iter().map(|point| point.x);
        self.line.iter().map(|(x, _)| *x).chain(measured)
    }

    fn ys(&self) -> impl Iterator<Item = f64> {
        let measured = self.points.iter().flat_map(|point| point.ci95);
        self.line.iter().map(|(_, y)| *y).chain(measured)
    }
}

type Drawn = std::result::Result<(), Box<dyn Error>>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Ruler, Ruler>>;

impl Panel {
    /// Returns the figure of these series as an SVG document.
    ///
    /// # Errors
    /// Returns an error if there is nothing to draw or the drawing fails.
    pub(super) fn draw(&self, series: &[Series]) -> Result<String> {
        let mut svg = String::new();
        match self.draw_to(&mut svg, series) {
            Ok(()) => Ok(svg),
            Err(why) => Err(ExperimentError(format!("cannot draw `{}`: {why}", self.title))),
        }
    }

    fn draw_to(&self, svg: &mut String, series: &[Series]) -> Drawn {
        let Frame { x, y, legend } = &self.frame;
        let (xs, ys) = (series.iter().flat_map(Series::xs), series.iter().flat_map(Series::ys));
        let across = Ruler::over(x.scale, xs).ok_or("nothing to draw")?;
        let upwards = Ruler::over(y.scale, ys).ok_or("nothing to draw")?;
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, (FONT, 22).into_font().color(&INK))
            .margin(18)
            .x_label_area_size(54)
            .y_label_area_size(78)
            .build_cartesian_2d(across, upwards)?;
        chart
            .configure_mesh()
            .x_desc(x.label)
            .y_desc(y.label)
            .x_label_formatter(&|value| number(*value))
            .y_label_formatter(&|value| number(*value))
            .label_style((FONT, 15).into_font().color(&INK))
            .axis_desc_style((FONT, 16).into_font().color(&INK))
            .bold_line_style(BLACK.mix(0.12))
            .light_line_style(BLACK.mix(0.0))
            .axis_style(INK)
            .draw()?;
        for (place, series) in series.iter().enumerate() {
            let look = series.looks_like.unwrap_or(place);
            let (colour, marker) = (COLOURS[look % COLOURS.len()], MARKERS[look % MARKERS.len()]);
            series.draw(colour, marker, &mut chart)?;
        }
        chart
            .configure_series_labels()
            .position(legend.clone())
            .label_font((FONT, 15).into_font().color(&INK))
            .background_style(WHITE.mix(0.9))
            .border_style(BLACK.mix(0.15))
            .draw()?;
        Ok(area.present()?)
    }
}

/// The position of values on an axis, and the values written beside it.
struct Ruler {
    scale: Scale,
    range: Range<f64>,
}

impl Ruler {
    /// Returns a ruler with room for all `values`, or `None` if there are no values to show.
    fn over(scale: Scale, values: impl Iterator<Item = f64>) -> Option<Self> {
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), it| {
            (least.min(it), most.max(it))
        });
        let range = match scale {
            Scale::Linear => 0.0..most * 1.04,
            Scale::Roomy => 0.0..most * 1.4,
            Scale::Logarithmic => least / 1.25..most * 1.25,
        };
        (range.start.is_finite() && range.start < range.end).then_some(Self { scale, range })
    }

    /// Returns the position of a value, from 0 at the start of the axis to 1 at its end.
    fn place(&self, value: f64) -> f64 {
        let Range { start, end } = self.range;
        match self.scale {
            Scale::Linear | Scale::Roomy => (value - start) / (end - start),
            Scale::Logarithmic => (value / start).ln() / (end / start).ln(),
        }
    }

    /// Returns powers of ten, and twice and five times each if the range is short.
    fn round_numbers(&self) -> Vec<f64> {
        let Range { start, end } = self.range;
        let steps: &[f64] = if end / start > 1e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let powers = start.log10().floor() as i32..=end.log10().ceil() as i32;
        let numbers =
            powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        numbers.filter(|it| self.range.contains(it)).collect()
    }
}

impl Ranged for Ruler {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (self.place(*value) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self.scale {
            Scale::Linear | Scale::Roomy => {
                RangedCoordf64::from(self.range.clone()).key_points(hint)
            }
            Scale::Logarithmic => self.round_numbers(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

#[cfg(test)]
mod tests {
    use hustings_sim::statistics::{Kind, Sample};

    use super::{Axis, Corner, Frame, Panel, Point, Ruler, Scale, Series};

    const PANEL: Panel = Panel {
        name: "costs",
        caption: "Messages by group size.",
        title: "cost",
        frame: Frame {
            x: Axis::logarithmic("members"),
            y: Axis::logarithmic("messages"),
            legend: Corner::UpperLeft,
        },
    };

    #[test]
    fn figure_shows_labels_line_and_points() {
        let mut sample = Sample::new(Kind::Number);
        [9.0, 11.0].into_iter().for_each(|value| sample.add(value));
        let line = vec![(1.0, 1.0), (100.0, 1000.0)];
        let points = Point::of(10.0, &sample).into_iter().collect();
        let svg = PANEL.draw(&[Series::new("a ring", line, points)]).unwrap();
        for part in ["<svg", "a ring", "members", "messages", "<polyline"] {
            assert!(svg.contains(part), "{part} is missing: {svg}");
        }
        // The band, the point, and the point's marker in the legend.
        assert_eq!(svg.matches("<polygon").count(), 3, "{svg}");
    }

    #[test]
    fn empty_figure_is_an_error() {
        let error = PANEL.draw(&[]).unwrap_err();
        assert_eq!(error.to_string(), "cannot draw `cost`: nothing to draw");
    }

    #[test]
    fn logarithmic_scale_gives_equal_factors_equal_length() {
        let ruler = Ruler { scale: Scale::Logarithmic, range: 1.0..100.0 };
        assert_eq!((ruler.place(1.0), ruler.place(10.0)), (0.0, 0.5));
        assert_eq!(ruler.round_numbers(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
    }
}
