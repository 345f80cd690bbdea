//! A file holds one idea, so it stays short; what is too long may only shrink.

use std::collections::BTreeMap;

use crate::repository::{assert_none, files_ending, text};

/// Lines a source file may have.
const LIMIT: usize = 300;

/// `lines path` of each file that is still longer than [`LIMIT`].
const EXCEPTIONS: &str = "tests/tidy/long-files.txt";

#[test]
fn source_files_stay_short() {
    let exceptions = exceptions();
    let mut findings = Vec::new();
    let sources =
        files_ending(".rs").into_iter().filter(|name| name.starts_with("src/") || name.contains("/src/"));
    let lengths: BTreeMap<String, usize> =
        sources.map(|name| (name.clone(), text(&name).lines().count())).collect();
    for (name, &lines) in &lengths {
        let allowed = exceptions.get(name).copied().unwrap_or(LIMIT);
        if lines > allowed {
            findings.push(format!("{name} has {lines} lines, {allowed} are allowed: split it by idea"));
        }
    }
    for (name, &allowed) in &exceptions {
        match lengths.get(name) {
            None => findings.push(format!("{name} is gone: remove it from {EXCEPTIONS}")),
            Some(&lines) if lines <= LIMIT => {
                findings.push(format!("{name} is short: remove it from {EXCEPTIONS}"));
            }
            Some(&lines) if lines < allowed => {
                findings.push(format!("{name} shrank: write {lines} in {EXCEPTIONS}"));
            }
            Some(_) => {}
        }
    }
    assert_none("source files hold one idea each:", &findings);
}

fn exceptions() -> BTreeMap<String, usize> {
    let text = text(EXCEPTIONS);
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (lines, name) = line.split_once(' ').unwrap_or_else(|| panic!("{EXCEPTIONS}: `{line}`"));
            (name.to_owned(), lines.parse().unwrap_or_else(|_| panic!("{EXCEPTIONS}: `{line}`")))
        })
        .collect()
}
