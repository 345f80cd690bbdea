//! Workers wake when something was committed, and sleep when nothing was.

mod support;

use std::time::Duration;

use outbox_core::{
    Bus, CancellationToken, Ledger, NewEvent, RuntimeHandler, Settlement, Worker, WorkerSettings,
    enqueue_events,
};
use outbox_sqlite::SqliteOutbox;
use support::subscribed::{Terms, subscribed};
use support::{Database, Process, child_database};
use tokio::sync::mpsc;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(20);

/// A worker that would look by itself only after an hour, and what its handler was given.
struct Sleeper {
    shutdown: CancellationToken,
    running: tokio::task::JoinHandle<()>,
    handled: mpsc::UnboundedReceiver<String>,
}

impl Sleeper {
    async fn start(store: &SqliteOutbox) -> Self {
        let (tell, handled) = mpsc::unbounded_channel();
        let handler = RuntimeHandler::new("h", "t", move |payload, _| {
            let told = tell.send(payload);
            async move { told }
        });
        let settings = WorkerSettings {
            poll: Duration::from_secs(3_600),
            upkeep_interval: Duration::from_secs(3_600),
            ..WorkerSettings::default()
        };
        let worker = Worker::builder(store.bus(), store.ledger())
            .only_given_handlers()
            .runtime_handler(handler)
            .settings(settings)
            .build()
            .unwrap();
        let shutdown = CancellationToken::new();
        let stop = shutdown.clone();
        let running = tokio::spawn(async move { worker.run(stop).await.unwrap() });
        let mut sleeper = Self { shutdown, running, handled };
        // Once the first event has been handled, the worker has nothing to do but wait.
        store.enqueue_all(vec![NewEvent::raw("t", "0")]).await.unwrap();
        assert_eq!(sleeper.next().await, "0");
        tokio::time::sleep(Duration::from_millis(300)).await;
        sleeper
    }

    async fn next(&mut self) -> String {
        timeout(SOON, self.handled.recv()).await.expect("the worker wakes").expect("the worker lives")
    }

    async fn stop(self) {
        self.shutdown.cancel();
        self.running.await.unwrap();
    }
}

async fn store(database: &Database) -> SqliteOutbox {
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_the_application_in_this_process_wakes_the_worker() {
    let database = Database::new();
    let store = store(&database).await;
    let mut worker = Sleeper::start(&store).await;
    for n in 1..=5 {
        let mut tx = store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
        enqueue_events(&mut *tx, [NewEvent::raw("t", n.to_string())]).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(worker.next().await, n.to_string());
    }
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_another_process_wakes_the_worker() {
    let database = Database::new();
    let store = store(&database).await;
    let mut worker = Sleeper::start(&store).await;
    for n in 1..=3 {
        let process =
            Process::start("child_enqueues", &database.file(), &[("OUTBOX_TEST_PAYLOAD", &n.to_string())]);
        assert_eq!(worker.next().await, n.to_string());
        process.succeed();
    }
    worker.stop().await;
}

/// The body of a child process.
#[tokio::test]
#[ignore = "runs in a child process"]
async fn child_enqueues() {
    let Some(file) = child_database() else { return };
    let payload = std::env::var("OUTBOX_TEST_PAYLOAD").unwrap();
    let mut connection = support::connect(&file).await;
    sqlx::query("INSERT INTO event_queue (event_type, payload) VALUES ('t', $1)")
        .bind(payload)
        .execute(&mut connection)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_is_not_kept_awake_by_what_it_writes_itself() {
    let database = Database::new();
    let store = store(&database).await;
    let terms = Terms { max_attempts: 3, lease: Duration::from_secs(60), grant_claims: true };
    let (bus, ledger) = (subscribed(&store, terms).await, store.ledger());
    store.enqueue_all((0..100).map(|n| NewEvent::raw("t", n.to_string())).collect()).await.unwrap();
    let mut handled = 0;
    let mut vain = 0;
    // As a worker does: look, work, wait for a wake-up.
    loop {
        let received = bus.receive(10).await.unwrap();
        if received.is_empty() {
            vain += 1;
            assert!(vain < 20, "woken {vain} times for nothing");
            if timeout(Duration::from_secs(1), bus.wake()).await.is_err() {
                break;
            }
            continue;
        }
        for event in received {
            ledger.done(&event.claims.unwrap()[0]).await.unwrap();
            bus.settle(vec![(event.receipt, Settlement::Done)]).await.unwrap();
            handled += 1;
        }
    }
    assert_eq!(handled, 100);
}
