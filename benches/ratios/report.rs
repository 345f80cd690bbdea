//! How figures are printed: each with its target, its spread, and the conditions under which it was taken.

use crate::rounds::{Comparison, Figures};

/// What a figure is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    fn verdict(self, figure: f64) -> String {
        let (sign, bound, is_met) = match self {
            Self::AtLeast(bound) => ("≥", bound, figure >= bound),
            Self::AtMost(bound) => ("≤", bound, figure <= bound),
        };
        format!("target {sign} {bound}: {}", if is_met { "ahead" } else { "BEHIND" })
    }
}

pub(crate) fn title(name: &str, about: &str) {
    println!("\n## {name}: {about}\n");
}

/// The ratio of events per second, ours to the bare loop's.
pub(crate) fn ratio(what: &str, comparison: &Comparison, target: Target, conditions: &str) {
    print_ratio(what, &comparison.ratio(), target);
    println!(
        "    {} /s beside {} /s; {conditions}",
        rate(comparison.ours.median()),
        rate(comparison.bare.median())
    );
}

/// The ratio of times, ours to the bare loop's.
pub(crate) fn time_ratio(what: &str, comparison: &Comparison, target: Target, conditions: &str) {
    print_ratio(what, &comparison.bare.ratios_to(&comparison.ours), target);
    println!(
        "    {:.1} µs beside {:.1} µs each; {conditions}",
        1e6 / comparison.ours.median(),
        1e6 / comparison.bare.median()
    );
}

fn print_ratio(what: &str, ratio: &Figures, target: Target) {
    let (least, greatest) = ratio.spread();
    println!(
        "{what:44} {:5.2} × [{}]  (median of {} rounds, {least:.2} to {greatest:.2})",
        ratio.median(),
        target.verdict(ratio.median()),
        ratio.len()
    );
}

/// One figure with a unit.
pub(crate) fn figure(what: &str, figure: f64, unit: &str, target: Option<Target>, conditions: &str) {
    let verdict = target.map_or(String::new(), |target| format!(" [{}]", target.verdict(figure)));
    println!("{what:44} {figure:5.2} {unit}{verdict}\n    {conditions}");
}

/// Events per second, in as many digits as mean something.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second >= 10_000.0 { format!("{:.1} k", per_second / 1_000.0) } else { format!("{per_second:.0}") }
}
