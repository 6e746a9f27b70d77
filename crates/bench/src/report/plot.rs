//! Line charts as SVG: for a page, whose style sheet holds [`STYLE`], or as a file of their own.
//!
//! # Invariants
//! 1. A series is told by its colour and by the shape of its marks, so that it does not take colours to read a chart.
//! 2. Colours are variables of CSS, light and dark: a chart follows the reader's setting.
//! 3. Whatever the data (nothing, one point, zeros on a logarithmic axis, what is not finite), the result is well-formed and holds no NaN.

use super::shown;
use std::fmt::Write;

/// Colours, strokes and letters of charts. The eight colours of series were chosen to stay apart for the colour-blind, on both grounds.
pub const STYLE: &str = "\
:root{color-scheme:light dark;--ground:#fcfcfb;--ink:#0b0b0b;--ink2:#52514e;--line:#dddcd4;--s0:#2a78d6;--s1:#eb6834;--s2:#1baf7a;--s3:#b07700;--s4:#d6568a;--s5:#008300;--s6:#4a3aa7;--s7:#e34948}\n\
@media(prefers-color-scheme:dark){:root{--ground:#1a1a19;--ink:#fff;--ink2:#c3c2b7;--line:#3a3a37;--s0:#3987e5;--s1:#d95926;--s2:#199e70;--s3:#c98500;--s4:#d55181;--s5:#3aa33a;--s6:#9085e9;--s7:#e66767}}\n\
.plot text{font:12px system-ui,sans-serif;fill:var(--ink2)}.plot .t{font-size:13px;font-weight:600;fill:var(--ink)}.plot .k{fill:var(--ink)}\n\
.plot .g{stroke:var(--line);stroke-width:1;fill:none}.plot .l{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}.plot .w{stroke-width:1.5;fill:none}.plot .m{stroke:var(--ground);stroke-width:1.5}\n";

/// How many colours there are; then they begin anew, with other marks.
pub const COLORS: usize = 8;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const BOTTOM: f64 = 40.0;
/// Points past which a line has no marks, and is thinned.
const MARKS_MAX: usize = 40;
/// Points that are drawn of a line.
const POINTS_MAX: usize = 400;
/// Letters of a name in the legend.
const NAME_MAX: usize = 28;

/// How values are laid out along an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// From zero.
    Linear,
    /// From the smallest to the largest, by equal factors.
    Log,
    /// By equal factors, ticks at these values.
    LogAt(Vec<f64>),
}

/// A point, and between which values it is with confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Ends of its whisker.
    pub within: Option<(f64, f64)>,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Which colour and marks.
    pub color: usize,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

impl Series {
    /// Without whiskers.
    pub fn new(name: &str, color: usize, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        let points = points.into_iter().map(|(x, y)| Point { x, y, within: None }).collect();
        Series { name: name.to_owned(), color, points }
    }
}

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What is across, with its unit.
    pub across: String,
    /// How it is laid out.
    pub x: Axis,
    /// How what is up is laid out.
    pub y: Axis,
    /// What is shown at a value up, such as a unit (`ms`).
    pub unit: String,
    /// The lines.
    pub series: Vec<Series>,
}

/// Text in a page or a chart, without what would be read as marks.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            // What XML cannot hold at all.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Where the values of an axis are.
struct Ruler {
    log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    ticks: Vec<f64>,
}

