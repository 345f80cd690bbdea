//! All that the store knows about one event.

use super::claims::ClaimRow;
use super::row::Row;
use super::store::Tables;
use crate::{
    ClaimState, EventId, EventState, Explanation, HandlerProgress, Headers, TimelineEntry, Timestamp,
};

impl Tables {
    pub(super) fn explain(&self, event_id: EventId) -> Option<Explanation> {
        let Some(number) = self.row_of(event_id) else { return self.explain_by_ledger(event_id) };
        let row = &self.queue[&number];
        let mut handlers: Vec<_> = self.progress(event_id);
        for (name, _) in self.listed_for(&row.envelope.event_type) {
            if !row.is_finished() && handlers.iter().all(|begun| *begun.handler != *name) {
                handlers.push(not_begun(&name));
            }
        }
        handlers.sort_by(|a, b| a.handler.cmp(&b.handler));
        Some(Explanation {
            event_id,
            event_type: row.envelope.event_type.clone(),
            version: row.envelope.version,
            key: row.envelope.key.clone(),
            state: Some(row.state),
            payload: row.envelope.payload.clone(),
            headers: row.envelope.headers.clone(),
            waits_for: self.waits_for(number, row),
            available_at: row.lease_until(self.lease).unwrap_or_else(|| self.available_at(row)),
            timeline: timeline(Some(row), &handlers),
            handlers,
        })
    }

    /// The queue has forgotten the event; the ledger knows neither its type nor its payload.
    fn explain_by_ledger(&self, event_id: EventId) -> Option<Explanation> {
        let handlers = self.progress(event_id);
        let last = handlers.iter().filter_map(|handler| handler.processed_at.or(handler.started_at)).max()?;
        Some(Explanation {
            event_id,
            event_type: String::new(),
            version: 0,
            key: None,
            state: None,
            payload: String::new(),
            headers: Headers::new(),
            waits_for: None,
            available_at: last,
            timeline: timeline(None, &handlers),
            handlers,
        })
    }

    fn progress(&self, event_id: EventId) -> Vec<HandlerProgress> {
        self.claims.of_event(event_id).map(|(name, claim)| progress_of(name, claim)).collect()
    }
}

fn progress_of(handler: &str, claim: &ClaimRow) -> HandlerProgress {
    HandlerProgress {
        handler: handler.to_owned(),
        state: Some(claim.state),
        attempts: claim.attempts,
        owner: Some(claim.owner.to_string()),
        started_at: Some(claim.started_at),
        lease_until: Some(claim.lease_until),
        processed_at: claim.processed_at,
        last_error: claim.last_error.clone(),
    }
}

fn not_begun(handler: &str) -> HandlerProgress {
    HandlerProgress {
        handler: handler.to_owned(),
        state: None,
        attempts: 0,
        owner: None,
        started_at: None,
        lease_until: None,
        processed_at: None,
        last_error: None,
    }
}

fn timeline(row: Option<&Row>, handlers: &[HandlerProgress]) -> Vec<TimelineEntry> {
    let mut entries = Vec::new();
    let mut push = |at: Timestamp, handler: Option<&str>, what: String| {
        entries.push(TimelineEntry { at, handler: handler.map(str::to_owned), what });
    };
    if let Some(row) = row {
        push(row.envelope.occurred_at, None, "enqueued".to_owned());
    }
    for progress in handlers {
        let name = Some(&*progress.handler);
        if let Some(at) = progress.started_at {
            push(at, name, format!("attempt {} started", progress.attempts));
        }
        let error = progress.last_error.as_deref().unwrap_or("no error");
        match (progress.state, progress.processed_at, progress.lease_until) {
            (Some(ClaimState::Done), Some(at), _) => push(at, name, "done".to_owned()),
            (Some(ClaimState::Dead), Some(at), _) => push(at, name, format!("gave up: {error}")),
            (Some(ClaimState::Released), _, Some(at)) => push(at, name, format!("due again after: {error}")),
            (Some(ClaimState::InProgress), _, Some(at)) => push(at, name, "lease ends".to_owned()),
            _ => {}
        }
    }
    if let Some((row, at)) = row.and_then(|row| Some((row, row.finished_at?))) {
        let reason = row.last_error.as_deref().filter(|_| row.state == EventState::DeadLettered);
        let what = reason.map_or_else(|| row.state.to_string(), |reason| format!("{}: {reason}", row.state));
        push(at, None, what);
    }
    // Stable, so that what happened in one millisecond stays in the order of the steps above.
    entries.sort_by_key(|entry| entry.at);
    entries
}
