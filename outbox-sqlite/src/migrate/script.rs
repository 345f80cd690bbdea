//! The migrations themselves, and their statements.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

/// A migration, with the script that reverses it.
#[derive(Debug)]
pub(super) struct Migration {
    pub(super) version: u32,
    pub(super) name: &'static str,
    up: &'static str,
    down: &'static str,
}

macro_rules! migration {
    ($version:literal, $name:literal) => {
        Migration {
            version: $version,
            name: $name,
            up: include_str!(concat!("../../../migrations/sqlite/000", $version, "_", $name, ".up.sql")),
            down: include_str!(concat!("../../../migrations/sqlite/000", $version, "_", $name, ".down.sql")),
        }
    };
}

/// All of them, by version, without gaps from 1.
pub(super) static MIGRATIONS: &[Migration] = &[migration!(1, "event_queue"), migration!(2, "ledger")];

/// The newest version.
pub(super) fn newest() -> u32 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// Names of what a migration creates, in lower case: `table`, `index`, `table.column`.
pub(super) type Names = BTreeSet<String>;

impl Migration {
    /// SHA-256 of the script, in hex. A checkout with Windows line ends has the same.
    pub(super) fn checksum(&self) -> String {
        let text = self.up.replace("\r\n", "\n");
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What it creates.
    pub(super) fn creates(&self) -> Names {
        statements(self.up).filter_map(created).collect()
    }

    /// The script without the statements that create what is there already.
    pub(super) fn up_without(&self, present: &Names) -> String {
        statements(self.up).filter(|statement| !concerns(created(statement), present)).collect()
    }

    /// The reversing script without the statements that drop what was there before.
    pub(super) fn down_without(&self, kept: &Names) -> String {
        statements(self.down).filter(|statement| !concerns(dropped(statement), kept)).collect()
    }
}

fn concerns(name: Option<String>, names: &Names) -> bool {
    name.is_some_and(|name| names.contains(&name))
}

/// The statements of a script, each with the comments above it. In our scripts a statement ends where a line does.
fn statements(script: &str) -> impl Iterator<Item = &str> {
    script.split_inclusive(";\n").flat_map(|part| part.split_inclusive(";\r\n"))
}

/// What a statement creates.
fn created(statement: &str) -> Option<String> {
    match words(statement).iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["create", "table" | "index", name, ..] | ["create", "unique", "index", name, ..] => {
            Some(name.to_owned())
        }
        ["alter", "table", table, "add", "column", column, ..] => Some(format!("{table}.{column}")),
        _ => None,
    }
}

/// What a statement drops.
fn dropped(statement: &str) -> Option<String> {
    match words(statement).iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["drop", "table" | "index", name] => Some(name.to_owned()),
        ["alter", "table", table, "drop", "column", column] => Some(format!("{table}.{column}")),
        _ => None,
    }
}

/// The words of a statement in lower case, without its comments.
fn words(statement: &str) -> Vec<String> {
    let lines = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    let words = lines.flat_map(|line| line.split([' ', '(', ';'])).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_count_from_one_without_gaps() {
        let versions: Vec<u32> = MIGRATIONS.iter().map(|migration| migration.version).collect();
        assert_eq!(versions, (1..=newest()).collect::<Vec<_>>());
    }

    #[test]
    fn what_a_script_creates_its_reverse_drops() {
        for migration in MIGRATIONS {
            let dropped: Names = statements(migration.down).filter_map(dropped).collect();
            let mut created = migration.creates();
            // Indexes go with their table.
            created.retain(|name| !name.starts_with("processed_events_"));
            assert_eq!(dropped, created, "{:04}_{}", migration.version, migration.name);
        }
    }

    #[test]
    fn the_checksum_is_that_of_the_file_whatever_its_line_ends() {
        let unix = &MIGRATIONS[1];
        let windows = Migration { up: unix.up.replace('\n', "\r\n").leak(), ..*unix };
        assert_eq!(windows.checksum(), unix.checksum());
        assert_eq!(windows.creates(), unix.creates());
        let altered = Migration { up: unix.up.replace("TEXT", "text").leak(), ..*unix };
        assert_ne!(altered.checksum(), unix.checksum());
    }

    #[test]
    fn what_is_present_is_left_out_with_its_statement_only() {
        let ledger = &MIGRATIONS[1];
        let present = Names::from(["event_queue.claimed_at".to_owned(), "outbox_handlers".to_owned()]);
        let up = ledger.up_without(&present);
        assert!(
            !up.contains("ADD COLUMN claimed_at") && !up.contains("CREATE TABLE outbox_handlers"),
            "{up}"
        );
        assert!(up.contains("ADD COLUMN claimed_by") && up.contains("CREATE TABLE processed_events"), "{up}");
        let down = ledger.down_without(&present);
        assert!(!down.contains("COLUMN claimed_at") && down.contains("COLUMN claimed_by"), "{down}");
    }
}
