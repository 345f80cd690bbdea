//! The ledger's table and the transitions of a claim, without anything around them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::{Claim, ClaimRequest, ClaimState, ClaimToken, EventId, LedgerError, Release, Timestamp};

/// Failure of an attempt whose lease ran out.
const WORKER_LOST: &str = "worker lost";

/// Reason of a dead letter that was never tried for want of attempts.
const USED_UP: &str = "attempts used up";

/// The table `processed_events`: one row per (event, handler) that has begun.
#[derive(Debug, Default)]
pub(super) struct Claims {
    rows: BTreeMap<(EventId, Arc<str>), ClaimRow>,
}

/// How far a handler is with an event.
#[derive(Debug, Clone)]
pub(super) struct ClaimRow {
    pub(super) state: ClaimState,
    pub(super) owner: Uuid,
    pub(super) started_at: Timestamp,
    /// End of the lease; of a released row, when it is due again.
    pub(super) lease_until: Timestamp,
    pub(super) processed_at: Option<Timestamp>,
    pub(super) attempts: u32,
    pub(super) last_error: Option<String>,
}

impl ClaimRow {
    pub(super) fn is_finished(&self) -> bool {
        matches!(self.state, ClaimState::Done | ClaimState::Dead)
    }

    fn finish(&mut self, state: ClaimState, now: Timestamp) {
        self.state = state;
        self.processed_at = Some(now);
    }

    /// To the ledger the handler has finished, so that a late delivery runs nothing.
    pub(super) fn discard(&mut self, now: Timestamp) {
        self.finish(ClaimState::Done, now);
        self.last_error = Some(format!("discarded: {}", self.last_error.take().unwrap_or_default()));
    }

    fn give_back(&mut self, due: Timestamp, refund: bool) {
        self.state = ClaimState::Released;
        self.lease_until = due;
        self.attempts -= u32::from(refund);
    }

    fn is_of(&self, token: &ClaimToken) -> bool {
        (self.owner, self.started_at) == (token.owner, token.started_at)
    }
}

impl Claims {
    pub(super) fn get(&self, event_id: EventId, handler: &str) -> Option<&ClaimRow> {
        self.rows.get(&(event_id, Arc::from(handler)))
    }

    pub(super) fn get_mut(&mut self, event_id: EventId, handler: &str) -> Option<&mut ClaimRow> {
        self.rows.get_mut(&(event_id, Arc::from(handler)))
    }

    /// The rows of an event, by handler.
    pub(super) fn of_event(&self, event_id: EventId) -> impl Iterator<Item = (&str, &ClaimRow)> {
        let all = self.rows.iter().filter(move |((id, _), _)| *id == event_id);
        all.map(|((_, handler), row)| (&**handler, row))
    }

    /// Deletes the rows that `goes` names, and counts them.
    pub(super) fn delete(&mut self, goes: impl Fn(EventId, &str, &ClaimRow) -> bool) -> u64 {
        let before = self.rows.len();
        self.rows.retain(|(event_id, handler), row| !goes(*event_id, handler, row));
        (before - self.rows.len()) as u64
    }

    /// Grants the claim, or says why not. The table in DESIGN, "life of an event", line by line.
    pub(super) fn claim(&mut self, request: &ClaimRequest, now: Timestamp) -> Claim {
        let Some(row) = self.get_mut(request.event_id, &request.handler) else {
            return self.grant(request, 0, now, now);
        };
        let is_over = row.lease_until <= now;
        match row.state {
            ClaimState::Done => Claim::Done,
            ClaimState::Dead => Claim::Dead,
            ClaimState::InProgress | ClaimState::Released if !is_over => {
                Claim::Held { until: row.lease_until }
            }
            ClaimState::InProgress | ClaimState::Released => {
                if row.state == ClaimState::InProgress {
                    row.last_error = Some(WORKER_LOST.to_owned());
                }
                if row.attempts >= request.max_attempts {
                    row.finish(ClaimState::Dead, now);
                    row.last_error.get_or_insert_with(|| USED_UP.to_owned());
                    return Claim::Dead;
                }
                let (attempts, next_token) = (row.attempts, row.started_at.after(Duration::from_millis(1)));
                self.grant(request, attempts, now.max(next_token), now)
            }
        }
    }

