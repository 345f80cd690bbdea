//! Executing a group and answering its commands.

use std::collections::HashSet;
use std::time::Duration;

use outbox_core::{ClaimToken, Enqueued, LedgerError, SharedClock, StoreError, StoreErrorKind};
use sqlx::{AssertSqlSafe, Executor};

use super::command::LedgerReply;
use super::group::Group;
use super::results::{self, Results};
use super::{Job, arguments, statements};
use crate::error::store_error;
use crate::gate::Pass;
use crate::wake::WakeHub;

/// What groups are executed with.
pub(super) struct Context {
    pub(super) clock: SharedClock,
    pub(super) wake: WakeHub,
    /// Whether a row was ever settled before the mark of one of its handlers. That mark comes through this writer, too,
    /// since its claim belongs to this process.
    pub(super) marks_may_come_late: bool,
}

/// How long a write may take before its claims are given what it took: well below the shortest lease.
const NOTICEABLE: Duration = Duration::from_millis(20);

impl Group {
    /// Executes the group and answers every command. If it fails, its commands are tried one by one, so that one that
    /// is at fault fails alone.
    pub(super) async fn execute(mut self, pass: &mut Pass, context: &mut Context) {
        if let Some((job, reply)) = self.job.take() {
            let result = run_job(job, pass).await;
            context.wake.notify();
            let _ = reply.send(result);
            return;
        }
        match self.write_soundly(pass, context).await {
            Ok(results) => self.answer(results, pass, &context.wake).await,
            // Nobody is at fault for a lock that others hold, and nothing gets better by more transactions.
            Err(failure) if self.size == 1 || failure.kind() != StoreErrorKind::Other => self.fail(&failure),
            Err(_) => {
                for command in self.into_commands() {
                    let single = Self::of(command);
                    match single.write(pass, context).await {
                        Ok(results) => single.answer(results, pass, &context.wake).await,
                        Err(failure) => single.fail(&failure),
                    }
                }
            }
        }
    }

    /// Writes, if need be once more on a new connection: a handler may have left the old one unfit for writing.
    async fn write_soundly(&self, pass: &mut Pass, context: &mut Context) -> Result<Results, StoreError> {
        let may_be_spoilt = pass.may_be_spoilt();
        match self.write(pass, context).await {
            Err(failure) if may_be_spoilt && failure.kind() != StoreErrorKind::Busy => {
                self.write(pass, context).await
            }
            written => written,
        }
    }

    /// One call: BEGIN IMMEDIATE, the statements, COMMIT.
    async fn write(&self, pass: &mut Pass, context: &mut Context) -> Result<Results, StoreError> {
        pass.open_connection().await?;
        let now = context.clock.now();
        let relaxed = self.only_claims().then(|| pass.open().durability.relaxed()).flatten();
        let text = statements::text(self, context.marks_may_come_late, relaxed);
        let mut query = sqlx::query(AssertSqlSafe(text));
        for argument in arguments::arguments(self, now) {
            query = query.bind(argument);
        }
        let query = query.bind(now.as_millis());
        pass.opens();
        // `fetch_all`, since anything less stops after the first row and leaves the transaction open.
        let written = query.fetch_all(pass.connection()).await;
        let mut written = written.map_err(|e| store_error("write", e)).and_then(|rows| Results::read(&rows));
        if relaxed.is_some() && written.as_ref().is_ok_and(|results| results.gave_ids) {
            let durable = pass.connection().execute(include_str!("../sql/receive_ids_durable.sql")).await;
            written = durable.map_err(|e| store_error("write ids", e)).and(written);
        }
        let late = context.clock.now().since(now);
        if self.grants() && late >= NOTICEABLE && written.is_ok() {
            let query = sqlx::query(include_str!("../sql/claim_late.sql")).bind(late.as_millis() as i64);
            let moved = query.fetch_all(pass.connection()).await;
            let moved = moved.map_err(|e| store_error("renew claims that came late", e));
            written = moved.and(written.map(|results| Results { late, ..results }));
        }
        match written {
            Ok(results) => {
                pass.closes();
                context.marks_may_come_late |= results.settled_early;
                Ok(results)
            }
            Err(failure) => {
                // A connection that may still be relaxed is closed.
                pass.abandon(if relaxed.is_some() { StoreErrorKind::Other } else { failure.kind() }).await;
                Err(failure)
            }
        }
    }

