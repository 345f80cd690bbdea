//! `status`: how the events stand, by the library's own account.

use std::collections::BTreeMap;

use anyhow::Result;
use outbox::prelude::*;
use outbox::{DeadLetterFilter, EventState};

use crate::app::App;

/// Columns of the table.
const STATES: [EventState; 4] =
    [EventState::Pending, EventState::Processing, EventState::Done, EventState::DeadLettered];

/// Most dead letters that are shown.
const SHOWN: usize = 10;

/// Prints a table of types and states, what waits for what, and the first dead letters.
pub(crate) async fn run(app: &App) -> Result<()> {
    let admin = app.store.admin();
    let status = admin.status().await?;
    let mut types: BTreeMap<&str, [u64; STATES.len()]> = BTreeMap::new();
    for count in &status.counts {
        if let Some(column) = STATES.iter().position(|state| *state == count.state) {
            types.entry(&count.event_type).or_default()[column] += count.events;
        }
    }
    println!("{}", row("event", STATES.map(|state| state.to_string())));
    for (event_type, counts) in types {
        println!("{}", row(event_type, counts.map(|count| count.to_string())));
    }
    if let Some(oldest) = status.oldest {
        println!("the oldest unfinished event is of {oldest}");
    }
    for waiting in &status.waiting {
        println!("{} events wait for {}", waiting.events, waiting.reason);
    }
    println!("{} dead letters", status.dead_letters);
    for letter in admin.dead_letters(&DeadLetterFilter::default(), SHOWN).await? {
        let handler = letter.handler.as_deref().unwrap_or("-");
        println!("  {} {handler} {}: {}", letter.event_type, letter.event_id, letter.reason);
    }
    Ok(())
}

fn row(first: &str, cells: [String; STATES.len()]) -> String {
    let [pending, processing, done, dead] = cells;
    format!("{first:20} {pending:>10} {processing:>12} {done:>10} {dead:>15}")
}
