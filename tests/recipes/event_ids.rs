//! One event has one id, in one form, wherever it is written down.

use std::time::Duration;

use outbox::DeadLetterFilter;
use outbox::prelude::*;

use crate::support::database::Database;
use crate::support::running::Running;

const SOON: Duration = Duration::from_secs(20);

fn forms(id: EventId) -> [String; 5] {
    let uuid = id.as_uuid();
    [
        uuid.hyphenated().to_string(),
        uuid.hyphenated().to_string().to_uppercase(),
        uuid.simple().to_string(),
        uuid.braced().to_string(),
        uuid.urn().to_string(),
    ]
}

fn failing() -> RuntimeHandler {
    RuntimeHandler::new("failing", "test.*", |_, _| async {
        Err::<(), _>(HandlerError::permanent("as planned"))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_usual_form_of_an_id_means_the_same_event() {
    let database = Database::new().await;
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    let enqueued = enqueue_events(&mut tx, [NewEvent::raw("test.a", "1")]).await.unwrap();
    tx.commit().await.unwrap();
    let id = enqueued[0].id;
    let running = Running::start(database.worker().runtime_handler(failing()));
    let admin = database.store.admin();
    for form in forms(id) {
        database.until(SOON, "SELECT status = 'dead_lettered' FROM event_queue").await;
        let parsed: EventId = form.parse().expect(&form);
        assert_eq!(admin.explain(parsed).await.unwrap().expect(&form).event_id, id);
        let filter = DeadLetterFilter { event_id: Some(parsed), ..DeadLetterFilter::default() };
        assert_eq!(admin.retry(&filter).await.unwrap(), 1, "{form}");
        // The same id in another form is the same event.
        let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
        let again = enqueue_events(&mut tx, [NewEvent::raw("test.a", "1").id(parsed)]).await.unwrap();
        tx.commit().await.unwrap();
        assert!(again[0].duplicate, "{form}");
    }
    for odd in ["", "42", "67e55044-10b1-426f-9247-bb680e5fe0c", "67e55044-10b1-426f-9247-bb680e5fe0cg"] {
        let error = odd.parse::<EventId>().unwrap_err().to_string();
        assert!(error.contains(&format!("{odd:?} is not an event id")) && error.contains("UUID"), "{error}");
    }
    running.stop().await;
}

/// Joined as an operator does it in sqlite3.
const JOINED: &str = "SELECT count(*) FROM event_queue JOIN processed_events USING (event_id)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queue_and_ledger_can_be_joined_by_id_whoever_wrote_it() {
    let database = Database::new().await;
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    enqueue_events(&mut tx, (0..3).map(|_| NewEvent::raw("test.a", "1"))).await.unwrap();
    tx.commit().await.unwrap();
    let foreign = "INSERT INTO event_queue (event_type, payload, event_id) VALUES ('test.a', '1', ";
    database.run(&format!("{foreign} NULL)")).await;
    for form in
        forms(EventId::new()).into_iter().take(1).chain(forms(EventId::new()).into_iter().skip(1).take(1))
    {
        database.run(&format!("{foreign} '{form}')")).await;
    }
    let done = RuntimeHandler::new("done", "test.*", |_, _| async { Ok::<(), String>(()) });
    let running = Running::start(database.worker().runtime_handler(done));
    database.until_done(SOON, 6).await;
    assert_eq!(database.number(JOINED).await, 6);
    for table in ["event_queue", "processed_events"] {
        let kinds = format!("SELECT DISTINCT typeof(event_id) || ' ' || length(event_id) FROM {table}");
        assert_eq!(database.texts(&kinds).await, ["text 36"]);
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_of_a_foreign_writer_in_another_form_is_brought_to_ours_or_dead_lettered_by_name() {
    let database = Database::new().await;
    let [_, upper, simple, braced, urn] = forms("67e55044-10b1-426f-9247-bb680e5fe0c8".parse().unwrap());
    for id in [&upper, &simple, &braced, &urn, "not a uuid", ""] {
        let row =
            format!("INSERT INTO event_queue (event_type, payload, event_id) VALUES ('test.a', '1', '{id}')");
        database.run(&row).await;
    }
    let done = RuntimeHandler::new("done", "test.*", |_, _| async { Ok::<(), String>(()) });
    let running = Running::start(database.worker().runtime_handler(done));
    let settled = "SELECT count(*) = 0 FROM event_queue WHERE status IN ('pending', 'processing')";
    database.until(SOON, settled).await;
    assert_eq!(database.events("done").await, 1, "{}", database.describe().await);
    let reasons = database.texts("SELECT last_error FROM event_queue WHERE status = 'dead_lettered'").await;
    assert_eq!(reasons.len(), 5);
    for (id, reason) in [&simple, &braced, &urn, "not a uuid", ""].into_iter().zip(&reasons) {
        assert!(reason.contains(&format!("{id:?}")), "{reason}");
    }
    running.stop().await;
}
