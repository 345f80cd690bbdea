//! Recipe "ledger: recovery sweep steals live or brand-new work", in one process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use outbox_core::{Admin, DeadLetterFilter, Delivery, RuntimeHandler, Worker, WorkerSettings};

use crate::support::{Bench, Running, Runs, eventually};

/// Four workers, upkeep all the time, an operator who redrives in a loop, and all workers restarted half-way: every body
/// starts once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_upkeep_nor_redrives_nor_restarts_run_anything_twice() {
    const EVENTS: usize = 100;
    // On the system's clock, since everything runs by itself here.
    let bench = Bench { store: outbox_core::MemoryOutbox::new(), ..Bench::new() };
    let runs = Runs::new(&bench);
    let handler = {
        let runs = runs.clone();
        RuntimeHandler::new("h", "t", move |_, delivery: Delivery| {
            let going = runs.begin(&delivery);
            async move {
                let _going = going;
                tokio::time::sleep(Duration::from_millis(20)).await;
                Ok::<(), String>(())
            }
        })
    };
    let settings = WorkerSettings {
        concurrency: 4,
        upkeep_interval: Duration::from_millis(10),
        ..WorkerSettings::default()
    };
    let start_four = || {
        [0; 4].map(|_| {
            let builder = Worker::builder(bench.store.bus(), bench.store.ledger()).only_given_handlers();
            Running::start(builder.runtime_handler(handler.clone()).settings(settings.clone()))
        })
    };
    let over = Arc::new(AtomicBool::new(false));
    let operator = tokio::spawn({
        let (admin, over) = (bench.store.admin(), Arc::clone(&over));
        async move {
            while !over.load(Ordering::SeqCst) {
                admin.retry(&DeadLetterFilter::default()).await.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });

    let first = start_four();
    let ids = bench.enqueue_numbers(0..EVENTS).await;
    eventually("a third has begun", async || runs.count() >= EVENTS / 3).await;
    for running in &first {
        running.shut_down();
    }
    let second = start_four();
    for running in first {
        running.ended().await.expect("it drains");
    }
    bench.until_all_done(&ids).await;
    over.store(true, Ordering::SeqCst);
    operator.await.unwrap();
    assert_eq!(runs.count(), EVENTS);
    for running in second {
        running.stop().await;
    }
}
