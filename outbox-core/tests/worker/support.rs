//! What the tests are written with.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox_core::{
    Admin, CancellationToken, Clock, DeadLetter, DeadLetterFilter, Delivery, EventId, EventState,
    HandlerProgress, ManualClock, MemoryOutbox, NewEvent, RuntimeHandler, Timestamp, Worker, WorkerBuilder,
    WorkerError,
};
use tokio::task::JoinHandle;

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long it waits for what must not.
const QUIET: Duration = Duration::from_millis(30);

pub(crate) fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) const MILLISECOND: Duration = Duration::from_millis(1);

/// A store in memory and the clock that it goes by.
pub(crate) struct Bench {
    pub(crate) clock: ManualClock,
    pub(crate) store: MemoryOutbox,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::new();
        let store = MemoryOutbox::new().with_clock(Arc::new(clock.clone()));
        Self { clock, store }
    }

    /// A worker on this store and clock without any handlers yet.
    pub(crate) fn worker(&self) -> WorkerBuilder {
        let builder = Worker::builder(self.store.bus(), self.store.ledger());
        builder.clock(Arc::new(self.clock.clone())).only_given_handlers()
    }

    /// Starts a worker with this handler.
    pub(crate) fn start(&self, handler: RuntimeHandler) -> Running {
        Running::start(self.worker().runtime_handler(handler))
    }

    pub(crate) async fn enqueue(&self, event: NewEvent) -> EventId {
        self.store.enqueue_all(vec![event]).await.expect("enqueued")[0].id
    }

    /// Enqueues events of type `t`, whose payloads are their numbers.
    pub(crate) async fn enqueue_numbers(&self, numbers: std::ops::Range<usize>) -> Vec<EventId> {
        let events = numbers.map(|n| NewEvent::raw("t", n.to_string())).collect();
        self.store.enqueue_all(events).await.expect("enqueued").iter().map(|written| written.id).collect()
    }

    pub(crate) async fn state(&self, event_id: EventId) -> Option<EventState> {
        self.store
            .admin()
            .explain(event_id)
            .await
            .expect("explained")
            .and_then(|explanation| explanation.state)
    }

    /// How far a handler is with an event, once it has begun.
    pub(crate) async fn progress(&self, event_id: EventId, handler: &str) -> HandlerProgress {
        let explanation =
            self.store.admin().explain(event_id).await.expect("explained").expect("the event is known");
        let found = explanation.handlers.into_iter().find(|progress| progress.handler == handler);
        found.unwrap_or_else(|| panic!("{handler} has begun or is listed"))
    }

    pub(crate) async fn until_state(&self, event_id: EventId, state: EventState) {
        eventually(&format!("the event is {state}"), async || self.state(event_id).await == Some(state))
            .await;
    }

    /// Lets the time of a beat pass, and waits until the claim of handler `h` is valid for a whole lease again.
    pub(crate) async fn until_renewed(&self, event_id: EventId) {
        self.clock.advance(seconds(20));
        let expected = Some(self.store.now().after(seconds(60)));
        eventually("the lease is renewed", async || {
            self.progress(event_id, "h").await.lease_until == expected
        })
        .await;
    }

    pub(crate) async fn until_all_done(&self, events: &[EventId]) {
        for id in events {
            self.until_state(*id, EventState::Done).await;
        }
    }

    /// Waits until a handler has failed for the n-th time, and returns when it is due again.
    pub(crate) async fn until_released(&self, event_id: EventId, handler: &str, attempts: u32) -> Timestamp {
        let mut due = None;
        eventually("the handler is to be retried", async || {
            let explanation = self.store.admin().explain(event_id).await.expect("explained");
            let handlers = explanation.map(|explanation| explanation.handlers).unwrap_or_default();
            let released = handlers.into_iter().find(|progress| {
                let is_released = progress.state == Some(outbox_core::ClaimState::Released);
                progress.handler == handler && progress.attempts == attempts && is_released
            });
            due = released.and_then(|progress| progress.lease_until);
            due.is_some()
        })
        .await;
        due.expect("found above")
    }

    pub(crate) async fn dead_letters(&self) -> Vec<DeadLetter> {
        self.store.admin().dead_letters(&DeadLetterFilter::default(), 1_000).await.expect("listed")
    }
}

/// A worker that runs.
pub(crate) struct Running {
    pub(crate) worker: Worker,
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), WorkerError>>,
}

impl Running {
    pub(crate) fn start(builder: WorkerBuilder) -> Self {
        Self::start_worker(builder.build().expect("the worker builds"))
    }

    pub(crate) fn start_worker(worker: Worker) -> Self {
        let shutdown = CancellationToken::new();
        let (running, token) = (worker.clone(), shutdown.clone());
        Self { worker, shutdown, task: tokio::spawn(async move { running.run(token).await }) }
    }