    /// Whether [`claim`](Self::claim) would grant it.
    pub(super) fn would_grant(&self, request: &ClaimRequest, now: Timestamp) -> bool {
        self.get(request.event_id, &request.handler).is_none_or(|row| {
            !row.is_finished() && row.lease_until <= now && row.attempts < request.max_attempts
        })
    }

    fn grant(&mut self, request: &ClaimRequest, spent: u32, started_at: Timestamp, now: Timestamp) -> Claim {
        let key = (request.event_id, Arc::clone(&request.handler));
        let last_error = self.rows.remove(&key).and_then(|previous| previous.last_error);
        let row = ClaimRow {
            state: ClaimState::InProgress,
            owner: request.owner,
            started_at,
            lease_until: now.after(request.lease),
            processed_at: None,
            attempts: spent.saturating_add(1),
            last_error,
        };
        let token = ClaimToken {
            event_id: request.event_id,
            handler: Arc::clone(&request.handler),
            owner: row.owner,
            started_at,
            attempt: row.attempts,
            lease_until: row.lease_until,
        };
        self.rows.insert(key, row);
        Claim::Granted(token)
    }

    pub(super) fn renew(
        &mut self,
        token: &ClaimToken,
        lease: Duration,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        self.change(token, ClaimState::InProgress, |row| row.lease_until = now.after(lease))
    }

    pub(super) fn done(&mut self, token: &ClaimToken, now: Timestamp) -> Result<(), LedgerError> {
        self.change(token, ClaimState::Done, |row| row.finish(ClaimState::Done, now))
    }

    pub(super) fn release(&mut self, token: &ClaimToken, release: &Release) -> Result<(), LedgerError> {
        self.change(token, ClaimState::Released, |row| {
            row.give_back(release.due, release.refund);
            if let Some(error) = &release.error {
                row.last_error = Some(error.clone());
            }
        })
    }

    pub(super) fn bury(
        &mut self,
        token: &ClaimToken,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        self.change(token, ClaimState::Dead, |row| {
            row.finish(ClaimState::Dead, now);
            row.last_error = Some(reason.to_owned());
        })
    }

    /// Gives back what a worker runs of an event that it has given up as a whole, as if it had not begun.
    pub(super) fn give_back(&mut self, event_id: EventId, owner: Uuid, now: Timestamp) {
        let all = self.rows.iter_mut().filter(|((id, _), row)| *id == event_id && row.owner == owner);
        for (_, row) in all.filter(|(_, row)| row.state == ClaimState::InProgress) {
            row.give_back(now, true);
        }
    }

    /// Discards what is unfinished of an event.
    pub(super) fn discard_rest(&mut self, event_id: EventId, now: Timestamp) {
        let rest = self.rows.iter_mut().filter(|((id, _), row)| *id == event_id && !row.is_finished());
        rest.for_each(|(_, row)| row.discard(now));
    }

    /// Every change of a claim is guarded by its token. What the same token has brought there already, or has finished,
    /// stays as it is, so that a call whose answer was lost can be repeated.
    fn change(
        &mut self,
        token: &ClaimToken,
        wanted: ClaimState,
        change: impl FnOnce(&mut ClaimRow),
    ) -> Result<(), LedgerError> {
        let row = self.get_mut(token.event_id, &token.handler).filter(|row| row.is_of(token));
        let row = row.ok_or(LedgerError::LeaseLost)?;
        if row.state == ClaimState::InProgress {
            change(row);
            Ok(())
        } else if row.state == wanted || row.state == ClaimState::Done {
            Ok(())
        } else {
            Err(LedgerError::LeaseLost)
        }
    }
}
