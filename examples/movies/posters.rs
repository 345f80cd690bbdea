//! The folder of posters: a movie's poster is there exactly when the movie is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sqlx::SqlitePool;
use uuid::Uuid;

use crate::drawing;

/// Suffix of a poster that is still being written.
const PARTIAL: &str = ".part";

/// The folder, and the catalogue that says which posters belong into it.
#[derive(Clone)]
pub(crate) struct Posters {
    folder: PathBuf,
    pool: SqlitePool,
}

impl Posters {
    /// Opens the folder and makes it if need be.
    ///
    /// What a crash left half written is removed. Should another process be writing such a file at this moment, its
    /// rename fails, and its handler is retried like any other.
    pub(crate) fn open(folder: PathBuf, pool: SqlitePool) -> Result<Self> {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.to_string_lossy().ends_with(PARTIAL) {
                remove(&path)?;
            }
        }
        Ok(Self { folder, pool })
    }

    /// Draws the movie's poster, or removes it if there is no such movie; returns the file's name where there is one.
    ///
    /// Files know no transactions, and the events of an addition and a deletion may be handled in either order, or
    /// twice. So the folder is changed first and the catalogue asked again after: whoever comes last sees the truth.
    pub(crate) async fn reconcile(&self, movie_id: &str) -> Result<Option<String>> {
        let file = format!("{movie_id}.svg");
        loop {
            let movie = self.movie(movie_id).await?;
            self.apply(&file, movie.as_ref()).await?;
            if self.movie(movie_id).await?.is_some() == movie.is_some() {
                return Ok(movie.map(|_| file));
            }
        }
    }

    /// The ids of the movies that have a poster.
    pub(crate) fn ids(&self) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            ids.extend(name.strip_suffix(".svg").map(str::to_owned));
        }
        Ok(ids)
    }

    async fn movie(&self, movie_id: &str) -> Result<Option<drawing::Movie>, sqlx::Error> {
        let select = "SELECT id, title, release_date, director, genre FROM movie WHERE id = ?";
        sqlx::query_as(select).bind(movie_id).fetch_optional(&self.pool).await
    }

    async fn apply(&self, file: &str, movie: Option<&drawing::Movie>) -> Result<()> {
        let path = self.folder.join(file);
        let drawing = movie.map(drawing::poster);
        let work = move || match drawing {
            Some(_) if path.exists() => Ok(()),
            Some(drawing) => write(&path, &drawing),
            None => remove(&path),
        };
        tokio::task::spawn_blocking(work).await?
    }
}

/// Writes beside the file and renames, so that nobody ever sees half a poster.
fn write(path: &Path, content: &str) -> Result<()> {
    let partial = path.with_extension(format!("{}{PARTIAL}", Uuid::new_v4()));
    fs::write(&partial, content).with_context(|| format!("cannot write {}", partial.display()))?;
    fs::rename(&partial, path).with_context(|| format!("cannot write {}", path.display()))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