impl Ruler {
    fn new(axis: &Axis, values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Ruler {
        let log = *axis != Axis::Linear;
        let usable = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (mut low, mut high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            (low, high) = (1.0, 1.0);
        }
        let ticks = match axis {
            Axis::Linear => {
                (low, high) = (low.min(0.0), high.max(0.0));
                if low == high {
                    high = 1.0;
                }
                let step = round_step((high - low) / 4.0);
                (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
                let count = ((high - low) / step).round() as usize;
                (0..=count.min(20)).map(|at| low + step * at as f64).collect()
            }
            Axis::LogAt(ticks) => ticks.clone(),
            Axis::Log => {
                (low, high) = (10f64.powf((low.log10() * 3.0).floor() / 3.0), 10f64.powf((high.log10() * 3.0).ceil() / 3.0));
                // The ends may have gone past what a number holds.
                let decade = |value: f64| value.clamp(f64::MIN_POSITIVE, f64::MAX).log10() as i32;
                let decades = decade(low) - 1..=decade(high) + 1;
                let heads: &[f64] = if high / low <= 150.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let all = decades.flat_map(|d| heads.iter().map(move |head| head * 10f64.powi(d)));
                all.filter(|v| *v >= low * 0.999 && *v <= high * 1.001).collect()
            }
        };
        if log && low >= high {
            (low, high) = (low / 2.0, high * 2.0);
        }
        Ruler { log, low, high, from, to, ticks }
    }

    /// The place of a value; none of what the axis cannot hold.
    fn at(&self, value: f64) -> Option<f64> {
        let share = match self.log {
            true => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            false => (value - self.low) / (self.high - self.low),
        };
        share.is_finite().then(|| self.from + (self.to - self.from) * share.clamp(-0.02, 1.02))
    }

    /// Ticks with their places, none nearer to the last than this.
    fn places(&self, apart: f64) -> Vec<(f64, f64)> {
        let mut out: Vec<(f64, f64)> = Vec::new();
        for (value, place) in self.ticks.iter().filter_map(|v| Some((*v, self.at(*v)?))) {
            if out.last().is_none_or(|(_, last)| (place - last).abs() >= apart) {
                out.push((value, place));
            }
        }
        out
    }
}

/// 1, 2 or 5 times a power of ten, at least `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let head = rough / power;
    power * [1.0, 2.0, 5.0].into_iter().find(|step| head <= *step * 1.000_001).unwrap_or(10.0)
}

/// A tick's number: short, in thousands and millions.
fn tick(value: f64) -> String {
    let (value, unit) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = format!("{value:.3}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{}{unit}", if digits == "-0" || digits.is_empty() { "0" } else { digits })
}

impl Plot {
    /// As an SVG element; with its own colours if it is to be a file.
    pub fn svg(&self, alone: bool) -> String {
        let (legend, rows) = self.legend();
        let top = 30.0 + 18.0 * rows as f64;
        let points = || self.series.iter().flat_map(|s| &s.points);
        let ends = points().flat_map(|p| p.within.map_or([p.y, p.y], |(low, high)| [low, high]));
        let x = Ruler::new(&self.x, points().map(|p| p.x), LEFT + 6.0, WIDTH - RIGHT - 6.0);
        let y = Ruler::new(&self.y, points().map(|p| p.y).chain(ends), HEIGHT - BOTTOM, top);
        let mut out = String::new();
        let space = if alone { " xmlns=\"http://www.w3.org/2000/svg\"" } else { "" };
        let _ =
            write!(out, "<svg{space} class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", escape(&self.title));
        if alone {
            let _ = write!(out, "<style>{STYLE}</style><rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"var(--ground)\"/>");
        }
        let _ = write!(out, "<text class=\"t\" x=\"8\" y=\"18\">{}</text>{legend}", escape(&self.title));
        for (value, place) in y.places(18.0) {
            let right = WIDTH - RIGHT;
            let _ = write!(out, "<path class=\"g\" d=\"M{LEFT} {place:.1}H{right}\"/>");
            let _ = write!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>", LEFT - 6.0, place + 4.0, tick(value));
        }
        let bottom = HEIGHT - BOTTOM;
        for (value, place) in x.places(38.0) {
            let _ = write!(
                out,
                "<path class=\"g\" d=\"M{place:.1} {bottom}v4\"/><text x=\"{place:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 17.0,
                tick(value)
            );
        }
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        let _ = write!(out, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>", HEIGHT - 6.0, escape(&self.across));
        self.series.iter().for_each(|series| self.line(series, &x, &y, &mut out));
        out.push_str("</svg>");
        out
    }

    fn line(&self, series: &Series, x: &Ruler, y: &Ruler, out: &mut String) {
        let color = series.color % COLORS;
        let points = thinned(&series.points);
        let placed: Vec<(Point, f64, f64)> = points.iter().filter_map(|p| Some((*p, x.at(p.x)?, y.at(p.y)?))).collect();
        let mut path = String::new();
        for (at, (_, px, py)) in placed.iter().enumerate() {
            let _ = write!(path, "{}{px:.1} {py:.1}", if at == 0 { 'M' } else { 'L' });
        }
        let name = escape(&series.name);
        if placed.len() > 1 {
            let _ = write!(out, "<path class=\"l\" style=\"stroke:var(--s{color})\" d=\"{path}\"><title>{name}</title></path>");
        }
        if placed.len() > MARKS_MAX {
            return;
        }
        for (point, px, py) in placed {
            if let Some((low, high)) = point.within.and_then(|(low, high)| Some((y.at(low)?, y.at(high)?))) {
                let (left, right) = (px - 4.0, px + 4.0);
                let _ = write!(
                    out,
                    "<path class=\"w\" style=\"stroke:var(--s{color})\" d=\"M{px:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}H{right:.1}M{left:.1} {high:.1}H{right:.1}\"/>"
                );
            }
            let within = point.within.map_or_else(String::new, |(low, high)| format!(" ({} to {})", shown(low), shown(high)));
            let said = format!("{name}, {} {}: {}{}{within}", tick(point.x), escape(&self.across), shown(point.y), escape(&self.unit));
            let _ = write!(out, "<g class=\"m\" style=\"fill:var(--s{color})\">{}<title>{said}</title></g>", mark(series.color, px, py));
        }
    }

    /// The legend, and in how many rows it is: names from left to right.
    fn legend(&self) -> (String, usize) {
        let (mut out, mut left, mut row) = (String::new(), LEFT, 0);
        if self.series.len() < 2 {
            return (out, 0);
        }
        for series in &self.series {
            let mut name: String = series.name.chars().take(NAME_MAX).collect();
            if name.len() < series.name.len() {
                name.push('…');
            }
            // Letters are about 6.6 units wide; a name that is wider goes on beyond its place and is cut by the frame at worst.
            let width = 24.0 + 6.6 * name.chars().count() as f64;
            if left > LEFT && left + width > WIDTH - RIGHT {
                (left, row) = (LEFT, row + 1);
            }
            let (y, color) = (36.0 + 18.0 * row as f64, series.color % COLORS);
            let _ = write!(out, "<g class=\"m\" style=\"fill:var(--s{color})\">{}</g>", mark(series.color, left + 4.0, y - 4.0));
            let _ = write!(out, "<text class=\"k\" x=\"{}\" y=\"{y}\">{}</text>", left + 13.0, escape(&name));
            left += width;
        }
        (out, row + 1)
    }
}

/// A mark: circle, square, triangle, diamond; other ones when the colours begin anew.
fn mark(color: usize, x: f64, y: f64) -> String {
    match (color + color / COLORS) % 4 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>"),
        1 => format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\"/>", x - 4.0, y - 4.0),
        2 => format!("<path d=\"M{x:.1} {:.1}l5 9h-10z\"/>", y - 5.0),
        _ => format!("<path d=\"M{x:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5 -5.5z\"/>", y - 5.5),
    }
}

