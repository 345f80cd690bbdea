//! The examples end to end, in release, the way a reader would try them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use tempfile::TempDir;

use crate::process::{Finished, capture, cargo, target};

/// How long one run may take on a slow machine before it counts as stuck.
const LIMIT: Duration = Duration::from_secs(180);

/// How long the run after a crash may take: the dead process's leases of 5 s, and the rest of the work.
const RESUMED: Duration = Duration::from_secs(60);

/// What the movies example prints when everything fits together.
const COMPLETE: &str = "movies 3201 = index rows 3201 = posters 3201";

/// Imports all movies, searches, imports again, and crashes and resumes in another folder.
///
/// # Errors
///
/// When a run ends otherwise than it should; its output is shown.
pub(crate) fn movies() -> Result<()> {
    let movies = Movies::build()?;
    let text = movies.succeeds(&[])?;
    expect(&text, COMPLETE)?;
    print!("{text}");
    expect(&movies.succeeds(&["search", "hamlet"])?, "hamlet-1996")?;
    expect(&movies.succeeds(&["import"])?, "imported  0 movies")?;

    let crashed = Movies::build()?;
    for runs in ["1", "500", "4000"] {
        let Finished { success, text } = crashed.run(&["--crash-after", runs])?;
        ensure!(!success, "the program was to abort after {runs} handler runs:\n{text}");
    }
    let started = Instant::now();
    expect(&crashed.succeeds(&[])?, COMPLETE)?;
    let time = started.elapsed();
    ensure!(time < RESUMED, "after the crashes the import took {time:?}");
    println!("crashed   three times; the last run finished in {:.1} s", time.as_secs_f64());
    Ok(())
}

/// Runs the smallest example.
///
/// # Errors
///
/// When it fails or does not show its handler's work.
pub(crate) fn quickstart() -> Result<()> {
    let Finished { success, text } = capture(&build("quickstart")?, &[], LIMIT)?;
    ensure!(success, "quickstart failed:\n{text}");
    expect(&text, "Welcome, Heat!")
}

/// The movies program with a data folder of its own.
struct Movies {
    program: PathBuf,
    folder: TempDir,
}

impl Movies {
    fn build() -> Result<Self> {
        Ok(Self { program: build("movies")?, folder: tempfile::tempdir()? })
    }

    fn run(&self, arguments: &[&str]) -> Result<Finished> {
        let folder = self.folder.path().to_string_lossy();
        let arguments = [&["--data", &*folder], arguments].concat();
        capture(&self.program, &arguments, LIMIT)
    }

    fn succeeds(&self, arguments: &[&str]) -> Result<String> {
        let Finished { success, text } = self.run(arguments)?;
        ensure!(success, "movies {} failed:\n{text}", arguments.join(" "));
        Ok(text)
    }
}

/// Builds an example in release and returns where it lies.
fn build(name: &str) -> Result<PathBuf> {
    cargo(&["build", "--release", "--quiet", "--locked", "--example", name])?;
    let program = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    Ok(target().join("release/examples").join(program))
}

fn expect(text: &str, part: &str) -> Result<()> {
    if !text.contains(part) {
        bail!("the output lacks `{part}`:\n{text}");
    }
    Ok(())
}
