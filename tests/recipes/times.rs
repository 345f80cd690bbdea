//! Moments: time zones, formats, moments that no calendar has, and clocks that jump.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use outbox::{
    Admin, Clock, EnqueueError, InvalidEvent, ManualClock, NewEvent, RuntimeHandler, Timestamp, Worker,
    enqueue_events,
};
use tokio::sync::mpsc;

use crate::support::child::Plan;
use crate::support::database::Database;
use crate::support::handlers::{Does, Job};
use crate::support::journal::{self, Entry};
use crate::support::process::Process;
use crate::support::running::{Running, quick};
use crate::support::wait::wait_until;

const SOON: Duration = Duration::from_secs(20);

/// In a zone of the world, a delay lasts as long as it says, and so does a lease.
async fn delays_and_leases_last_as_they_should_in(zone: &str) {
    let database = Database::new().await;
    let plan = Plan { concurrency: 2, lease_ms: 1_000, ..Plan::new(database.file(), database.journal()) };
    let begins = |process: &Process| -> Vec<Entry> {
        let all = journal::entries(&plan.journal, "begin");
        all.into_iter().filter(|begin| begin.process == process.id()).collect()
    };
    database.store.enqueue(&Job { does: Does::Sleep(60_000) }).await.unwrap();
    let mut first = Process::worker_with(&plan, &[("TZ", zone)]);
    wait_until("the first worker begins", SOON, || !begins(&first).is_empty(), || first.printed());
    let killed = journal::now();
    first.kill();
    let second = Process::worker_with(&Plan { delayed_ms: Some(1_000), ..plan.clone() }, &[("TZ", zone)]);
    let ready = journal::entries(&plan.journal, "ready").last().unwrap().at;
    wait_until("the second worker runs both", SOON, || begins(&second).len() == 2, || second.printed());
    let both = begins(&second);
    let taken_over = both.iter().find(|begin| begin.attempt == 2).expect("a second attempt");
    let delayed = both.iter().find(|begin| begin.attempt == 1).expect("the delayed event");
    let (least, slack) = (Duration::from_millis(1_000), Duration::from_millis(1_500));
    // The heartbeat may have renewed the lease just before the end.
    let after_kill = taken_over.at - killed;
    assert!(after_kill > least / 2 && after_kill < least + slack, "{zone}: taken over after {after_kill:?}");
    // It was enqueued just before the process said that it is ready.
    let after_ready = delayed.at.saturating_sub(ready) + Duration::from_millis(50);
    assert!(after_ready > least - slack / 3 && after_ready < least + slack, "{zone}: after {after_ready:?}");
    let created = "SELECT available_at - created_at FROM event_queue ORDER BY id DESC LIMIT 1";
    assert_eq!(database.number(created).await, 1_000);
}

#[tokio::test]
async fn delays_and_leases_last_as_they_should_in_tokyo() {
    delays_and_leases_last_as_they_should_in("Asia/Tokyo").await;
}

#[tokio::test]
async fn delays_and_leases_last_as_they_should_in_los_angeles() {
    delays_and_leases_last_as_they_should_in("America/Los_Angeles").await;
}

#[tokio::test]
async fn delays_and_leases_last_as_they_should_in_utc() {
    delays_and_leases_last_as_they_should_in("UTC").await;
}

/// A handler that tells which payloads it got, in order.
fn teller(event_type: &str) -> (RuntimeHandler, mpsc::UnboundedReceiver<String>) {
    let (tell, told) = mpsc::unbounded_channel();
    let handler = RuntimeHandler::new("teller", event_type, move |payload, _| {
        let told = tell.send(payload);
        async move { told }
    });
    (handler, told)
}

async fn next(told: &mut mpsc::UnboundedReceiver<String>) -> String {
    let payload = tokio::time::timeout(SOON, told.recv()).await;
    payload.expect("an event in time").expect("the handler lives")
}

fn moment(text: &str) -> SystemTime {
    text.parse::<jiff::Timestamp>().expect(text).try_into().expect(text)
}

#[tokio::test]
async fn moments_with_and_without_offset_and_fraction_are_kept_and_ordered_as_what_they_mean() {
    let clock = Arc::new(ManualClock::starting_at(moment("2030-01-01T09:59:00Z").into()));
    let database = Database::new().await;
    let store = database.store.clone().with_clock(clock.clone());
    let due = [
        ("5", "2030-01-01T10:00:01.25Z"),
        ("1", "2030-01-01T12:00:00+02:00"),
        ("3", "2030-01-01T10:00:00.001Z"),
        ("4", "2030-01-01T05:00:01-05:00"),
        ("2", "2030-01-01T10:00:00Z"),
    ];
    let mut tx = store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    let events = due.map(|(n, at)| NewEvent::raw("test.due", n).at(moment(at)));
    enqueue_events(&mut tx, events).await.unwrap();
    tx.commit().await.unwrap();
    let same = "SELECT count(DISTINCT available_at) FROM event_queue WHERE payload IN ('1', '2')";
    assert_eq!(database.number(same).await, 1);
    let (handler, mut told) = teller("test.due");
    let running = Running::start(
        Worker::builder(store.bus(), store.ledger())
            .only_given_handlers()
            .runtime_handler(handler)
            .settings(quick())
            .clock(clock.clone())
            .concurrency(1),
    );
    clock.advance(Duration::from_secs(70));
    for n in ["1", "2", "3", "4", "5"] {
        assert_eq!(next(&mut told).await, n);
    }
    running.stop().await;
}

