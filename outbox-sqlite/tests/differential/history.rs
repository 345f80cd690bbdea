//! Carrying out a plan, step by step, on both stores.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use outbox_core::{
    Bus, Claim, ClaimRequest, ClaimToken, DeadLetterFilter, EventId, Ledger, LedgerError, NewEvent, Receipt,
    Release, Retention, Settlement, Subscription, Timestamp, Upkeep, UpkeepReport,
};
use proptest::test_runner::TestCaseError;
use uuid::Uuid;

use crate::pair::{Hand, Member, Outcome, Pair, check, id_of, same};
use crate::plan::{Dead, Ending, HANDLERS, Plan, Settled, Sketch, Staff, Step, TYPES, Verdict};
use crate::side::{Number, Side, payload};

/// A history on its way.
pub(crate) struct History {
    pub(crate) pair: Pair,
    pub(crate) members: Vec<Member>,
    /// Whether each store goes its own way.
    pub(crate) apart: bool,
    /// Handler runs of the last receipt.
    received: usize,
    hands: Vec<Hand>,
    pub(crate) blocking: [bool; HANDLERS.len()],
    /// Of every bus there ever was.
    subscriptions: Vec<Subscription>,
}

/// Carries out the whole plan.
pub(crate) async fn run(plan: &Plan) -> Outcome<History> {
    let mut history = History {
        pair: Pair::open().await,
        members: Vec::new(),
        apart: false,
        received: 0,
        hands: Vec::new(),
        blocking: plan.blocking,
        subscriptions: Vec::new(),
    };
    for staff in &plan.staffs {
        let member = history.hire(staff).await;
        history.members.push(member);
    }
    for (place, step) in plan.steps.iter().enumerate() {
        let taken = history.take_and_compare(step).await;
        taken.map_err(|error| TestCaseError::fail(format!("step {place}, {step:?}: {error}")))?;
        if history.apart {
            break;
        }
    }
    Ok(history)
}

impl History {
    async fn hire(&mut self, staff: &Staff) -> Member {
        let handlers = staff.0.iter().map(|skill| skill.subscribed(&self.blocking)).collect();
        self.subscribe(handlers, true).await
    }

    pub(crate) async fn subscribe(
        &mut self,
        handlers: Vec<outbox_core::SubscribedHandler>,
        grant_claims: bool,
    ) -> Member {
        let owner = Uuid::from_u128(1 + self.subscriptions.len() as u128);
        let subscription = Subscription { owner, handlers, grant_claims };
        self.subscriptions.push(subscription.clone());
        self.pair.subscribe(subscription).await
    }

    async fn take_and_compare(&mut self, step: &Step) -> Outcome {
        self.take(step).await?;
        if self.apart {
            return Ok(());
        }
        let compared = self.pair.compare().await;
        // Of more than there is room for, SQLite may not have looked at all, and so not have noted what is lost.
        let is_cut = matches!(step, Step::Receive { max, .. } if self.received == *max);
        self.apart = is_cut && compared.is_err();
        if is_cut { Ok(()) } else { compared }
    }

