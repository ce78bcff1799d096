//! Draws curves over the number of clients: a panel for each curve, side by side, a line for each subject, its name at
//! the line's end. Both axes of a figure are logarithmic, because the subjects are thousands apart.

use std::fmt::Write;

use crate::{Line, spread};

const PANEL: (f64, f64) = (330.0, 300.0);
/// Around a panel: left, top, right (for names), bottom.
const MARGIN: (f64, f64, f64, f64) = (64.0, 64.0, 128.0, 46.0);
/// Ours first, which is drawn last and thickest.
const OURS: &str = "#c2255c";
const COLORS: [&str; 8] =
    ["#495057", "#868e96", "#7048e8", "#f08c00", "#1098ad", "#a0694b", "#2f9e44", "#1c7ed6"];
/// Names at least this far apart.
const LINE_HEIGHT: f64 = 13.0;

/// A picture of all curves of a bench.
pub fn svg(title: &str, lines: &[&Line]) -> String {
    let mut curves: Vec<&str> = Vec::new();
    let mut subjects: Vec<&str> = Vec::new();
    for line in lines {
        if !curves.contains(&line.row.as_str()) {
            curves.push(&line.row);
        }
        if !subjects.contains(&line.subject.as_str()) {
            subjects.push(&line.subject);
        }
    }
    let cell = (MARGIN.0 + PANEL.0 + MARGIN.2, MARGIN.1 + PANEL.1 + MARGIN.3);
    let (width, height) = (cell.0 * 2.0, 36.0 + cell.1 * curves.len().div_ceil(2) as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"#343a40\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"{}\" y=\"30\" font-size=\"17\" font-weight=\"600\">{title}</text>\n",
        MARGIN.0
    );
    for (at, curve) in curves.iter().enumerate() {
        let (x, y) =
            ((at % 2) as f64 * cell.0 + MARGIN.0, (at / 2) as f64 * cell.1 + MARGIN.1 + 36.0);
        let of: Vec<&Line> = lines.iter().filter(|line| line.row == *curve).copied().collect();
        let _ = writeln!(out, "<g transform=\"translate({x},{y})\">");
        panel(&mut out, curve, &subjects, &of);
        out += "</g>\n";
    }
    out += "</svg>\n";
    out
}

fn panel(out: &mut String, curve: &str, subjects: &[&str], lines: &[&Line]) {
    let points = lines.iter().map(|line| (line.clients.unwrap_or(0.0), spread(&line.samples).0));
    let points: Vec<(f64, f64)> = points.collect();
    let across = Scale::linear(points.iter().map(|point| point.0), PANEL.0);
    let up = Scale::logarithmic(points.iter().map(|point| point.1), PANEL.1);
    let unit = lines.first().map_or("", |line| &line.unit);
    let _ = writeln!(
        out,
        "<text y=\"-14\" font-size=\"13\" font-weight=\"600\">{curve}, {unit}</text>"
    );
    for mark in up.decades() {
        let y = PANEL.1 - up.place(mark);
        let _ = writeln!(
            out,
            "<line x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e9ecef\"/>\
             <text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#868e96\">{}</text>",
            PANEL.0,
            y + 4.0,
            thousands(mark)
        );
    }
    let mut clients: Vec<f64> = points.iter().map(|point| point.0).collect();
    clients.sort_by(f64::total_cmp);
    clients.dedup();
    for mark in clients {
        let x = across.place(mark);
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#868e96\">{mark}</text>",
            PANEL.1 + 18.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#868e96\">clients</text>",
        PANEL.0 / 2.0,
        PANEL.1 + 34.0
    );

    let mut ends: Vec<(f64, &str, &str)> = Vec::new();
    for (at, subject) in subjects.iter().enumerate().rev() {
        let of = lines.iter().filter(|line| line.subject == *subject);
        let places: Vec<(f64, f64)> = of
            .map(|line| (line.clients.unwrap_or(0.0), spread(&line.samples).0))
            .map(|(clients, figure)| (across.place(clients), PANEL.1 - up.place(figure)))
            .collect();
        let Some((_, last)) = places.last() else { continue };
        let ours = subject.starts_with("sakuin");
        let color = if ours { OURS } else { COLORS[at % COLORS.len()] };
        let dashes = if *subject == "sakuin" || !ours { "" } else { " stroke-dasharray=\"5 3\"" };
        let thick = if ours { 2.6 } else { 1.6 };
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{thick}\"{dashes}/>",
            path.join(" ")
        );
        for (x, y) in &places {
            let _ = writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{thick}\" fill=\"{color}\"/>"
            );
        }
        ends.push((*last, subject, color));
    }
    for (y, subject, color) in apart(ends) {
        let weight = if subject.starts_with("sakuin") { 600 } else { 400 };
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{:.1}\" fill=\"{color}\" font-weight=\"{weight}\">{subject}</text>",
            PANEL.0 + 10.0,
            y + 4.0
        );
    }
}

/// Moves names that would stand on each other, as little as it takes.
fn apart<'l>(mut ends: Vec<(f64, &'l str, &'l str)>) -> Vec<(f64, &'l str, &'l str)> {
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    for _ in 0..200 {
        for at in 1..ends.len() {
            let overlap = LINE_HEIGHT - (ends[at].0 - ends[at - 1].0);
            if overlap > 0.01 {
                ends[at - 1].0 -= overlap / 2.0;
                ends[at].0 += overlap / 2.0;
            }
        }
    }
    ends
}

/// From a figure to a place between 0 and `length`.
struct Scale {
    least: f64,
    most: f64,
    length: f64,
    logarithmic: bool,
}

impl Scale {
    fn linear(figures: impl Iterator<Item = f64>, length: f64) -> Scale {
        let most = figures.fold(1.0, f64::max);
        Scale { least: 0.0, most, length, logarithmic: false }
    }

    /// From the decade below the least to the one above the most.
    fn logarithmic(figures: impl Iterator<Item = f64>, length: f64) -> Scale {
        let logs = figures.map(|figure| figure.max(1e-6).log10());
        let (least, most) =
            logs.fold((f64::MAX, f64::MIN), |(least, most), log| (least.min(log), most.max(log)));
        Scale {
            least: least.floor(),
            most: most.ceil().max(least.floor() + 1.0),
            length,
            logarithmic: true,
        }
    }

    fn place(&self, figure: f64) -> f64 {
        let figure = if self.logarithmic { figure.max(1e-6).log10() } else { figure };
        (figure - self.least) / (self.most - self.least) * self.length
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.least as i32..=self.most as i32).map(|power| 10f64.powi(power))
    }
}

fn thousands(figure: f64) -> String {
    if figure < 1.0 {
        return format!("{figure}");
    }
    let digits = format!("{figure:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
