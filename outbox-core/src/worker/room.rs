//! Room for handler runs: how many may run at a time, and how many may be in hand.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Runs in hand per run that may be going on: while those of one claim run, the ends of the claim before it are written
/// and the next claim is made.
const IN_HAND_PER_RUN: usize = 3;

/// What a worker has room for.
#[derive(Clone)]
pub(super) struct Room {
    shared: Arc<Shared>,
}

struct Shared {
    concurrency: usize,
    taken: Mutex<Counts>,
    /// Signalled when so much room has been given back that it is worth taking.
    given_back: Notify,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// Handlers that run or are about to: at most the worker's concurrency.
    running: usize,
    /// Those, and runs that have ended and are being written. Bounds what piles up when the store is slow or away.
    in_hand: usize,
}

/// Room that is taken for some runs. Given back when it is dropped.
pub(super) struct Taken {
    room: Room,
    runs: Counts,
}

/// The right of one handler to run, given back when it has ended, before that is written.
pub(crate) struct Slot {
    _taken: Taken,
}

impl Room {
    pub(super) fn new(concurrency: usize) -> Self {
        Self { shared: Arc::new(Shared { concurrency, taken: Mutex::default(), given_back: Notify::new() }) }
    }

    /// Waits for room and takes all there is. While the store is still writing ends, waits until most is free: one large
    /// claim costs it less than several small ones, and it would not begin with another now anyway.
    pub(super) async fn take(&self) -> Taken {
        loop {
            let given_back = self.shared.given_back.notified();
            if !self.shared.counts().is_worth_taking(self.shared.concurrency) {
                given_back.await;
            }
            self.let_more_come().await;
            if let Some(taken) = self.take_free() {
                return taken;
            }
        }
    }

    /// Runs that end together give their room back one after the other.
    async fn let_more_come(&self) {
        let mut before = 0;
        loop {
            let free = self.shared.counts().free(self.shared.concurrency);
            if free <= before {
                return;
            }
            before = free;
            tokio::task::yield_now().await;
        }
    }

    fn take_free(&self) -> Option<Taken> {
        let mut taken = self.shared.counts();
        if !taken.is_worth_taking(self.shared.concurrency) {
            return None;
        }
        let free = taken.free(self.shared.concurrency);
        taken.running += free;
        taken.in_hand += free;
        Some(Taken { room: self.clone(), runs: Counts { running: free, in_hand: free } })
    }
}

impl Shared {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn free(self, concurrency: usize) -> usize {
        (concurrency - self.running).min(concurrency * IN_HAND_PER_RUN - self.in_hand)
    }

    fn is_worth_taking(self, concurrency: usize) -> bool {
        let free = self.free(concurrency);
        let writing = self.in_hand > self.running;
        free > 0 && (!writing || free >= concurrency - concurrency / 4)
    }
}

impl Taken {
    /// For how many runs there is room.
    pub(super) fn runs(&self) -> usize {
        self.runs.running
    }

    /// Room for `runs` out of this, or for as many as are left.
    pub(super) fn split(&mut self, runs: usize) -> Self {
        let (running, in_hand) = (runs.min(self.runs.running), runs.min(self.runs.in_hand));
        self.part(Counts { running, in_hand })
    }

    /// The right of one run, if there is one left.
    pub(super) fn slot(&mut self) -> Option<Slot> {
        (self.runs.running > 0).then(|| Slot { _taken: self.part(Counts { running: 1, in_hand: 0 }) })
    }

    fn part(&mut self, runs: Counts) -> Self {
        self.runs.running -= runs.running;
        self.runs.in_hand -= runs.in_hand;
        Self { room: self.room.clone(), runs }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut taken = self.room.shared.counts();
        taken.running -= self.runs.running;
        taken.in_hand -= self.runs.in_hand;
        let worth_taking = taken.is_worth_taking(self.room.shared.concurrency);
        drop(taken);
        // Not at every run's end: to wake a task costs more than all the rest.
        if worth_taking {
            self.room.shared.given_back.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// What is taken without waiting, and how many runs that is for.
    fn take(room: &Room) -> Option<Taken> {
        let mut future = pin!(room.take());
        let mut context = Context::from_waker(Waker::noop());
        // It may let others go first, but only while room is being given back.
        (0..3).find_map(|_| match future.as_mut().poll(&mut context) {
            Poll::Ready(taken) => Some(taken),
            Poll::Pending => None,
        })
    }

    /// The runs of an event, each of which has begun.
    fn start(taken: &mut Taken, runs: usize) -> (Taken, Vec<Slot>) {
        let mut event = taken.split(runs);
        let slots = (0..runs).map(|_| event.slot().unwrap()).collect();
        (event, slots)
    }

    #[test]
    fn all_that_is_free_is_taken_and_what_is_not_used_comes_back() {
        let room = Room::new(4);
        let mut taken = take(&room).unwrap();
        assert_eq!(taken.runs(), 4);
        assert!(take(&room).is_none(), "nothing is left");
        let (_event, _slots) = start(&mut taken, 1);
        drop(taken);
        assert_eq!(take(&room).unwrap().runs(), 3);
    }

    #[test]
    fn while_ends_are_written_others_run_up_to_a_bound() {
        let room = Room::new(2);
        let mut unwritten = Vec::new();
        for _ in 0..IN_HAND_PER_RUN {
            let mut taken = take(&room).unwrap();
            assert_eq!(taken.runs(), 2);
            let (event, ended) = start(&mut taken, 2);
            drop(ended);
            unwritten.push(event);
        }
        assert!(take(&room).is_none(), "too much is unwritten");
        unwritten.pop();
        assert_eq!(take(&room).unwrap().runs(), 2);
    }

    #[test]
    fn a_small_part_is_taken_only_if_the_store_has_nothing_to_write() {
        let room = Room::new(8);
        let mut taken = take(&room).unwrap();
        let (ended, slot) = start(&mut taken, 1);
        let (running, slots) = start(&mut taken, 7);
        drop(slot);
        assert!(take(&room).is_none(), "the end is still being written, more may be free afterwards");
        drop(ended);
        assert_eq!(take(&room).unwrap().runs(), 1);
        drop(slots);
        drop(running);
        assert_eq!(take(&room).unwrap().runs(), 8);
    }

    #[tokio::test]
    async fn who_waits_for_room_is_woken_when_some_is_given_back() {
        let room = Room::new(1);
        let taken = room.take().await;
        let waiting = tokio::spawn({
            let room = room.clone();
            async move { room.take().await.runs() }
        });
        tokio::task::yield_now().await;
        drop(taken);
        let runs = tokio::time::timeout(std::time::Duration::from_secs(10), waiting).await;
        assert_eq!(runs.unwrap().unwrap(), 1);
    }
}