#[tokio::test]
async fn delays_and_moments_that_no_clock_reaches_are_refused_and_harm_nothing() {
    let database = Database::new().await;
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    let event = || NewEvent::raw("test.due", "1");
    let before_1970 = SystemTime::UNIX_EPOCH - Duration::from_secs(86_400);
    let after_9999 = SystemTime::from(Timestamp::MAX) + Duration::from_millis(1);
    for refused in [
        event().after(Duration::from_secs(u64::MAX)),
        event().after(Duration::from_millis(i64::MAX as u64)),
        event().after(Duration::MAX),
        event().at(before_1970),
        event().at(after_9999),
    ] {
        let error = enqueue_events(&mut tx, [event(), refused.clone()]).await.unwrap_err();
        assert!(matches!(error, EnqueueError::Invalid(InvalidEvent::Due { .. })), "{refused:?}: {error}");
    }
    // The transaction goes on, and takes what is in range, after 2262 too.
    let far = moment("2400-02-29T00:00:00Z");
    enqueue_events(&mut tx, [event().at(far)]).await.unwrap();
    tx.commit().await.unwrap();
    let rows = database.number("SELECT count(*) FROM event_queue").await;
    let due = database.number("SELECT available_at FROM event_queue").await;
    assert_eq!((rows, SystemTime::from(Timestamp::from_millis(due))), (1, far));
}

#[tokio::test]
async fn rows_with_moments_out_of_range_are_listed_and_keep_no_other_event_waiting() {
    let database = Database::new().await;
    let year_12000 = 316_516_204_800_000_i64;
    for moment in [year_12000, i64::MAX, -1, i64::MIN] {
        for column in ["available_at", "created_at", "claimed_at"] {
            let status = if column == "claimed_at" { "processing" } else { "pending" };
            database
                .run(&format!(
                    "INSERT INTO event_queue (event_type, payload, status, {column})
                     VALUES ('test.due', '\"{column} {moment}\"', '{status}', {moment})"
                ))
                .await;
        }
    }
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    enqueue_events(&mut tx, (0..10).map(|n| NewEvent::raw("test.due", n.to_string()))).await.unwrap();
    tx.commit().await.unwrap();
    let (handler, mut told) = teller("test.due");
    let running = Running::start(database.worker().runtime_handler(handler));
    let mut handled = Vec::new();
    // Ten good ones, four with odd creation, two that were due long ago, two whose worker is long gone.
    for _ in 0..18 {
        handled.push(next(&mut told).await);
    }
    assert_eq!((0..10).filter(|n| handled.contains(&n.to_string())).count(), 10, "{handled:?}");
    // A moment that lies ahead is waited for, be it ever so far.
    database.until(SOON, "SELECT count(*) = 2 FROM event_queue WHERE status = 'pending'").await;
    let admin = database.store.admin();
    let status = admin.status().await.unwrap();
    assert_eq!(status.counts.iter().map(|count| count.events).sum::<u64>(), 22);
    for id in database.texts("SELECT event_id FROM event_queue WHERE event_id IS NOT NULL").await {
        let explained = admin.explain(id.parse().unwrap()).await.unwrap().expect(&id);
        assert!(!explained.to_string().is_empty());
    }
    running.stop().await;
}

#[tokio::test]
async fn a_clock_that_is_set_back_an_hour_delays_nothing_that_comes_after() {
    let clock = Arc::new(ManualClock::new());
    let database = Database::new().await;
    let store = database.store.clone().with_clock(clock.clone());
    let (handler, mut told) = teller("test.job");
    let running = Running::start(
        Worker::builder(store.bus(), store.ledger())
            .only_given_handlers()
            .runtime_handler(handler)
            .settings(quick())
            .clock(clock.clone()),
    );
    store.enqueue(&Job { does: Does::Nothing }).await.unwrap();
    next(&mut told).await;
    clock.set(clock.now().before(Duration::from_secs(3_600)));
    store.enqueue(&Job { does: Does::Nothing }).await.unwrap();
    next(&mut told).await;
    running.stop().await;
}