    async fn take(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Enqueue(sketches) => self.enqueue(sketches).await,
            Step::Foreign { event_type } => self.insert_foreign(TYPES[*event_type]).await,
            Step::Receive { worker, max } => self.receive(*worker, *max).await.map(drop),
            Step::Finish { delivery, endings, settled } => self.finish(*delivery, endings, *settled).await,
            Step::Mark { delivery, claim, ending } => match self.hand(*delivery) {
                Some(hand) => self.mark(&hand, *claim, *ending).await,
                None => Ok(()),
            },
            Step::Settle { deliveries, verdict } => self.settle(deliveries, *verdict).await,
            Step::Extend { delivery } => self.extend(*delivery).await,
            Step::Renew { delivery, claim } => self.renew(*delivery, *claim).await,
            Step::Pass { ms } => {
                self.pair.clock.advance(Duration::from_millis(*ms));
                Ok(())
            }
            Step::AwaitDue { worker } => self.await_due(*worker).await,
            Step::Deploy { worker, staff } => {
                let member = self.hire(staff).await;
                let place = worker % (self.members.len() + 1);
                match self.members.get_mut(place) {
                    Some(old) => *old = member,
                    None => self.members.push(member),
                }
                Ok(())
            }
            Step::ClaimElsewhere { worker, event } => self.claim_elsewhere(*worker, *event).await,
            Step::Redrive(dead) => self.change_dead(*dead, true).await,
            Step::Discard(dead) => self.change_dead(*dead, false).await,
            Step::Forget { handler } => self.forget(HANDLERS[*handler].0).await,
            Step::Prune { kept_s } => self.prune(*kept_s).await,
            Step::Maintain { worker, unhandled, kept_s } => {
                let upkeep = Upkeep { unhandled: *unhandled, retention: kept(*kept_s) };
                self.maintain(*worker, upkeep).await
            }
        }
    }

    fn member(&self, worker: usize) -> Option<Member> {
        let count = self.members.len();
        (count > 0).then(|| self.members[worker % count].clone())
    }

    /// Counted from the newest.
    fn hand(&self, delivery: usize) -> Option<Hand> {
        let count = self.hands.len();
        (count > 0).then(|| self.hands[count - 1 - delivery % count].clone())
    }

    async fn enqueue(&mut self, sketches: &[Sketch]) -> Outcome {
        let mut events = Vec::new();
        for sketch in sketches {
            let known = self.pair.events;
            // A foreign event whose id nobody has been told cannot be repeated.
            let repeated = sketch.repeats.filter(|_| known > 0).map(|back| known - 1 - back % known);
            let repeated = repeated.filter(|number| self.pair.knows(*number));
            let number = repeated.unwrap_or(known);
            self.pair.events += usize::from(repeated.is_none());
            let (memory, sqlite) = (self.pair.memory.id(number), self.pair.sqlite.id(number));
            let event = |id: Option<EventId>| {
                let event = NewEvent::raw(TYPES[sketch.event_type], payload(number)).version(sketch.version);
                let event = event.id(id.unwrap_or_else(|| id_of(number)));
                let event = event.after(Duration::from_secs(sketch.delay_s));
                match sketch.key {
                    Some(key) => event.key(key),
                    None => event,
                }
            };
            events.push((number, event(memory), event(sqlite)));
        }
        let (mut memory, mut sqlite) = (Vec::new(), Vec::new());
        for (_, one, other) in &events {
            memory.push(one.clone());
            sqlite.push(other.clone());
        }
        let told = async |side: &Side, events| {
            let written = side.backend.enqueue_all(events).await.expect("enqueued");
            let told = written.iter().map(|written| (written.id, written.duplicate));
            told.collect::<Vec<_>>()
        };
        let (memory, sqlite) = (told(&self.pair.memory, memory).await, told(&self.pair.sqlite, sqlite).await);
        let duplicates = |told: &[(EventId, bool)]| told.iter().map(|(_, duplicate)| *duplicate).collect();
        let (left, right): (Vec<_>, Vec<_>) = (duplicates(&memory), duplicates(&sqlite));
        same("duplicates", &left, &right)?;
        for (((number, ..), (one, duplicate)), (other, _)) in events.iter().zip(memory).zip(sqlite) {
            self.pair.memory.meet(*number, one);
            self.pair.sqlite.meet(*number, other);
            if !duplicate {
                self.pair.memory.record.wrote(*number);
                self.pair.sqlite.record.wrote(*number);
            }
        }
        Ok(())
    }

    async fn insert_foreign(&mut self, event_type: &str) -> Outcome {
        let number = self.pair.events;
        self.pair.events += 1;
        for side in [&mut self.pair.memory, &mut self.pair.sqlite] {
            side.backend.insert_foreign(event_type, &payload(number)).await;
            side.record.wrote(number);
        }
        Ok(())
    }

    async fn receive(&mut self, worker: usize, max: usize) -> Outcome<usize> {
        let Some(member) = self.member(worker) else { return Ok(0) };
        let Some(hands) = self.pair.receive(&member, max).await? else {
            self.apart = true;
            return Ok(0);
        };
        let count = hands.len();
        self.received = hands.iter().map(|hand| hand.delivered.runs()).sum();
        self.hands.extend(hands);
        Ok(count)
    }

    /// The worker's usual way through a delivery.
    async fn finish(&mut self, delivery: usize, endings: &[Ending], settled: Settled) -> Outcome {
        let open: Vec<_> = (0..self.hands.len()).filter(|place| !self.hands[*place].settled).collect();
        if open.is_empty() {
            return Ok(());
        }
        let place = open[open.len() - 1 - delivery % open.len()];
        self.hands[place].settled = settled != Settled::Never;
        let hand = self.hands[place].clone();
        let endings: Vec<_> = (0..hand.handlers()).map(|claim| endings[claim % endings.len()]).collect();
        self.end(&hand, &endings, settled).await
    }

    async fn end(&mut self, hand: &Hand, endings: &[Ending], settled: Settled) -> Outcome {
        if settled == Settled::Before {
            self.settle_as(std::slice::from_ref(hand), Verdict::Done).await?;
        }
        if settled == Settled::Along && self.agree_who_runs(hand).await {
            return self.end_along(hand, endings).await;
        }
        for (claim, ending) in endings.iter().enumerate() {
            self.mark(hand, claim, *ending).await?;
        }
        if matches!(settled, Settled::After | Settled::Along) {
            self.settle_as(std::slice::from_ref(hand), Verdict::Done).await?;
        }
        Ok(())
    }

    /// Marks and settlement at the same time.
    async fn end_along(&mut self, hand: &Hand, endings: &[Ending]) -> Outcome {
        let now = self.pair.now();
        let both = async |side: &Side, delivery: &crate::side::Delivery| {
            let claims = delivery.claims.clone().unwrap_or_default();
            let marks =
                claims.iter().zip(endings).map(|(token, ending)| speak(&side.ledger, token, *ending, now));
            let receipt = delivery.receipt.clone();
            let settle = side.buses[hand.bus].settle(vec![(receipt, Settlement::Done)]);
            let (marks, settled) = futures_util::join!(join_all(marks), settle);
            settled.expect("settled");
            marks
        };
        let memory = both(&self.pair.memory, &hand.memory).await;
        let sqlite = both(&self.pair.sqlite, &hand.sqlite).await;
        same("answers to the marks", &memory, &sqlite)?;
        for (claim, (ending, answer)) in endings.iter().zip(memory).enumerate() {
            self.marked(hand, claim, *ending, answer);
        }
        self.progressed(hand).await;
        Ok(())
    }

    async fn mark(&mut self, hand: &Hand, claim: usize, ending: Ending) -> Outcome {
        let count = hand.handlers();
        if count == 0 || !self.agree_who_runs(hand).await {
            return Ok(());
        }
        let claim = claim % count;
        let Some((one, other)) = hand.tokens(claim) else { return Ok(()) };
        let now = self.pair.now();
        let memory = speak(&self.pair.memory.ledger, one, ending, now).await;
        let sqlite = speak(&self.pair.sqlite.ledger, other, ending, now).await;
        same(format!("{ending:?} for {}", one.handler), &memory, &sqlite)?;
        self.marked(hand, claim, ending, memory);
        self.progressed(hand).await;
        Ok(())
    }

    /// The bus is told of every end of a run, also where the event was taken over meanwhile.
    async fn progressed(&self, hand: &Hand) {
        for (side, delivery) in [(&self.pair.memory, &hand.memory), (&self.pair.sqlite, &hand.sqlite)] {
            side.buses[hand.bus].progressed(&delivery.receipt).await.expect("told");
        }
    }

    /// A worker that puts a row back also gives back the expired claims of handlers it does not have. SQLite looks only
    /// at rows that may have something for that worker, memory at all, so for a while only one of them may have done
    /// so; then nobody speaks for such a claim.
    async fn agree_who_runs(&self, hand: &Hand) -> bool {
        let mut states = Vec::new();
        for side in [&self.pair.memory, &self.pair.sqlite] {
            let Some(id) = side.id(hand.event()) else { return true };
            let explanation = side.admin.explain(id).await.expect("explained");
            let handlers = explanation.map(|explanation| explanation.handlers).unwrap_or_default();
            states.push(handlers.into_iter().filter_map(|h| Some((h.handler, h.state?))).collect::<Vec<_>>());
        }
        states[0] == states[1]
    }

    async fn settle(&mut self, deliveries: &[usize], verdict: Verdict) -> Outcome {
        let hands: Vec<_> = deliveries.iter().filter_map(|delivery| self.hand(*delivery)).collect();
        let Some(first) = hands.first() else { return Ok(()) };
        // One call is one worker's.
        let bus = first.bus;
        let hands: Vec<_> = hands.into_iter().filter(|hand| hand.bus == bus).collect();
        self.settle_as(&hands, verdict).await
    }

    async fn settle_as(&mut self, hands: &[Hand], verdict: Verdict) -> Outcome {
        let Some(bus) = hands.first().map(|hand| hand.bus) else { return Ok(()) };
        let settlement = settlement(verdict, self.pair.now());
        let of = |receipts: Vec<Receipt>| {
            receipts.into_iter().map(|receipt| (receipt, settlement.clone())).collect::<Vec<_>>()
        };
        let memory = of(hands.iter().map(|hand| hand.memory.receipt.clone()).collect());
        let sqlite = of(hands.iter().map(|hand| hand.sqlite.receipt.clone()).collect());
        self.pair.memory.buses[bus].settle(memory).await.expect("settled");
        self.pair.sqlite.buses[bus].settle(sqlite).await.expect("settled");
        if verdict == Verdict::Dead {
            for hand in hands {
                let owner = self.subscriptions[bus].owner;
                self.pair.memory.record.given_up(hand.event(), owner);
                self.pair.sqlite.record.given_up(hand.event(), owner);
            }
        }
        Ok(())
    }

    fn marked(&mut self, hand: &Hand, claim: usize, ending: Ending, answer: Answer) {
        for side in [&mut self.pair.memory, &mut self.pair.sqlite] {
            side.record.marked(&hand.delivered, claim, ending, answer);
        }
    }

    async fn extend(&mut self, delivery: usize) -> Outcome {
        let Some(hand) = self.hand(delivery) else { return Ok(()) };
        for (side, delivery) in [(&self.pair.memory, &hand.memory), (&self.pair.sqlite, &hand.sqlite)] {
            side.buses[hand.bus].extend(std::slice::from_ref(&delivery.receipt)).await.expect("extended");
        }
        Ok(())
    }

    async fn renew(&mut self, delivery: usize, claim: usize) -> Outcome {
        const LEASE: Duration = Duration::from_secs(60);
        let Some(hand) = self.hand(delivery) else { return Ok(()) };
        if hand.handlers() == 0 || !self.agree_who_runs(&hand).await {
            return Ok(());
        }
        let claim = claim % hand.handlers();
        let Some((one, other)) = hand.tokens(claim) else { return Ok(()) };
        let memory = answer(self.pair.memory.ledger.renew(one, LEASE).await);
        let sqlite = answer(self.pair.sqlite.ledger.renew(other, LEASE).await);
        same("renew", &memory, &sqlite)?;
        if memory == Answer::Taken {
            let until = self.pair.now().after(LEASE);
            self.pair.memory.record.renewed(&hand.delivered, claim, until);
            self.pair.sqlite.record.renewed(&hand.delivered, claim, until);
        }
        Ok(())
    }

    /// Before the moment that a bus foretells it must have nothing to deliver, unless it has something now.
    async fn await_due(&mut self, worker: usize) -> Outcome {
        let Some(member) = self.member(worker) else { return Ok(()) };
        if self.receive(worker, 1_000).await? > 0 {
            return Ok(());
        }
        let (memory, sqlite) =
            self.pair.on_bus(member.bus, |bus| async move { bus.next_due().await.expect("foretold") }).await;
        let now = self.pair.now();
        for due in [memory, sqlite].into_iter().flatten() {
            check(due > now, || format!("{due} is foretold, at {now}, as what is to come"))?;
        }
        // Only what is to come is waited for, so it is memory, which knows all, that must agree.
        let until = sqlite.or(memory).unwrap_or(now.after(Duration::from_secs(300)));
        self.pair.clock.advance(until.since(now) - Duration::from_millis(1));
        let early = self.receive(worker, 1_000).await?;
        check(early == 0, || format!("{early} events before {until}, at {:?}", self.pair.now()))?;
        self.pair.clock.advance(Duration::from_millis(1));
        self.receive(worker, 1_000).await.map(drop)
    }

    async fn claim_elsewhere(&mut self, worker: usize, event: usize) -> Outcome {
        let Some(member) = self.member(worker) else { return Ok(()) };
        let event_id = EventId::from(Uuid::from_u128(0xFF00_0000 + event as u128));
        for handler in &member.subscription.handlers {
            let request = ClaimRequest {
                event_id,
                handler: Arc::clone(&handler.name),
                owner: member.subscription.owner,
                lease: handler.lease,
                max_attempts: handler.max_attempts,
            };
            let ask = async |ledger: &Arc<dyn Ledger>| ledger.claim(&request).await.expect("answered");
            let memory = ask(&self.pair.memory.ledger).await;
            let sqlite = ask(&self.pair.sqlite.ledger).await;
            same("claim", &memory, &sqlite)?;
            // Every other one is left to expire.
            if let Claim::Granted(token) = memory
                && token.attempt % 2 == 1
            {
                let now = self.pair.now();
                let one = speak(&self.pair.memory.ledger, &token, Ending::Fail { pause_s: 5 }, now).await;
                let other = speak(&self.pair.sqlite.ledger, &token, Ending::Fail { pause_s: 5 }, now).await;
                same("release", &one, &other)?;
            }
        }
        Ok(())
    }

    async fn change_dead(&mut self, dead: Dead, redrive: bool) -> Outcome {
        let (memory, sqlite) = (self.filter(dead, &self.pair.memory), self.filter(dead, &self.pair.sqlite));
        let (Some(memory), Some(sqlite)) = (memory, sqlite) else { return Ok(()) };
        let change = async |side: &Side, filter: &DeadLetterFilter| {
            let changed =
                if redrive { side.admin.retry(filter).await } else { side.admin.discard(filter).await };
            changed.expect("changed")
        };
        let (memory, sqlite) =
            (change(&self.pair.memory, &memory).await, change(&self.pair.sqlite, &sqlite).await);
        same("changed dead letters", &memory, &sqlite)
    }

    fn filter(&self, dead: Dead, side: &Side) -> Option<DeadLetterFilter> {
        let all = DeadLetterFilter::default();
        Some(match dead {
            Dead::All => all,
            Dead::OfHandler(handler) => {
                DeadLetterFilter { handler: Some(HANDLERS[handler].0.to_owned()), ..all }
            }
            Dead::OfType(event_type) => {
                DeadLetterFilter { event_type: Some(TYPES[event_type].to_owned()), ..all }
            }
            Dead::OfEvent(back) => {
                let number: Number = self.pair.events.checked_sub(1 + back)?;
                DeadLetterFilter { event_id: Some(side.id(number)?), ..all }
            }
            Dead::For { seconds } => DeadLetterFilter { dead_for: Some(Duration::from_secs(seconds)), ..all },
        })
    }

    /// The workers that had the handler are deployed without it before it is retired.
    async fn forget(&mut self, name: &str) -> Outcome {
        for place in 0..self.members.len() {
            let Subscription { mut handlers, grant_claims, .. } = self.members[place].subscription.clone();
            let before = handlers.len();
            handlers.retain(|handler| *handler.name != *name);
            if handlers.len() < before {
                self.members[place] = self.subscribe(handlers, grant_claims).await;
            }
        }
        self.pair.memory.record.forgot(name);
        self.pair.sqlite.record.forgot(name);
        let memory = self.pair.memory.admin.forget_handler(name).await.expect("forgotten");
        let sqlite = self.pair.sqlite.admin.forget_handler(name).await.expect("forgotten");
        same("events that waited for it", &memory, &sqlite)
    }

    async fn prune(&mut self, kept_s: u64) -> Outcome {
        let retention = kept(kept_s);
        let memory = self.pair.memory.admin.prune(&retention).await.expect("pruned");
        let sqlite = self.pair.sqlite.admin.prune(&retention).await.expect("pruned");
        same("pruned", &memory, &sqlite)
    }

    async fn maintain(&mut self, worker: usize, upkeep: Upkeep) -> Outcome {
        let Some(member) = self.member(worker) else { return Ok(()) };
        let upkeep = &upkeep;
        let maintain = |bus: Arc<dyn Bus>| async move { maintain_all(&*bus, upkeep).await };
        let (memory, sqlite) = self.pair.on_bus(member.bus, maintain).await;
        same("pruned events", &memory.pruned_events, &sqlite.pruned_events)?;
        same("pruned claims", &memory.pruned_claims, &sqlite.pruned_claims)?;
        same("unhandled types", &memory.unhandled_types, &sqlite.unhandled_types)?;
        same("unhandled rows", &memory.unhandled_rows, &sqlite.unhandled_rows)?;
        Ok(())
    }
}

