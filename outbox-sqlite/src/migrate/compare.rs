//! What is different about tables that were there before us.

use super::schema::{Column, Schema, Table};
use super::script::Names;

/// One sentence for each difference between the tables and indexes of a database and those of the model that would keep
/// ours from working. Columns in `to_come` may be missing: a migration that is still to run adds them.
pub(super) fn differences(actual: &Schema, model: &Schema, to_come: &Names) -> Vec<String> {
    let mut found = Vec::new();
    for (name, expected) in &model.tables {
        if let Some(table) = actual.tables.get(name) {
            compare_tables(name, table, expected, to_come, &mut found);
        } else if actual.indexes.contains_key(name) {
            found.push(format!("{name} is an index, not a table"));
        }
    }
    for (name, expected) in &model.indexes {
        match actual.indexes.get(name) {
            Some(sql) if normal(sql) != normal(expected) => {
                found.push(format!(
                    "index {name} is not `{}`: drop it, and it will be created",
                    normal(expected)
                ));
            }
            None if actual.tables.contains_key(name) => {
                found.push(format!("{name} is a table, not an index"));
            }
            _ => {}
        }
    }
    found
}

fn compare_tables(name: &str, actual: &Table, expected: &Table, to_come: &Names, found: &mut Vec<String>) {
    if actual.kind != "table" {
        found.push(format!("{name} is a {}, not a table", actual.kind));
        return;
    }
    if actual.without_rowid && !expected.without_rowid {
        found.push(format!("{name} is WITHOUT ROWID, so that SQLite does not number its rows"));
    }
    for column in &expected.columns {
        let full_name = format!("{name}.{}", column.name);
        match actual.column(&column.name) {
            Some(there) => found.extend(compare_columns(&full_name, there, column)),
            None if to_come.contains(&full_name) => {}
            None => found.push(format!("{full_name} ({}) is missing", column.declared)),
        }
    }
    for extra in actual.columns.iter().filter(|extra| expected.column(&extra.name).is_none()) {
        if extra.not_null && extra.default.is_none() && !extra.generated {
            found.push(format!(
                "{name}.{} is NOT NULL without a default, so that rows without it are refused",
                extra.name
            ));
        }
    }
}

fn compare_columns(name: &str, actual: &Column, expected: &Column) -> Vec<String> {
    let mut found = Vec::new();
    // Only this exact word makes a primary key the row's number.
    let exact = expected.key_part > 0 && expected.declared == "INTEGER";
    let same_type =
        if exact { actual.declared == expected.declared } else { actual.affinity() == expected.affinity() };
    if !same_type {
        let declared = if actual.declared.is_empty() { "without a type" } else { &actual.declared };
        found.push(format!("{name} is {declared}, not {}", expected.declared));
    }
    if actual.key_part != expected.key_part {
        found.push(match expected.key_part {
            0 => format!("{name} is part of the primary key"),
            place => format!("{name} is not column {place} of the primary key"),
        });
    }
    if actual.generated {
        found.push(format!("{name} is a generated column"));
    }
    // An event's id is set by every writer of ours, so that a queue may insist on it.
    if actual.not_null && !expected.not_null && !name.ends_with(".event_id") {
        found.push(format!("{name} is NOT NULL, and must allow NULL"));
    }
    if let (Some(default), None) = (&expected.default, &actual.default) {
        found.push(format!("{name} has no default, and must default to {default}"));
    }
    found
}

/// A statement with single spaces, as far as that shows a difference.
fn normal(sql: &str) -> String {
    let words: Vec<&str> = sql.split_whitespace().collect();
    words.join(" ").replace("( ", "(").replace(" )", ")").replace('"', "")
}