    async fn answer(mut self, results: Results, pass: &mut Pass, wake: &WakeHub) {
        // A worker that is woken after each event that it has finished would look in vain each time.
        if results.wakes || !self.enqueues.is_empty() {
            wake.notify();
        }
        let changes = std::mem::take(&mut self.changes);
        let changes =
            changes.into_iter().map(|(token, change, reply)| (token, change.status(), reply)).collect();
        answer_tokens(changes, results.changed, pass).await;
        let renewals = std::mem::take(&mut self.renewals);
        let renewals = renewals.into_iter().map(|(token, _, reply)| (token, "in_progress", reply)).collect();
        answer_tokens(renewals, results.renewed, pass).await;
        for (_, _, reply) in self.settlements {
            let _ = reply.send(Ok(()));
        }
        let extended = self.extensions.into_iter().map(|(_, reply)| reply);
        for reply in extended.chain(self.progressed.into_iter().map(|(_, reply)| reply)) {
            let _ = reply.send(Ok(()));
        }
        let mut fresh: HashSet<String> = results.enqueued.into_iter().collect();
        for (events, reply) in self.enqueues {
            let ids = events.iter().map(|event| event.envelope.id);
            let _ = reply
                .send(Ok(ids.map(|id| Enqueued { id, duplicate: !fresh.remove(&id.to_string()) }).collect()));
        }
        if let Some((request, reply)) = self.receive {
            let _ = reply.send(results::batch(&results.received.unwrap_or_default(), &request, results.late));
        }
        if !self.claims.is_empty() {
            results::answer_claims(results.claims.as_deref().unwrap_or_default(), self.claims, results.late);
        }
    }
}

/// Answers changes of claims. If all of them took effect there is nothing to ask; else each is judged by where its
/// claim stands now, which also recognises a call that was repeated after its answer was lost.
async fn answer_tokens(
    changes: Vec<(ClaimToken, &'static str, LedgerReply)>,
    effective: i64,
    pass: &mut Pass,
) {
    let outcomes = if i64::try_from(changes.len()) == Ok(effective) {
        changes.iter().map(|_| Ok(())).collect()
    } else {
        judge(&changes, pass).await
    };
    for ((_, _, reply), outcome) in changes.into_iter().zip(outcomes) {
        let _ = reply.send(outcome);
    }
}

async fn judge(
    changes: &[(ClaimToken, &'static str, LedgerReply)],
    pass: &mut Pass,
) -> Vec<Result<(), LedgerError>> {
    let tokens = arguments::tokens(changes.iter().map(|(token, ..)| token));
    let query = sqlx::query_scalar::<_, String>(include_str!("../sql/held.sql"));
    let text = query.bind(tokens).fetch_one(pass.connection()).await;
    let held = text.map_err(|e| store_error("look at claims", e)).and_then(|text| results::held(&text));
    let held = match held {
        Ok(held) if held.len() == changes.len() => held,
        Ok(_) => return changes.iter().map(|_| Err(LedgerError::LeaseLost)).collect(),
        Err(failure) => return changes.iter().map(|_| Err(failure.clone().into())).collect(),
    };
    let outcome = |(status, ours): (Option<String>, bool), wanted: &str| {
        let stands = ours && status.is_some_and(|status| status == wanted || status == "done");
        if stands { Ok(()) } else { Err(LedgerError::LeaseLost) }
    };
    changes.iter().zip(held).map(|((_, wanted, _), held)| outcome(held, wanted)).collect()
}

/// A job has the connection for itself, within a transaction.
async fn run_job(job: Job, pass: &mut Pass) -> Result<(), StoreError> {
    let worked = async {
        pass.open_connection().await?;
        pass.begin().await?;
        job(pass.connection()).await?;
        pass.commit().await
    };
    let result = worked.await;
    if let Err(failure) = &result {
        pass.abandon(failure.kind()).await;
    }
    result
}
