//! The store: what the parts of this crate share.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use outbox_core::{EnqueueError, Enqueued, Event, NewEvent, SharedClock, StoreError, StoreId, SystemClock};
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool};
use tokio::sync::Mutex;

use crate::admin::SqliteAdmin;
use crate::begin::SqliteTransactions;
use crate::bus::SqliteBus;
use crate::connect::{file_of, open_pool, refuse_memory};
use crate::error::store_error;
use crate::file::DatabaseFile;
use crate::gate::Gate;
use crate::ledger::SqliteLedger;
use crate::migrate::{self, Applied, MigrateError};
use crate::options::SqliteOptions;
use crate::tx::SqliteTx;
use crate::wake::WakeHub;
use crate::writer::{Command, Writer};

/// Outbox, queue and ledger in one SQLite database: the starting point of this crate. Clones share everything.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use outbox_core::{CancellationToken, Worker};
/// use outbox_sqlite::SqliteOutbox;
///
/// let store = SqliteOutbox::connect("sqlite://app.db").await?;
/// store.migrate().await?;
/// let worker = Worker::builder(store.bus(), store.ledger()).build()?;
/// worker.run(CancellationToken::new()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SqliteOutbox {
    store: Arc<Store>,
}

/// What bus, ledger and admin share.
pub(crate) struct Store {
    pub(crate) id: StoreId,
    pub(crate) pool: SqlitePool,
    pub(crate) options: SqliteOptions,
    pub(crate) clock: SharedClock,
    pub(crate) gate: Gate,
    pub(crate) wake: WakeHub,
    writer: OnceLock<Writer>,
    /// A connection of our own for reading, so that a pool that the application has exhausted stops nothing.
    reader: Mutex<Option<(SqliteConnection, Instant)>>,
    pub(crate) file: Arc<DatabaseFile>,
}

