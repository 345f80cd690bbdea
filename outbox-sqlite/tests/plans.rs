//! What a claim or a settlement costs must not depend on how many rows wait: no statement of the write path reads a whole
//! table, whatever the planner knows of it.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sqlx::{AssertSqlSafe, Row, SqliteConnection};
use support::{Database, run};

/// Begins of the names of the files that hold the write path.
const WRITE_PATH: &[&str] = &[
    "change",
    "claim",
    "enqueue",
    "extend",
    "held",
    "mark_done",
    "next_due",
    "progress",
    "receive",
    "renew",
    "requeue",
    "settle",
    "wake",
];

/// An index that holds only what is in hand at the moment.
const SMALL_INDEX: &str = "event_queue_processing";

#[tokio::test]
async fn no_statement_reads_a_whole_table_while_the_planner_knows_nothing() {
    let (_database, mut connection) = migrated().await;
    assert_no_scans(&mut connection).await;
}

#[tokio::test]
async fn no_statement_reads_a_whole_table_after_analyze_of_a_small_one() {
    let (_database, mut connection) = migrated().await;
    run(&mut connection, &fill(1000)).await;
    run(&mut connection, "ANALYZE").await;
    assert_no_scans(&mut connection).await;
}

#[tokio::test]
async fn no_statement_reads_a_whole_table_after_analyze_of_a_large_one() {
    let (_database, mut connection) = migrated().await;
    run(&mut connection, &fill(20_000)).await;
    run(&mut connection, "ANALYZE").await;
    assert_no_scans(&mut connection).await;
}

async fn migrated() -> (Database, SqliteConnection) {
    let database = Database::new();
    let store = outbox_sqlite::SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    let mut connection = database.connect().await;
    let temporary = fs::read_to_string(sql_directory().join("temp_tables.sql")).unwrap();
    run(&mut connection, &temporary).await;
    (database, connection)
}

/// Rows in every state, some with a key.
fn fill(rows: usize) -> String {
    format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {rows})
         INSERT INTO event_queue (event_id, event_type, event_key, payload, status, claimed_at, finished_at)
         SELECT printf('00000000-0000-4000-8000-%012d', n), 'type.' || n % 5, nullif(n % 50, 0), '{{}}',
                CASE n % 4 WHEN 0 THEN 'done' WHEN 1 THEN 'processing' WHEN 2 THEN 'dead_lettered' ELSE 'pending' END,
                n, n
         FROM numbers;
         INSERT INTO processed_events (event_id, handler, status, started_at, processed_at, lease_until)
         SELECT event_id, 'handler', CASE id % 3 WHEN 0 THEN 'done' WHEN 1 THEN 'released' ELSE 'in_progress' END,
                1, 1, 1
         FROM event_queue;
         INSERT INTO outbox_handlers VALUES ('type.1', 'handler', 1, 1);"
    )
}

async fn assert_no_scans(connection: &mut SqliteConnection) {
    let mut findings = Vec::new();
    let mut statements = 0;
    for file in fs::read_dir(sql_directory()).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if !WRITE_PATH.iter().any(|begin| name.starts_with(begin)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let text: String =
            text.lines().filter(|line| !line.starts_with("--")).map(|line| line.to_owned() + "\n").collect();
        let large = names_of_large_tables(&text);
        for statement in text.split_inclusive(";\n").filter(|statement| !statement.trim().is_empty()) {
            statements += 1;
            for step in plan(connection, statement).await {
                let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
                if scanned.is_some_and(|table| large.contains(table)) && !step.contains(SMALL_INDEX) {
                    findings.push(format!("{name}.sql: {step}"));
                }
            }
        }
    }
    assert!(statements > 30, "only {statements} statements were found");
    assert!(findings.is_empty(), "a whole table is read:\n{}", findings.join("\n"));
}

async fn plan(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let query = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
    let rows = sqlx::query(query).fetch_all(connection).await.unwrap_or_else(|e| panic!("{e}: {statement}"));
    rows.iter().map(|row| row.get("detail")).collect()
}

/// The tables that grow, and what the statements call them.
fn names_of_large_tables(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for table in ["event_queue", "processed_events"] {
        names.insert(table.to_owned());
        let named = format!("{table} AS ");
        for rest in text.split(&named).skip(1) {
            names.insert(rest.chars().take_while(|c| c.is_alphanumeric()).collect());
        }
    }
    names
}

fn sql_directory() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sql")
}