    /// Asks it to shut down, and does not wait.
    pub(crate) fn shut_down(&self) {
        self.shutdown.cancel();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(self) -> Result<(), WorkerError> {
        let ended = tokio::time::timeout(PATIENCE, self.task).await;
        ended.expect("the worker ends").expect("the worker does not panic")
    }

    pub(crate) async fn stop(self) {
        self.shut_down();
        self.ended().await.expect("nothing was left running");
    }
}

/// Waits until `check` holds.
pub(crate) async fn eventually(what: &str, mut check: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !check().await {
            tokio::time::sleep(MILLISECOND).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "not within {PATIENCE:?}: {what}");
}

/// Gives whatever could happen the time to happen.
pub(crate) async fn quiet() {
    tokio::time::sleep(QUIET).await;
}

/// The runs of handlers, in the order in which they began.
#[derive(Clone)]
pub(crate) struct Runs {
    clock: ManualClock,
    begun: Arc<Mutex<Vec<Run>>>,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) event_id: EventId,
    pub(crate) attempt: u32,
    pub(crate) at: Timestamp,
}

/// One run that is going on; ends when dropped.
pub(crate) struct Going(Arc<AtomicUsize>);

impl Drop for Going {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Runs {
    pub(crate) fn new(bench: &Bench) -> Self {
        Self { clock: bench.clock.clone(), begun: Arc::default(), now: Arc::default(), most: Arc::default() }
    }

    /// Notes that a run begins.
    pub(crate) fn begin(&self, delivery: &Delivery) -> Going {
        let run = Run { event_id: delivery.event_id, attempt: delivery.attempt, at: self.clock.now() };
        self.begun.lock().unwrap().push(run);
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Going(Arc::clone(&self.now))
    }

    pub(crate) fn count(&self) -> usize {
        self.begun.lock().unwrap().len()
    }

    pub(crate) fn all(&self) -> Vec<Run> {
        self.begun.lock().unwrap().clone()
    }

    /// Runs of one event.
    pub(crate) fn of(&self, event_id: EventId) -> Vec<Run> {
        self.all().into_iter().filter(|run| run.event_id == event_id).collect()
    }

    /// How many go on.
    pub(crate) fn going(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    /// How many went on at the same time at most.
    pub(crate) fn most_at_a_time(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    pub(crate) async fn until(&self, runs: usize) {
        eventually(&format!("{runs} runs"), async || self.count() >= runs).await;
    }

    /// A handler named `h` of type `t` that does nothing more.
    pub(crate) fn handler(&self) -> RuntimeHandler {
        let runs = self.clone();
        RuntimeHandler::new("h", "t", move |_, delivery| {
            drop(runs.begin(&delivery));
            async { Ok::<(), String>(()) }
        })
    }

    /// One that fails each time.
    pub(crate) fn failing_handler(&self) -> RuntimeHandler {
        let runs = self.clone();
        RuntimeHandler::new("h", "t", move |_, delivery| {
            drop(runs.begin(&delivery));
            async { Err::<(), _>("no network") }
        })
    }

    /// One that waits until `gate` lets it go; each permit lets one run go.
    pub(crate) fn gated_handler(&self, gate: &Arc<tokio::sync::Semaphore>) -> RuntimeHandler {
        let (runs, gate) = (self.clone(), Arc::clone(gate));
        RuntimeHandler::new("h", "t", move |_, delivery| {
            let (going, gate) = (runs.begin(&delivery), Arc::clone(&gate));
            async move {
                let _going = going;
                gate.acquire().await.expect("the gate stays").forget();
                Ok::<(), String>(())
            }
        })
    }
}

/// A gate that lets nobody through yet.
pub(crate) fn closed_gate() -> Arc<tokio::sync::Semaphore> {
    Arc::new(tokio::sync::Semaphore::new(0))
}

pub(crate) mod logs {
    //! What the worker logs on this thread.

    use std::fmt;
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

    /// Everything that was logged on this thread since it was made.
    #[derive(Clone)]
    pub(crate) struct Logs {
        lines: Arc<Mutex<Vec<(&'static str, String)>>>,
        _collecting: Arc<tracing::subscriber::DefaultGuard>,
    }

    struct Collector(Arc<Mutex<Vec<(&'static str, String)>>>);

    impl<S: tracing::Subscriber> Layer<S> for Collector {
        fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
            let mut text = String::new();
            event.record(&mut |field: &tracing::field::Field, value: &dyn fmt::Debug| {
                text.push_str(&format!("{field}={value:?} "));
            });
            self.0.lock().unwrap().push((event.metadata().name(), text));
        }
    }

    impl Logs {
        pub(crate) fn collect() -> Self {
            let lines = Arc::<Mutex<Vec<_>>>::default();
            let subscriber = tracing_subscriber::registry().with(Collector(Arc::clone(&lines)));
            Self { lines, _collecting: Arc::new(tracing::subscriber::set_default(subscriber)) }
        }

        /// How many events of that name there were.
        pub(crate) fn count(&self, name: &str) -> usize {
            self.lines.lock().unwrap().iter().filter(|(known, _)| *known == name).count()
        }

        pub(crate) fn text(&self) -> String {
            format!("{self:?}")
        }
    }

    impl fmt::Debug for Logs {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.lines.lock().unwrap().iter().try_for_each(|(name, text)| write!(f, "\n{name}: {text}"))
        }
    }
}