/// At most so many points: neighbours' means; the last one's place stays.
fn thinned(points: &[Point]) -> Vec<Point> {
    let size = points.len().div_ceil(POINTS_MAX).max(1);
    let mean = |group: &[Point], of: fn(&Point) -> f64| group.iter().map(of).sum::<f64>() / group.len() as f64;
    if size == 1 {
        return points.to_vec();
    }
    points.chunks(size).map(|group| Point { x: mean(group, |p| p.x), y: mean(group, |p| p.y), within: None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plot(x: Axis, y: Axis, points: Vec<(f64, f64)>) -> Plot {
        let whisker = points.iter().map(|(x, y)| Point { x: *x, y: *y, within: Some((y / 2.0, y * 2.0)) }).collect();
        let series = vec![Series::new("<a & \"b\">", 0, points), Series { name: "whiskers".to_owned(), color: 9, points: whisker }];
        Plot { title: "]]> rate 'of' <all>".to_owned(), across: "connections".to_owned(), x, y, unit: " ms".to_owned(), series }
    }

    /// Parses it, and finds no number that is none.
    fn check(svg: &str) -> usize {
        let tree = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
        for node in tree.descendants() {
            for attribute in node.attributes() {
                assert!(!attribute.value().contains("NaN") && !attribute.value().contains("inf"), "{svg}");
            }
        }
        tree.descendants().filter(|n| n.tag_name().name() == "path" && n.attribute("class") == Some("l")).count()
    }

    #[test]
    fn numbers_at_ticks() {
        for (value, right) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (2000.0, "2000"),
            (10_000.0, "10k"),
            (12_500.0, "12.5k"),
            (3e6, "3M"),
            (-0.0, "0"),
            (1.5e9, "1.5G"),
        ] {
            assert_eq!(tick(value), right);
        }
        let ruler = Ruler::new(&Axis::Linear, [87.0, 310.0].into_iter(), 0.0, 100.0);
        assert_eq!(ruler.ticks, [0.0, 100.0, 200.0, 300.0, 400.0]);
        let ruler = Ruler::new(&Axis::Log, [3.0, 90.0].into_iter(), 0.0, 100.0);
        assert_eq!(ruler.ticks, [5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(ruler.at(0.0).map(|v| v.is_finite()), None, "zero has no place on a logarithmic axis");
    }

    #[test]
    fn a_line_stays_within_its_frame() {
        let points = vec![(1.0, 5.0), (16.0, 100.0), (1024.0, 20.0)];
        let svg = plot(Axis::LogAt(vec![1.0, 16.0, 1024.0]), Axis::Linear, points).svg(true);
        assert_eq!(check(&svg), 2);
        for label in [">1<", ">16<", ">1024<", ">200<", "&lt;a &amp; &quot;b&quot;&gt;"] {
            assert!(svg.contains(label), "{label} is missing: {svg}");
        }
        assert!(!svg.contains("<a &"));
    }

    #[test]
    fn many_points_are_thinned_and_have_no_marks() {
        let points = (0..30_000).map(|at| (at as f64, 100.0)).collect();
        let svg = plot(Axis::Linear, Axis::Linear, points).svg(false);
        assert!(svg.len() < 20_000, "{}", svg.len());
        assert_eq!(svg.matches("<title>").count(), 2);
        assert_eq!(thinned(&[]), []);
    }

    proptest! {
        #[test]
        fn whatever_the_data_it_is_well_formed(
            points in prop::collection::vec((prop_oneof![any::<f64>(), 0.0f64..1e4, Just(0.0)], prop_oneof![any::<f64>(), 0.0f64..1e6, Just(0.0), Just(f64::NAN)]), 0..12),
            log in any::<(bool, bool)>(), name in any::<String>(),
        ) {
            let axis = |log| if log { Axis::Log } else { Axis::Linear };
            let mut it = plot(axis(log.0), axis(log.1), points);
            it.title = name.clone();
            it.series[0].name = name;
            check(&it.svg(true));
        }
    }
}
