//! The rate of claims, and what a worker's process takes, with a million rows waiting: to be handled, of a type nobody
//! handles, or behind one blocked key.

mod claims;
mod kinds;

use anyhow::{Result, ensure};

use self::claims::Claimant;
use self::kinds::{Kind, READY};
use crate::arguments::Scale;
use crate::children::{self, Task};
use crate::database::{Database, MODES};
use crate::report::{self, Target};
use crate::rounds::compare;
use crate::worker::CONCURRENCY;

/// Claims of one round, of [`claims::MAX`] rows each.
const CALLS: usize = 40;

pub(crate) async fn run(scale: Scale) -> Result<()> {
    let backlog = scale.rows(1_000_000);
    let few = Kind::Handled.build(READY).await?;
    for kind in Kind::ALL {
        let many = kind.build(backlog).await?;
        if kind == Kind::ForeignKey {
            put_aside(&many, backlog).await?;
        }
        claim_rates(scale, kind, backlog, &few, &many).await?;
        memory(kind, backlog, &many).await?;
    }
    Ok(())
}

async fn claim_rates(
    scale: Scale,
    kind: Kind,
    backlog: usize,
    few: &Database,
    many: &Database,
) -> Result<()> {
    let calls = if scale.quick { 2 } else { CALLS };
    for (synchronous, mode) in MODES {
        let of_few = Claimant::new(few, synchronous).await?;
        let of_many = Claimant::new(many, synchronous).await?;
        let comparison =
            compare(scale.rounds(), async || of_many.claim(calls).await, async || of_few.claim(calls).await)
                .await?;
        report::ratio(
            &format!("claims, {backlog} {}, {mode}", kind.about()),
            &comparison,
            Target::AtLeast(0.9),
            &format!("beside a backlog of {READY}; 1 caller, {calls} claims of {} rows; {mode}", claims::MAX),
        );
    }
    Ok(())
}

/// The first encounter with rows that only a claim can tell to be blocked.
async fn put_aside(database: &Database, backlog: usize) -> Result<()> {
    let seconds = Claimant::put_aside(database, backlog).await?;
    report::figure(
        &format!("putting {backlog} foreign rows aside"),
        seconds,
        "s, once",
        None,
        &format!("{} rows/s; NORMAL", report::rate(backlog as f64 / seconds)),
    );
    Ok(())
}

async fn memory(kind: Kind, backlog: usize, database: &Database) -> Result<()> {
    let handled = READY / 2;
    let (mode, name) = MODES[1];
    let lines = children::spawn(Task::Work, &database.file(), mode, handled).await?;
    let [line] = &lines[..] else {
        anyhow::bail!("the worker's process printed {} lines", lines.len());
    };
    ensure!(line.len() == 2, "the worker's process printed {line:?}");
    report::figure(
        &format!("worker's memory, {backlog} {}", kind.about()),
        line[0],
        "MiB",
        Some(Target::AtMost(64.0)),
        &format!(
            "peak resident set of its process while it handled {handled} events, {} /s, concurrency {CONCURRENCY}, {name}",
            report::rate(line[1])
        ),
    );
    Ok(())
}
