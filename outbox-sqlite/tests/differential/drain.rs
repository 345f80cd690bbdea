//! The end of every history: all workers run everything to its end, on each store by itself, and then nothing may be left.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    Bus, ClaimState, Clock, EventState, Explanation, ManualClock, Settlement, matches_pattern,
};

use crate::history::{History, speak};
use crate::pair::{Member, Outcome, check};
use crate::plan::{Ending, HANDLERS, Skill};
use crate::side::Side;

/// Longer than every lease, pause and delay of a plan.
const LONG: Duration = Duration::from_secs(250);

/// Rounds in which nothing may come before all is quiet. Each is longer than any wait.
const QUIET: usize = 3;

/// Most rounds: more than a plan has events, each of which may wait for the one before.
const MOST: usize = 300;

/// Works everything off: with the workers that are there, then with one for every handler there is.
pub(crate) async fn drain(history: &mut History) -> Outcome {
    let skills =
        (0..HANDLERS.len()).map(|handler| Skill { handler, max_version: 3, max_attempts: 3, lease_s: 60 });
    let everything = skills.map(|skill| skill.subscribed(&history.blocking)).collect();
    let clock = history.pair.clock.clone();
    let workers: Vec<_> = history.members.iter().map(|member| member.bus).collect();
    for side in [&mut history.pair.memory, &mut history.pair.sqlite] {
        work_off(side, &workers, &clock).await?;
        check_waits(&side.explain_all().await, &history.members)?;
    }
    let everybody = history.subscribe(everything, true).await.bus;
    for side in [&mut history.pair.memory, &mut history.pair.sqlite] {
        work_off(side, &[everybody], &clock).await?;
        while !side.letters().await.is_empty() {
            // What dead letters held back goes on.
            side.admin.discard(&Default::default()).await.expect("discarded");
            work_off(side, &[everybody], &clock).await?;
        }
        for explanation in side.explain_all().await {
            check_over(&explanation, &side.record.forgotten)?;
        }
        side.record.check_order()?;
    }
    Ok(())
}

async fn work_off(side: &mut Side, workers: &[usize], clock: &ManualClock) -> Outcome {
    let mut quiet = 0;
    for _ in 0..MOST {
        let mut received = 0;
        for worker in workers {
            received += work(side, &Arc::clone(&side.buses[*worker]), clock).await?;
        }
        quiet = if received == 0 { quiet + 1 } else { 0 };
        if quiet > QUIET {
            return Ok(());
        }
        if quiet > 0 {
            clock.advance(LONG);
        }
    }
    check(false, || format!("not worked off in {MOST} rounds"))
}

/// Receives what is due, and finishes it.
async fn work(side: &mut Side, bus: &Arc<dyn Bus>, clock: &ManualClock) -> Outcome<usize> {
    let received = bus.receive(1_000).await.expect("received");
    let taken = side.take_in(received, clock.now())?;
    let count = taken.len();
    for (delivered, delivery) in taken {
        for (claim, token) in delivery.claims.iter().flatten().enumerate() {
            let answer = speak(&side.ledger, token, Ending::Done, clock.now()).await;
            side.record.marked(&delivered, claim, Ending::Done, answer);
        }
        bus.settle(vec![(delivery.receipt, Settlement::Done)]).await.expect("settled");
    }
    side.letters().await;
    Ok(count)
}

/// What is unfinished although the workers have done all they can waits for something that they lack: earlier events of
/// its key, or a worker that has the handler and knows the version.
fn check_waits(explanations: &[Explanation], members: &[Member]) -> Outcome {
    // (key, handler) pairs that an event before holds back, or may.
    let mut held_back = BTreeSet::new();
    for explanation in explanations {
        let is_over = matches!(explanation.state, None | Some(EventState::Done));
        for progress in explanation.handlers.iter().filter(|p| p.state != Some(ClaimState::Done) && !is_over)
        {
            let pair = explanation.key.clone().map(|key| (key, progress.handler.clone()));
            let is_waiting = explanation.state != Some(EventState::DeadLettered)
                && progress.state != Some(ClaimState::Dead)
                && !pair.as_ref().is_some_and(|pair| held_back.contains(pair));
            let is_stuck = is_waiting && may_run(explanation, &progress.handler, members);
            check(!is_stuck, || format!("{} is stuck: {explanation}", progress.handler))?;
            held_back.extend(pair);
        }
        if let (Some(key), Some(EventState::DeadLettered)) = (&explanation.key, explanation.state) {
            held_back.extend(HANDLERS.map(|(handler, _)| (key.clone(), handler.to_owned())));
        }
    }
    Ok(())
}

fn may_run(explanation: &Explanation, handler: &str, members: &[Member]) -> bool {
    let mut skills = members.iter().flat_map(|member| &member.subscription.handlers);
    skills.any(|skill| {
        *skill.name == *handler
            && matches_pattern(&skill.event_type, &explanation.event_type)
            && explanation.version <= skill.max_version
    })
}

/// Nothing is left: neither the event nor a claim, unless its worker was lost and its handler retired.
fn check_over(explanation: &Explanation, forgotten: &BTreeSet<String>) -> Outcome {
    let is_over = matches!(explanation.state, None | Some(EventState::Done));
    check(is_over, || format!("never finished: {explanation}"))?;
    let open = |state| matches!(state, Some(ClaimState::InProgress | ClaimState::Released));
    let waited_for = explanation.handlers.iter().filter(|progress| !forgotten.contains(&progress.handler));
    let left = waited_for.into_iter().any(|progress| open(progress.state));
    check(!left, || format!("a claim is left of {explanation}"))
}

impl Side {
    /// Every event, in the order in which they were written.
    async fn explain_all(&self) -> Vec<Explanation> {
        let mut explanations = Vec::new();
        for id in self.record.written.iter().filter_map(|number| self.id(*number)) {
            explanations.extend(self.admin.explain(id).await.expect("explained"));
        }
        explanations
    }
}
