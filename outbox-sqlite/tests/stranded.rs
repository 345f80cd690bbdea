//! Events whose reason to wait has gone by itself do not wait for ever.

use std::time::Duration;

use outbox_core::{
    Admin, Backoff, CancellationToken, NewEvent, OnDead, Retention, RuntimeHandler, Worker, WorkerSettings,
};
use outbox_sqlite::SqliteOutbox;
use sqlx::AssertSqlSafe;

struct World {
    _directory: tempfile::TempDir,
    store: SqliteOutbox,
}

/// Shuts its worker down when dropped.
struct Running(CancellationToken);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl World {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", directory.path().join("app.db").display());
        let store = SqliteOutbox::connect(&url).await.unwrap();
        store.migrate().await.unwrap();
        Self { _directory: directory, store }
    }

    /// A worker that ends with what is returned. A failed event is retried after an hour.
    fn work(&self, handler: RuntimeHandler) -> Running {
        let hour = Duration::from_secs(3600);
        let settings = WorkerSettings {
            backoff: Backoff { base: hour, cap: hour },
            upkeep_interval: Duration::from_millis(100),
            ..WorkerSettings::default()
        };
        let worker = Worker::builder(self.store.bus(), self.store.ledger()).only_given_handlers();
        let worker = worker.settings(settings).runtime_handler(handler).build().unwrap();
        let shutdown = CancellationToken::new();
        tokio::spawn({
            let shutdown = shutdown.clone();
            async move { worker.run(shutdown).await }
        });
        Running(shutdown)
    }

    async fn enqueue(&self, payload: &str) {
        let event = NewEvent::raw("test.moved", payload).key("k");
        self.store.enqueue_all(vec![event]).await.unwrap();
    }

    async fn run(&self, script: &str) {
        sqlx::raw_sql(AssertSqlSafe(script)).execute(self.store.pool()).await.unwrap();
    }

    /// Waits, at most 20 s, until that many events are in that state and wait for that.
    async fn until(&self, events: i64, status: &str, waits_for: &str) {
        let query = "SELECT count(*) FROM event_queue WHERE status = $1 AND waits_for = $2";
        self.until_counted(events, query, [status, waits_for]).await;
    }

    /// Waits, at most 20 s, until the query counts that many events.
    async fn until_counted(&self, events: i64, query: &'static str, about: [&str; 2]) {
        for _ in 0..2_000 {
            let found = sqlx::query_scalar::<_, i64>(query).bind(about[0]).bind(about[1]);
            if found.fetch_one(self.store.pool()).await.unwrap() == events {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("not in 20 s: {events} of {about:?} by {query}");
    }
}

/// Fails on payloads that say so.
fn handler() -> RuntimeHandler {
    RuntimeHandler::new("mover", "test.moved", |payload: String, _| async move {
        if payload.contains("fail") { Err("cannot be moved") } else { Ok(()) }
    })
}

async fn what_is_in_the_way_goes(script: &str) {
    let world = World::new().await;
    let _worker = world.work(handler());
    world.enqueue("\"fail\"").await;
    world.until(1, "pending", "handler").await;
    world.enqueue("1").await;
    world.enqueue("2").await;
    world.until(2, "pending", "key").await;
    world.run(script).await;
    // In one look, since between two of them each of the two may be in no state that is asked for.
    let done = "SELECT count(*) FROM event_queue WHERE status = 'done' AND payload IN ($1, $2)";
    world.until_counted(2, done, ["1", "2"]).await;
}

#[tokio::test]
async fn a_key_goes_on_when_the_event_in_the_way_is_deleted_by_hand() {
    what_is_in_the_way_goes("DELETE FROM event_queue WHERE id = 1").await;
}

#[tokio::test]
async fn a_key_goes_on_when_the_event_in_the_way_is_finished_by_hand() {
    what_is_in_the_way_goes("UPDATE event_queue SET status = 'done' WHERE id = 1").await;
    what_is_in_the_way_goes("UPDATE event_queue SET status = 'dead_lettered' WHERE id = 1").await;
}

#[tokio::test]
async fn a_blocked_key_goes_on_when_its_dead_letter_is_pruned() {
    let world = World::new().await;
    let _worker = world.work(handler().max_attempts(1).on_dead(OnDead::Block));
    world.enqueue("\"fail\"").await;
    world.enqueue("1").await;
    world.until(1, "dead_lettered", "").await;
    world.until(1, "pending", "key").await;
    let all = Retention { done: Duration::from_secs(3600), dead: Duration::ZERO, ledger: Duration::ZERO };
    world.store.admin().prune(&all).await.unwrap();
    world.until(1, "done", "").await;
}

#[tokio::test]
async fn a_blocked_key_goes_on_when_a_deploy_no_longer_blocks() {
    let world = World::new().await;
    let worker = world.work(handler().max_attempts(1).on_dead(OnDead::Block));
    world.enqueue("\"fail\"").await;
    world.enqueue("1").await;
    world.until(1, "pending", "key").await;
    // Blocked rows are not looked at again and again.
    tokio::time::sleep(Duration::from_millis(300)).await;
    world.until(1, "pending", "key").await;
    drop(worker);
    let _worker = world.work(handler().max_attempts(1));
    world.until(1, "done", "").await;
}

#[tokio::test]
async fn an_event_of_a_version_that_a_deploy_jumped_over_is_handled() {
    let world = World::new().await;
    let worker = world.work(handler().max_version(20_250_101));
    world.store.enqueue_all(vec![NewEvent::raw("test.moved", "1").version(20_250_601)]).await.unwrap();
    world.until(1, "pending", "version:20250601").await;
    drop(worker);
    let _worker = world.work(handler().max_version(20_250_901));
    world.until(1, "done", "").await;
}

#[tokio::test]
async fn an_event_whose_ledger_row_is_deleted_by_hand_is_handled_anew() {
    let world = World::new().await;
    let _worker = world.work(handler());
    world.enqueue("\"fail\"").await;
    world.until(1, "pending", "handler").await;
    world.run("UPDATE event_queue SET payload = '1', available_at = 0; DELETE FROM processed_events").await;
    world.until(1, "done", "").await;
}

#[tokio::test]
async fn an_event_that_cannot_be_read_does_not_block_its_key() {
    let world = World::new().await;
    world.run("INSERT INTO event_queue (event_type, payload, event_key, event_version) VALUES ('test.moved', '1', 'k', -1)")
        .await;
    world.enqueue("1").await;
    let _worker = world.work(handler());
    world.until(1, "dead_lettered", "").await;
    world.until(1, "done", "").await;
}

#[tokio::test]
async fn a_count_of_attempts_at_its_limit_fails_no_claim() {
    let world = World::new().await;
    world.run("INSERT INTO event_queue (event_type, payload, attempts) VALUES ('test.moved', '1', 9223372036854775807)")
        .await;
    world.enqueue("1").await;
    let _worker = world.work(handler());
    world.until(2, "done", "").await;
}

#[tokio::test]
async fn what_a_new_handler_did_not_come_to_look_at_is_left_to_its_next_worker() {
    let world = World::new().await;
    let worker = world.work(handler());
    world.enqueue("\"fail\"").await;
    world.until(1, "pending", "handler").await;
    drop(worker);
    // As a worker leaves it that dies between listing its handler and looking at what waits.
    world.run("INSERT INTO outbox_handlers VALUES ('test.moved', 'second', 1, 0)").await;
    let second = RuntimeHandler::new("second", "test.moved", |_: String, _| async { Ok::<(), String>(()) });
    let _worker = world.work(second);
    let done = "SELECT count(*) FROM processed_events WHERE handler = $1 AND status = $2";
    world.until_counted(1, done, ["second", "done"]).await;
}
