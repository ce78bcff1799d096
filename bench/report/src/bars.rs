//! Draws the rows of a bench as bars: a panel for each row, a bar for each subject, the shortest first. The axis is
//! logarithmic, because the subjects are thousands apart.

use std::fmt::Write;

use crate::{Line, figure, spread};

/// Of a panel: the room for names, the longest bar, the room for figures, between two panels.
const WIDTHS: [f64; 4] = [190.0, 300.0, 90.0, 24.0];
const BAR: f64 = 20.0;
const TITLE: f64 = 46.0;
const OURS: &str = "#c2255c";
const THEIRS: &str = "#adb5bd";

/// A picture of all rows of a bench, two panels beside each other.
pub fn svg(title: &str, lines: &[&Line]) -> String {
    let mut rows: Vec<(&str, Vec<&Line>)> = Vec::new();
    for line in lines {
        match rows.iter_mut().find(|(row, _)| *row == line.row) {
            Some((_, of)) => of.push(line),
            None => rows.push((&line.row, vec![line])),
        }
    }
    let across: f64 = WIDTHS.iter().sum();
    let height = |of: &[&Line]| TITLE + BAR * of.len() as f64;
    let heights: Vec<f64> = rows
        .chunks(2)
        .map(|pair| pair.iter().map(|(_, of)| height(of)).fold(0.0, f64::max) + 20.0)
        .collect();
    let (width, all) = (across * 2.0, 56.0 + heights.iter().sum::<f64>());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {all}\" width=\"{width}\" height=\"{all}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"#343a40\">\n\
         <rect width=\"{width}\" height=\"{all}\" fill=\"#ffffff\"/>\n\
         <text x=\"16\" y=\"30\" font-size=\"17\" font-weight=\"600\">{title}</text>\n"
    );
    let mut y = 56.0;
    for (pair, height) in rows.chunks(2).zip(heights) {
        for (at, (row, of)) in pair.iter().enumerate() {
            let x = at as f64 * across + 16.0;
            let _ = writeln!(out, "<g transform=\"translate({x},{y})\">");
            panel(&mut out, row, of);
            out += "</g>\n";
        }
        y += height;
    }
    out += "</svg>\n";
    out
}

fn panel(out: &mut String, row: &str, lines: &[&Line]) {
    let unit = lines.first().map_or("", |line| &line.unit);
    let _ =
        writeln!(out, "<text y=\"14\" font-size=\"13\" font-weight=\"600\">{row}, {unit}</text>");
    let mut bars: Vec<(f64, &str)> =
        lines.iter().map(|line| (spread(&line.samples).0, line.subject.as_str())).collect();
    bars.sort_by(|one, other| one.0.total_cmp(&other.0));
    let log = |median: f64| median.max(1e-6).log10();
    let least = bars.first().map_or(0.0, |bar| log(bar.0)).floor();
    let most = bars.last().map_or(1.0, |bar| log(bar.0)).ceil().max(least + 1.0);
    let [names, longest, ..] = WIDTHS;
    for power in least as i32..=most as i32 {
        let x = names + (f64::from(power) - least) / (most - least) * longest;
        let down = 24.0 + BAR * bars.len() as f64;
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"22\" y2=\"{down}\" stroke=\"#e9ecef\"/>"
        );
    }
    for (at, (median, subject)) in bars.into_iter().enumerate() {
        let y = 24.0 + BAR * at as f64;
        let length = ((log(median) - least) / (most - least) * longest).max(1.0);
        let (color, weight) = if subject == "sakuin" { (OURS, 600) } else { (THEIRS, 400) };
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-weight=\"{weight}\">{subject}</text>\
             <rect x=\"{names}\" y=\"{}\" width=\"{length:.1}\" height=\"{}\" rx=\"2\" fill=\"{color}\"/>\
             <text x=\"{:.1}\" y=\"{}\" fill=\"#495057\">{}</text>",
            names - 8.0,
            y + 12.0,
            y + 2.0,
            BAR - 6.0,
            names + length + 6.0,
            y + 12.0,
            figure(median)
        );
    }
}
