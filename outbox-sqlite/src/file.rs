//! The database's file, which may be deleted or replaced while connections have it open.
//!
//! SQLite goes on reading and writing a file that has lost its name, and what is written there is gone with the last
//! process that has it open. So the path is looked at before a connection is used: a microsecond per transaction.

use std::fs::Metadata;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use outbox_core::{StoreError, StoreErrorKind};

/// The file at the database's path, as it was when it was last looked at.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    /// `None` until there is a file.
    identity: Option<Identity>,
    is_gone: bool,
    /// When it was last found to be another file than before.
    replaced: Option<Instant>,
    /// How often a file came to this path after another, or after none.
    arrivals: u64,
}

/// What a connection has open, compared with what the path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is the same file.
    Same,
    /// The path leads nowhere.
    Gone,
    /// The path leads to another file.
    Replaced,
}

/// Device and inode.
type Identity = (u64, u64);

impl DatabaseFile {
    /// The file at `path`, which need not be there yet. The path goes on leading there if the process changes its
    /// directory.
    pub(crate) fn new(path: PathBuf) -> Self {
        let path = std::path::absolute(&path).unwrap_or(path);
        let identity = std::fs::metadata(&path).ok().and_then(|metadata| identity(&metadata));
        let seen = Seen { identity, is_gone: false, replaced: None, arrivals: 0 };
        Self { path, seen: Mutex::new(seen) }
    }

    /// Bytes of the write-ahead log beside it; 0 if there is none.
    pub(crate) fn log_bytes(&self) -> u64 {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        std::fs::metadata(PathBuf::from(log)).map_or(0, |metadata| metadata.len())
    }

    /// Where a connection stands that was about to be opened at that moment.
    pub(crate) fn place(&self, opened: Instant) -> Place {
        let found = std::fs::metadata(&self.path);
        let mut seen = self.seen();
        let now = match found {
            Ok(metadata) => identity(&metadata),
            // What was never there is not gone: the path is not spelled as the file system has it.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && seen.identity.is_some() => {
                seen.is_gone = true;
                return Place::Gone;
            }
            // It cannot be told. The next statement will say more.
            Err(_) => return Place::Same,
        };
        let is_another = seen.identity != now;
        // A file that was not there when this was made has only been created.
        if is_another && seen.identity.is_some() {
            seen.replaced = Some(Instant::now());
        }
        if is_another || seen.is_gone {
            seen.arrivals += 1;
        }
        (seen.identity, seen.is_gone) = (now, false);
        if seen.replaced.is_some_and(|replaced| opened < replaced) { Place::Replaced } else { Place::Same }
    }

    /// The failure that is reported for a connection in that place, unless it is in its own.
    pub(crate) fn check(&self, opened: Instant) -> Result<(), (Place, StoreError)> {
        let place = self.place(opened);
        let what = match place {
            Place::Same => return Ok(()),
            Place::Gone => {
                "was deleted or moved while it was open, and nothing more is written to it: put it back, or restore it \
                 from a backup without the old `-wal` and `-shm` files"
            }
            Place::Replaced => {
                "was replaced while it was open; what was written last to the old one is not in it"
            }
        };
        let message = format!("the database file {} {what}", self.path.display());
        Err((place, StoreError::new(StoreErrorKind::Unavailable, message)))
    }

    /// Grows when a file comes to this path in which things may be missing that were in the one before.
    pub(crate) fn arrivals(&self) -> u64 {
        self.seen().arrivals
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// Elsewhere a file that is open can be neither deleted nor replaced.
#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<Identity> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_deleted_replaced_or_put_back_is_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let [path, aside] = ["app.db", "aside"].map(|name| directory.path().join(name));
        let file = DatabaseFile::new(path.clone());
        let opened = Instant::now();
        assert_eq!(file.place(opened), Place::Same, "nothing that was there is missing");
        fs::write(&path, "1").unwrap();
        assert_eq!(file.place(opened), Place::Same);
        let at_first = file.arrivals();
        fs::rename(&path, &aside).unwrap();
        assert_eq!(file.place(opened), Place::Gone);
        fs::rename(&aside, &path).unwrap();
        assert_eq!(file.place(opened), Place::Same, "it was put back");
        assert_eq!(file.arrivals(), at_first + 1, "which cannot be told from another with its number");
        fs::write(&aside, "2").unwrap();
        fs::rename(&aside, &path).unwrap();
        assert_eq!(file.place(opened), Place::Replaced);
        assert_eq!(file.place(Instant::now()), Place::Same, "opened since then");
        assert_eq!(file.arrivals(), at_first + 2);
        let text = file.check(opened).unwrap_err().1.to_string();
        assert!(text.contains("app.db was replaced while it was open"), "{text}");
    }
}
