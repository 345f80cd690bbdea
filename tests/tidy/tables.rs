//! Names that others rely on stand in the tables that say so.

use crate::repository::{assert_none, files_ending, text};

#[test]
fn every_event_and_metric_of_telemetry_is_in_its_table() {
    let page = text("outbox-core/src/telemetry.rs");
    let table: Vec<&str> = page.lines().filter(|line| line.starts_with("//! |")).collect();
    let mut findings = Vec::new();
    for file in files_ending(".rs").iter().filter(|file| file.contains("src/")) {
        let source = text(file);
        let events = quoted_after(&source, "name: ");
        let metrics = ["counter!(", "gauge!(", "histogram!("].map(|macro_| quoted_after(&source, macro_));
        let names = metrics.into_iter().flatten().chain(events).filter(|name| name.starts_with("outbox"));
        let missing = names.filter(|name| !table.iter().any(|line| line.contains(&format!("`{name}`"))));
        findings.extend(missing.map(|name| format!("{file}: `{name}`")));
    }
    assert_none("names of telemetry are API, so the table in telemetry.rs has them all:", &findings);
}

#[test]
fn every_variable_is_in_the_tables_of_settings() {
    let mut findings = Vec::new();
    let list = text("src/variables.rs");
    let known = list.split_once("const KNOWN").and_then(|(_, rest)| rest.split_once("];"));
    let (known, _) = known.expect("the variables are a list in src/variables.rs");
    let variables: Vec<&str> = known.split('"').filter(|name| name.starts_with("EVENT_")).collect();
    assert!(!variables.is_empty(), "no variable was found");
    for page in ["docs/operations.md", "src/app.rs"] {
        let table: Vec<String> =
            text(page).lines().filter(|line| line.contains('|')).map(str::to_owned).collect();
        let missing =
            variables.iter().filter(|name| !table.iter().any(|line| line.contains(&format!("`{name}`"))));
        findings.extend(missing.map(|name| format!("{page}: `{name}`")));
    }
    assert_none("a setting that is not in the table is not known:", &findings);
}

/// What stands between quotes directly behind `start`.
fn quoted_after(source: &str, start: &str) -> Vec<String> {
    let opening = format!("{start}\"");
    let rest = source.split(&opening).skip(1);
    rest.filter_map(|rest| rest.split_once('"')).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn names_are_found_behind_what_they_follow() {
    let source = r#"warn!(name: "outbox.unhandled", "text"); counter!("outbox_dead_total", "handler" => h)"#;
    assert_eq!(quoted_after(source, "name: "), ["outbox.unhandled"]);
    assert_eq!(quoted_after(source, "counter!("), ["outbox_dead_total"]);
}