impl SqliteOutbox {
    /// Opens the database at `url` (`sqlite://path`), which is created if it is not there: WAL, `synchronous = FULL`,
    /// a busy timeout of 5 s, foreign keys on.
    ///
    /// Should the file be deleted or moved while it is open, whatever is asked of the store or its pool fails as
    /// [unavailable](outbox_core::StoreErrorKind::Unavailable) and a worker is degraded, until the file is put back or
    /// another takes its place, such as a backup (without the old `-wal` and `-shm` files). No connection of the pool
    /// that was open on the old file is given out again, and workers list their handlers in the new one. What a
    /// transaction that was open at that moment commits goes to the old file.
    ///
    /// # Errors
    ///
    /// [`StoreError`], naming the file and the remedy: no database, a directory, not writable, or in memory
    /// (`sqlite::memory:` vanishes with its last connection, and the framework needs connections of its own).
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, SqliteOptions::default()).await
    }

    /// As [`connect`](Self::connect), with other options.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_with(url: &str, options: SqliteOptions) -> Result<Self, StoreError> {
        let pool = open_pool(url, &options).await?;
        Ok(Self::build(pool, options, Arc::new(SystemClock)))
    }

    /// Uses the application's pool. Its PRAGMAs are left alone; connections of the framework's own are opened from its
    /// options when they are first needed, and an in-memory database is refused then.
    ///
    /// That the file was deleted or replaced, as told at [`connect`](Self::connect), is noticed on the framework's own
    /// connections only. SQLite lets those of the application's pool go on writing to the old file: end the process
    /// before a backup takes its place.
    #[must_use]
    pub fn new(pool: SqlitePool) -> Self {
        Self::with_options(pool, SqliteOptions::default())
    }

    /// As [`new`](Self::new), with other options, of which the lease of rows and the patience of [`begin`](Self::begin)
    /// matter to a pool that is open.
    #[must_use]
    pub fn with_options(pool: SqlitePool, options: SqliteOptions) -> Self {
        Self::build(pool, options, Arc::new(SystemClock))
    }

    /// Takes the time from `clock`, which tests move. To be called before anything else is taken from the store.
    #[must_use]
    pub fn with_clock(self, clock: SharedClock) -> Self {
        Self::build(self.store.pool.clone(), self.store.options.clone(), clock)
    }

    fn build(pool: SqlitePool, options: SqliteOptions, clock: SharedClock) -> Self {
        let connect = pool.connect_options();
        let file = Arc::new(DatabaseFile::new(file_of(&connect)));
        let store = Store {
            id: StoreId::new(),
            gate: Gate::new(&connect, Arc::clone(&file)),
            wake: WakeHub::new(&connect),
            pool,
            options,
            clock,
            writer: OnceLock::new(),
            reader: Mutex::new(None),
            file,
        };
        Self { store: Arc::new(store) }
    }

    /// Brings the tables to this version: creates them, adopts an `event_queue` that is there, or does nothing. Several
    /// processes may call it at once.
    ///
    /// # Errors
    ///
    /// [`MigrateError`]: what stands in the way, and that nothing was changed.
    pub async fn migrate(&self) -> Result<Vec<Applied>, MigrateError> {
        refuse_memory(&self.store.pool.connect_options())?;
        let mut connection = self.store.open().await?;
        migrate::migrate(&mut connection).await
    }

    /// The queue, for one worker or relay: each call is a bus of its own.
    #[must_use]
    pub fn bus(&self) -> SqliteBus {
        SqliteBus::new(Arc::clone(&self.store))
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> SqliteLedger {
        SqliteLedger::new(Arc::clone(&self.store))
    }

    /// What an operator may ask and do.
    #[must_use]
    pub fn admin(&self) -> SqliteAdmin {
        SqliteAdmin::new(Arc::clone(&self.store))
    }

    /// The pool, for the application's own statements.
    #[must_use]
    pub fn pool(&self) -> &SqlitePool {
        &self.store.pool
    }

    /// Begins a transaction for what the application writes, with the events that tell of it.
    ///
    /// It goes ahead of all that a worker of this store has to write, and waits for two of the worker's transactions at
    /// most. SQLite itself has no queue for its lock: a transaction that is begun on the pool
    /// (`pool.begin_with("BEGIN IMMEDIATE")`) works as well, but looks now and then whether the lock is free, and so may
    /// wait for up to a second beside a busy worker.
    ///
    /// It uses the store's own connection, not one of the pool, so functions and collations that the application adds to
    /// the pool's connections (`after_connect`) are not there. While it is open, nothing else can write: await nothing
    /// slow in it. Dropping it rolls it back.
    ///
    /// ```
    /// # extern crate outbox_core as outbox;
    /// # use outbox_core::{Enqueue, Event};
    /// # use outbox_sqlite::SqliteOutbox;
    /// # #[derive(serde::Serialize, serde::Deserialize, Event)]
    /// # #[event(type = "movie.added")]
    /// # struct MovieAdded { title: String }
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let store = SqliteOutbox::connect(&format!("sqlite://{}/app.db", directory.path().display())).await?;
    /// # store.migrate().await?;
    /// # sqlx::raw_sql("CREATE TABLE movie (title TEXT)").execute(store.pool()).await?;
    /// let mut tx = store.begin().await?;
    /// sqlx::query("INSERT INTO movie VALUES ('Heat')").execute(&mut *tx).await?;
    /// tx.enqueue(&MovieAdded { title: "Heat".to_owned() }).await?;
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError`]: [busy](outbox_core::StoreErrorKind::Busy) when its turn, or the lock that another process holds, did
    /// not come within [`SqliteOptions::busy_timeout`]; [invalid](outbox_core::StoreErrorKind::Invalid) within a handler
    /// that holds a [`SqliteTx`], which it would wait for; or the database cannot be opened.
    pub async fn begin(&self) -> Result<SqliteTx<'static>, StoreError> {
        refuse_memory(&self.store.pool.connect_options())?;
        self.store.transactions().begin_for_application(self.store.options.busy_timeout).await
    }

    /// Enqueues an event in a transaction of its own, for effects that no transaction can cover: best effort, since a
    /// crash between the effect and this call loses the event. Otherwise use
    /// [`tx.enqueue`](outbox_core::Enqueue::enqueue).
    ///
    /// # Errors
    ///
    /// [`EnqueueError`]; [`EnqueueError::InsideTransaction`] when called by a task that holds a [`SqliteTx`], which it would
    /// wait for.
    pub async fn enqueue<E: Event>(&self, event: &E) -> Result<Enqueued, EnqueueError> {
        let enqueued = self.enqueue_all(vec![NewEvent::new(event)?]).await?;
        Ok(enqueued[0])
    }

    /// As [`enqueue`](Self::enqueue), for several events, which are written together.
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Self::enqueue).
    pub async fn enqueue_all(&self, events: Vec<NewEvent>) -> Result<Vec<Enqueued>, EnqueueError> {
        if self.store.gate.held_by_this_task().is_some() {
            return Err(EnqueueError::InsideTransaction);
        }
        let now = self.store.clock.now();
        let events = events.into_iter().map(|event| event.ready(now)).collect::<Result<Vec<_>, _>>()?;
        let writer = self.store.writer()?;
        Ok(writer.ask(|reply| Command::Enqueue { events, reply }).await.map_err(|e: StoreError| e)?)
    }
}

impl Store {
    /// Where transactions begin.
    pub(crate) fn transactions(&self) -> SqliteTransactions {
        let (gate, clock, wake) = (self.gate.clone(), Arc::clone(&self.clock), self.wake.clone());
        SqliteTransactions { gate, clock, wake }
    }

    /// The writer, started when it is first needed.
    pub(crate) fn writer(&self) -> Result<&Writer, StoreError> {
        if let Some(writer) = self.writer.get() {
            return Ok(writer);
        }
        refuse_memory(&self.pool.connect_options())?;
        let writer = Writer::start(
            self.gate.clone(),
            Arc::clone(&self.file),
            Arc::clone(&self.clock),
            self.wake.clone(),
        )?;
        // Of two that start at once, one is kept; the other's thread ends with its handle.
        Ok(self.writer.get_or_init(|| writer))
    }

    /// Opens a connection of our own, on a file that is made if the pool's options say so.
    async fn open(&self) -> Result<SqliteConnection, StoreError> {
        self.own_options().connect().await.map_err(|e| store_error("open a connection", e))
    }

    fn own_options(&self) -> SqliteConnectOptions {
        (*self.pool.connect_options()).clone().disable_statement_logging()
    }

    /// Reads on the connection that is kept for it; after a failure it is opened anew.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: for<'c> FnOnce(
            &'c mut SqliteConnection,
        ) -> Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'c>>,
    {
        let mut reader = self.reader.lock().await;
        let (mut connection, since) = match reader.take() {
            Some((connection, since)) => {
                self.file.check(since).map_err(|(_, failure)| failure)?;
                (connection, since)
            }
            None => {
                let since = Instant::now();
                let options = self.own_options().create_if_missing(false);
                let opened = options.connect().await;
                (opened.map_err(|e| store_error("open the connection for reading", e))?, since)
            }
        };
        let result = work(&mut connection).await;
        if result.is_ok() {
            *reader = Some((connection, since));
        }
        result
    }
}

impl std::fmt::Debug for SqliteOutbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SqliteOutbox({})", self.store.pool.connect_options().get_filename().display())
    }
}
