//! A migration that has run somewhere is history: it is never edited, only followed by the next one.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::repository::{assert_none, files, files_ending, text};

/// The checksum of every migration, in the format of `sha256sum`, so that `sha256sum --check` reads it, too.
const SUMS: &str = "migrations/SHA256SUMS";

#[test]
fn landed_migrations_are_never_edited() {
    let recorded = recorded();
    let mut findings = Vec::new();
    for name in migrations() {
        let sum = sum(&text(&name));
        let relative = name.strip_prefix("migrations/").expect("migrations lie in their folder");
        match recorded.get(relative) {
            None => findings.push(format!("{name} is new: add `{sum}  {relative}` to {SUMS}")),
            Some(landed) if *landed != sum => {
                findings.push(format!("{name} was edited: restore it and add another migration"));
            }
            Some(_) => {}
        }
    }
    let present = migrations();
    for relative in recorded.keys() {
        if !present.contains(&format!("migrations/{relative}")) {
            findings.push(format!("migrations/{relative} was removed: databases out there have run it"));
        }
    }
    assert_none("migrations are append-only:", &findings);
}

#[test]
fn every_migration_can_be_reversed() {
    let all = files();
    let mut findings = Vec::new();
    for name in migrations() {
        let twin = match name.strip_suffix(".up.sql") {
            Some(stem) => format!("{stem}.down.sql"),
            None => name.replace(".down.sql", ".up.sql"),
        };
        if !all.contains(&twin) {
            findings.push(format!("{name} lacks {twin}"));
        }
    }
    assert_none("migrations come in pairs of .up.sql and .down.sql:", &findings);
}

#[test]
fn migrations_are_numbered_without_gaps() {
    let mut numbers: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for name in migrations().iter().filter(|name| name.ends_with(".up.sql")) {
        let (folder, file) = name.rsplit_once('/').expect("migrations lie in a folder");
        let number = file.split('_').next().and_then(|digits| digits.parse().ok());
        let number = number.unwrap_or_else(|| panic!("{name}: not named NNNN_what.up.sql"));
        numbers.entry(folder.to_owned()).or_default().push(number);
    }
    for (folder, mut numbers) in numbers {
        numbers.sort_unstable();
        let expected: Vec<u32> = (1..).take(numbers.len()).collect();
        assert_eq!(numbers, expected, "{folder}: two branches took the same number, or one was left out");
    }
}

fn migrations() -> Vec<String> {
    files_ending(".sql").into_iter().filter(|name| name.starts_with("migrations/")).collect()
}

fn recorded() -> BTreeMap<String, String> {
    let text = text(SUMS);
    let lines = text.lines().map(|line| line.split_once("  ").unwrap_or_else(|| panic!("{SUMS}: `{line}`")));
    lines.map(|(sum, name)| (name.to_owned(), sum.to_owned())).collect()
}

fn sum(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
