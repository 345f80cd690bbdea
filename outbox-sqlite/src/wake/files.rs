//! The file system's events on a database's files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::signal::Signal;

/// Raises the signal whenever one of the database's files changes, until it is dropped.
///
/// The directory is watched, not the files: the `-wal` file comes and goes.
#[derive(Debug)]
pub(super) struct FileWatcher {
    watcher: RecommendedWatcher,
    directory: PathBuf,
}

/// A watcher that sees nothing at the moment.
#[derive(Debug)]
pub(super) struct PausedWatcher(FileWatcher);

/// How to start watching: [`FileWatcher::start`], except where a test wants to see it fail.
pub(super) type StartFiles = fn(&Path, Arc<Signal>) -> notify::Result<FileWatcher>;

impl FileWatcher {
    pub(super) fn start(database: &Path, signal: Arc<Signal>) -> notify::Result<Self> {
        let names = names(database);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error, such as a queue that overflowed, may stand for any event.
            if event.map_or(true, |event| concerns(&event, &names)) {
                signal.raise();
            }
        })?;
        let directory = database.parent().unwrap_or(Path::new("/")).to_owned();
        PausedWatcher(Self { watcher, directory }).resume()
    }

    /// Stops watching for a while.
    pub(super) fn pause(mut self) -> notify::Result<PausedWatcher> {
        self.watcher.unwatch(&self.directory)?;
        Ok(PausedWatcher(self))
    }
}

impl PausedWatcher {
    /// Watches again. What happened meanwhile was not seen.
    pub(super) fn resume(self) -> notify::Result<FileWatcher> {
        let Self(mut paused) = self;
        paused.watcher.watch(&paused.directory, RecursiveMode::NonRecursive)?;
        Ok(paused)
    }
}

/// The files that a commit writes to: in WAL mode the log, with a rollback journal that and the database itself.
fn names(database: &Path) -> [OsString; 3] {
    let name = database.file_name().unwrap_or_default();
    ["", "-wal", "-journal"].map(|suffix| {
        let mut name = name.to_owned();
        name.push(suffix);
        name
    })
}

fn concerns(event: &Event, names: &[OsString]) -> bool {
    // Opening and closing a file changes nothing, and looking at the database does both.
    let access = matches!(event.kind, EventKind::Access(_));
    let ours = |path: &Path| path.file_name().is_some_and(|name| names.iter().any(|ours| ours == name));
    event.need_rescan() || !access && event.paths.iter().any(|path| ours(path))
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind, Flag, ModifyKind, RemoveKind};

    use super::*;

    #[test]
    fn only_changes_of_the_databases_own_files_count() {
        let names = names(Path::new("/data/app.db"));
        let event =
            |kind, file: &str| concerns(&Event::new(kind).add_path(Path::new("/data").join(file)), &names);
        let modify = EventKind::Modify(ModifyKind::Any);
        assert!(event(modify, "app.db-wal"));
        assert!(event(modify, "app.db"));
        assert!(event(EventKind::Create(CreateKind::File), "app.db-journal"));
        assert!(event(EventKind::Remove(RemoveKind::File), "app.db-wal"));
        assert!(!event(modify, "app.db-shm"));
        assert!(!event(modify, "other.db-wal"));
        assert!(!event(EventKind::Access(AccessKind::Any), "app.db"));
        assert!(concerns(&Event::new(EventKind::Other).set_flag(Flag::Rescan), &names));
    }
}
