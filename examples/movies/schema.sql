-- The application's own tables. The library's tables lie beside them in the same database, which is what lets a movie and
-- its event, or a handler's effect and its ledger mark, commit together.

-- `number` is never used twice, so the search index cannot mistake a new movie for one that was deleted.
CREATE TABLE IF NOT EXISTS movie (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT NOT NULL UNIQUE,
    title        TEXT,
    release_date TEXT,
    director     TEXT,
    genre        TEXT,
    rating       REAL,
    poster       TEXT,
    reviews      INTEGER NOT NULL DEFAULT 0,
    stars        REAL
) STRICT;

CREATE TABLE IF NOT EXISTS review (
    number    INTEGER PRIMARY KEY AUTOINCREMENT,
    movie_id  TEXT NOT NULL REFERENCES movie (id),
    stars     INTEGER NOT NULL CHECK (stars BETWEEN 1 AND 5),
    text      TEXT NOT NULL,
    logged_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT;

CREATE INDEX IF NOT EXISTS review_of_movie ON review (movie_id);

CREATE TABLE IF NOT EXISTS watchlist (
    movie_id TEXT PRIMARY KEY REFERENCES movie (id)
) STRICT;

-- Kept by handlers: the full-text index, whose rowid is `movie.number` …
CREATE VIRTUAL TABLE IF NOT EXISTS movie_search USING fts5 (
    title, director, genre, tokenize = 'unicode61 remove_diacritics 2'
);

-- … and counters, which are right only because each change commits together with its ledger mark.
CREATE TABLE IF NOT EXISTS genre_stats (
    genre  TEXT PRIMARY KEY,
    movies INTEGER NOT NULL DEFAULT 0,
    wanted INTEGER NOT NULL DEFAULT 0
) STRICT;
