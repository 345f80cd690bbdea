//! The journal: one line per thing that a handler did, whichever process it ran in.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use outbox::Delivery;

/// Writes lines, each in one call, so that those of several processes do not mix.
#[derive(Clone)]
pub(crate) struct Journal {
    file: Arc<File>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Since the epoch.
    pub(crate) at: Duration,
    pub(crate) process: u32,
    pub(crate) what: String,
    pub(crate) handler: String,
    pub(crate) event: String,
    pub(crate) attempt: u32,
}

impl Journal {
    pub(crate) fn open(path: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Self { file: Arc::new(file.expect("the journal opens")) }
    }

    /// Notes that a handler is at some point of its work.
    pub(crate) fn note(&self, what: &str, delivery: &Delivery) {
        self.line(what, &delivery.handler, &delivery.event_id.to_string(), delivery.attempt);
    }

    /// Notes something that is about no event.
    pub(crate) fn say(&self, what: &str) {
        self.line(what, "-", "-", 0);
    }

    fn line(&self, what: &str, handler: &str, event: &str, attempt: u32) {
        let line =
            format!("{} {} {what} {handler} {event} {attempt}\n", now().as_micros(), std::process::id());
        let mut file = &*self.file;
        file.write_all(line.as_bytes()).expect("the journal can be written");
    }
}

/// Everything that was noted, in the order of writing. A line that is being written is left out.
pub(crate) fn read(path: &Path) -> Vec<Entry> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(parse).collect()
}

/// The entries of one kind.
pub(crate) fn entries(path: &Path, what: &str) -> Vec<Entry> {
    read(path).into_iter().filter(|entry| entry.what == what).collect()
}

fn parse(line: &str) -> Entry {
    let parts: Vec<&str> = line.split(' ').collect();
    let [at, process, what, handler, event, attempt] = parts[..] else { panic!("in the journal: {line:?}") };
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("in the journal: {line:?}"));
    Entry {
        at: Duration::from_micros(number(at)),
        process: number(process) as u32,
        what: what.to_owned(),
        handler: handler.to_owned(),
        event: event.to_owned(),
        attempt: number(attempt) as u32,
    }
}

/// The present moment, since the epoch.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970")
}
