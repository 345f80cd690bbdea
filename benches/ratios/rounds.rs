//! Rounds of two sides in turn, and what they come to.

use std::ops::AsyncFnMut;

use anyhow::Result;

/// Figures of one side, one per round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures(Vec<f64>);

impl Figures {
    pub(crate) fn add(&mut self, figure: f64) {
        self.0.push(figure);
    }

    /// The middle one.
    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The one that `part` (0 to 1) of them do not exceed.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            len => sorted[((len - 1) as f64 * part).round() as usize],
        }
    }

    /// The least and the greatest.
    pub(crate) fn spread(&self) -> (f64, f64) {
        (self.quantile(0.0), self.quantile(1.0))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Round by round, so that a machine that gets slower for both does not show.
    pub(crate) fn ratios_to(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(ours, theirs)| ours / theirs).collect())
    }
}

impl FromIterator<f64> for Figures {
    fn from_iter<I: IntoIterator<Item = f64>>(figures: I) -> Self {
        Self(figures.into_iter().collect())
    }
}

/// Events per second of both sides.
pub(crate) struct Comparison {
    pub(crate) ours: Figures,
    pub(crate) bare: Figures,
}

impl Comparison {
    pub(crate) fn ratio(&self) -> Figures {
        self.ours.ratios_to(&self.bare)
    }
}

/// Runs both sides in turn, after one round of each that does not count. Each returns its events per second.
pub(crate) async fn compare(
    rounds: usize,
    mut ours: impl AsyncFnMut() -> Result<f64>,
    mut bare: impl AsyncFnMut() -> Result<f64>,
) -> Result<Comparison> {
    let mut comparison = Comparison { ours: Figures::default(), bare: Figures::default() };
    ours().await?;
    bare().await?;
    for _ in 0..rounds {
        comparison.ours.add(ours().await?);
        comparison.bare.add(bare().await?);
    }
    Ok(comparison)
}
