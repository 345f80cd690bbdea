//! A bar on a terminal, and a line now and then elsewhere.

use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinHandle;

use crate::runs::Runs;

/// How often the bar shows the handler runs.
const REDRAW: Duration = Duration::from_millis(100);

/// How often a line is printed where there is no terminal.
const LINE: Duration = Duration::from_secs(1);

/// Shows how far the import is, until it is ended or dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    show: JoinHandle<()>,
}

impl Progress {
    /// Begins to show.
    pub(crate) fn start(movies: usize, runs: Arc<Runs>) -> Self {
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} movies, {msg}")
            .expect("the template is right");
        let bar = ProgressBar::new(movies as u64).with_style(style);
        Self { show: tokio::spawn(show(bar.clone(), runs)), bar }
    }

    /// One more movie is in.
    pub(crate) fn imported(&self) {
        self.bar.inc(1);
    }

    /// Takes the bar off the screen.
    pub(crate) fn end(self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.show.abort();
    }
}

/// The bar hides by itself where standard error is no terminal.
async fn show(bar: ProgressBar, runs: Arc<Runs>) {
    let mut ticks = tokio::time::interval(if bar.is_hidden() { LINE } else { REDRAW });
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let text = format!("{} handler runs", runs.handled());
        if bar.is_hidden() {
            eprintln!("{}/{} movies, {text}", bar.position(), bar.length().unwrap_or_default());
        } else {
            bar.set_message(text);
        }
    }
}