/// Steps of upkeep until nothing is left to delete, summed up.
async fn maintain_all(bus: &dyn Bus, upkeep: &Upkeep) -> UpkeepReport {
    let mut sum = UpkeepReport::default();
    loop {
        let step = bus.maintain(upkeep).await.expect("maintained");
        let is_last = step.pruned_events + step.pruned_claims + step.unhandled_rows == 0;
        sum = UpkeepReport {
            pruned_events: sum.pruned_events + step.pruned_events,
            pruned_claims: sum.pruned_claims + step.pruned_claims,
            unhandled_rows: sum.unhandled_rows + step.unhandled_rows,
            ..step
        };
        if is_last {
            return sum;
        }
    }
}

/// The answer to a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Taken,
    LeaseLost,
    NotAsked,
}

fn answer(result: Result<(), LedgerError>) -> Answer {
    match result {
        Ok(()) => Answer::Taken,
        Err(LedgerError::LeaseLost) => Answer::LeaseLost,
        Err(failure) => panic!("the ledger fails: {failure}"),
    }
}

pub(crate) async fn speak(
    ledger: &Arc<dyn Ledger>,
    token: &ClaimToken,
    ending: Ending,
    now: Timestamp,
) -> Answer {
    let release = |pause_s, error: Option<&str>, refund| Release {
        due: now.after(Duration::from_secs(pause_s)),
        error: error.map(str::to_owned),
        refund,
    };
    answer(match ending {
        Ending::Done => ledger.done(token).await,
        Ending::Fail { pause_s } => ledger.release(token, &release(pause_s, Some("it failed"), false)).await,
        Ending::GiveBack => ledger.release(token, &release(0, None, true)).await,
        Ending::Bury => ledger.bury(token, "hopeless").await,
        Ending::Lost => return Answer::NotAsked,
    })
}

pub(crate) fn settlement(verdict: Verdict, now: Timestamp) -> Settlement {
    let after = |pause_s| now.after(Duration::from_secs(pause_s));
    match verdict {
        Verdict::Done => Settlement::Done,
        Verdict::Retry { pause_s } => Settlement::Retry { at: after(pause_s), error: "it failed".to_owned() },
        Verdict::Defer { pause_s } => Settlement::Defer { until: after(pause_s) },
        Verdict::Dead => Settlement::Dead { reason: "unreadable".to_owned() },
    }
}

fn kept(seconds: u64) -> Retention {
    let kept = Duration::from_secs(seconds);
    Retention { done: kept, dead: 2 * kept, ledger: 3 * kept }
}
