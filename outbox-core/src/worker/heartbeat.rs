//! One heartbeat per worker renews everything that is in hand, on a thread of its own, so that neither a handler that
//! blocks its thread nor an exhausted pool can starve it.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{Bus, ClaimToken, Ledger, LedgerError, Receipt, SharedClock, Timestamp};

/// What a worker has in hand, and whether it could be renewed.
#[derive(Clone)]
pub(crate) struct Heartbeat {
    shared: Arc<Shared>,
}

struct Shared {
    clock: SharedClock,
    beats: Mutex<HashMap<u64, Arc<Entry>>>,
    next: AtomicU64,
    failing: AtomicBool,
}

struct Entry {
    token: ClaimToken,
    lease: Duration,
    receipt: Receipt,
    lost: CancellationToken,
    lease_until_ms: AtomicI64,
    /// On the monotonic clock, in milliseconds; none while the handler waits for its turn.
    ends_ms: AtomicU64,
}

const NO_END: u64 = u64::MAX;

/// One claim that is renewed as long as this lives.
pub(crate) struct Beat {
    shared: Arc<Shared>,
    key: u64,
    entry: Arc<Entry>,
}

impl Heartbeat {
    pub(crate) fn new(clock: SharedClock) -> Self {
        let shared = Shared {
            clock,
            beats: Mutex::default(),
            next: AtomicU64::new(0),
            failing: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Renews `token` and `receipt` from now on.
    pub(crate) fn watch(&self, token: &ClaimToken, lease: Duration, receipt: &Receipt) -> Beat {
        let entry = Arc::new(Entry {
            token: token.clone(),
            lease,
            receipt: receipt.clone(),
            lost: CancellationToken::new(),
            lease_until_ms: AtomicI64::new(token.lease_until.as_millis()),
            ends_ms: AtomicU64::new(NO_END),
        });
        let key = self.shared.next.fetch_add(1, Ordering::Relaxed);
        self.shared.lock().insert(key, Arc::clone(&entry));
        Beat { shared: Arc::clone(&self.shared), key, entry }
    }

    /// Whether the last beat could not be written. The worker fetches nothing then.
    pub(crate) fn is_failing(&self) -> bool {
        self.shared.failing.load(Ordering::Acquire)
    }

    /// Beats every `interval` on a thread of its own until `stop`.
    pub(crate) fn start(
        &self,
        bus: Arc<dyn Bus>,
        ledger: Arc<dyn Ledger>,
        interval: Duration,
        stop: CancellationToken,
    ) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        if shared.lock().is_empty() {
            // Of a run that has ended, and had its own leases to renew.
            shared.failing.store(false, Ordering::Release);
        }
        let first = shared.clock.passed().saturating_add(interval);
        std::thread::Builder::new().name("outbox-heartbeat".to_owned()).spawn(move || {
            runtime
                .block_on(stop.run_until_cancelled(shared.beat_regularly(first, interval, &*bus, &*ledger)));
        })?;
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Entry>>> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Beats at `due` and every `interval` after that, however long a beat takes; what was missed is not made up for.
    async fn beat_regularly(
        &self,
        mut due: Duration,
        interval: Duration,
        bus: &dyn Bus,
        ledger: &dyn Ledger,
    ) {
        loop {
            self.clock.sleep(due.saturating_sub(self.clock.passed())).await;
            let now = self.clock.passed();
            due = due.saturating_add(interval);
            if due <= now {
                due = now.saturating_add(interval);
            }
            self.beat_until(due, bus, ledger).await;
        }
    }

    /// Beats once. A beat that is not over when the next one is due, or that panics, has failed.
    async fn beat_until(&self, due: Duration, bus: &dyn Bus, ledger: &dyn Ledger) {
        let mut beat = pin!(AssertUnwindSafe(self.beat(bus, ledger)).catch_unwind());
        let written = tokio::select! {
            written = &mut beat => written,
            () = self.clock.sleep(due.saturating_sub(self.clock.passed())) => {
                self.note(false);
                beat.await
            }
        };
        self.note(written.unwrap_or(false));
    }

    /// Renews and extends everything that is in hand; whether all of it could be written.
    async fn beat(&self, bus: &dyn Bus, ledger: &dyn Ledger) -> bool {
        let passed = millis(self.clock.passed());
        let live: Vec<_> = self
            .lock()
            .values()
            .filter(|entry| passed < entry.ends_ms.load(Ordering::Acquire))
            .cloned()
            .collect();
        if live.is_empty() {
            return true;
        }
        let mut receipts: Vec<Receipt> = live.iter().map(|entry| entry.receipt.clone()).collect();
        receipts.sort_by(|a, b| a.message.cmp(&b.message));
        receipts.dedup();
        let renewals = join_all(live.iter().map(|entry| self.renew(entry, ledger)));
        let (renewed, extended) = futures_util::join!(renewals, bus.extend(&receipts));
        extended.is_ok() && !renewed.contains(&false)
    }

    /// Notes whether a beat was written, and warns when that changes for the worse.
    fn note(&self, written: bool) {
        if !written && !self.failing.load(Ordering::Acquire) {
            warn!(name: "outbox.heartbeat.failing", "heartbeat failed: nothing is fetched until it is written again");
        }
        self.failing.store(!written, Ordering::Release);
    }

    /// Renews one claim; false if the store failed.
    async fn renew(&self, entry: &Entry, ledger: &dyn Ledger) -> bool {
        match ledger.renew(&entry.token, entry.lease).await {
            Ok(()) => {
                let until = self.clock.now().after(entry.lease);
                entry.lease_until_ms.store(until.as_millis(), Ordering::Release);
                true
            }
            Err(LedgerError::LeaseLost) => {
                entry.lost.cancel();
                true
            }
            Err(LedgerError::Store(_)) => {
                // We cannot tell whether somebody took over; after the lease somebody may have.
                if self.clock.now().as_millis() >= entry.lease_until_ms.load(Ordering::Acquire) {
                    entry.lost.cancel();
                }
                false
            }
        }
    }
}

impl Beat {
    /// Stops renewing after `timeout` from now: a handler that hangs does not renew for ever.
    pub(crate) fn ends_after(&self, timeout: Duration) {
        let end = millis(self.shared.clock.passed().saturating_add(timeout));
        self.entry.ends_ms.store(end, Ordering::Release);
    }

    /// Returns when the claim was found to be taken over.
    pub(crate) async fn lost(&self) {
        self.entry.lost.cancelled().await;
    }

    /// Returns when the claim was found to be taken over, or when its lease has ended unrenewed: a process that was
    /// stopped learns at its next await that its time is over, without asking the store.
    pub(crate) async fn lost_or_over(&self) {
        let mut lost = pin!(self.entry.lost.cancelled());
        poll_fn(|context| {
            if self.shared.clock.now() >= self.lease_until() {
                Poll::Ready(())
            } else {
                lost.as_mut().poll(context)
            }
        })
        .await;
    }

    /// The end of the lease, as last renewed.
    pub(crate) fn lease_until(&self) -> Timestamp {
        Timestamp::from_millis(self.entry.lease_until_ms.load(Ordering::Acquire))
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        self.shared.lock().remove(&self.key);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(NO_END - 1)
}
