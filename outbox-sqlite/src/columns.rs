//! Reading columns whatever they hold: a queue that was adopted need not be STRICT, and a foreign writer may have put
//! anything into it. One odd row must not keep an operator from seeing the others.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, TypeInfo, ValueRef};

/// The text of a column, `None` for NULL. Numbers are printed; bytes that are no UTF-8 are replaced.
pub(crate) fn text(row: &SqliteRow, column: &str) -> Result<Option<String>, sqlx::Error> {
    let bytes: Option<Vec<u8>> = row.try_get_unchecked(column)?;
    let lossy = |error: std::string::FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
    Ok(bytes.map(|bytes| String::from_utf8(bytes).unwrap_or_else(lossy)))
}

/// The texts in a column of several rows.
pub(crate) fn texts(rows: &[SqliteRow], column: &str) -> Result<Vec<String>, sqlx::Error> {
    rows.iter().filter_map(|row| text(row, column).transpose()).collect()
}

/// The whole number in a column, `None` for NULL and for what is no number.
pub(crate) fn number(row: &SqliteRow, column: &str) -> Result<Option<i64>, sqlx::Error> {
    let is_number = matches!(row.try_get_raw(column)?.type_info().name(), "INTEGER" | "REAL");
    if is_number { row.try_get_unchecked(column) } else { Ok(None) }
}

/// A number that counts something: negative ones as 0, too large ones as the largest.
pub(crate) fn count(row: &SqliteRow, column: &str) -> Result<u32, sqlx::Error> {
    Ok(clamped(number(row, column)?.unwrap_or(0)))
}

/// See [`count`].
pub(crate) fn clamped(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{AssertSqlSafe, ConnectOptions};

    use super::*;

    async fn value(expression: &str) -> SqliteRow {
        let mut connection = SqliteConnectOptions::new().filename(":memory:").connect().await.unwrap();
        let query = format!("SELECT {expression} AS value");
        sqlx::query(AssertSqlSafe(query)).fetch_one(&mut connection).await.unwrap()
    }

    #[tokio::test]
    async fn every_kind_of_value_can_be_read_as_text_and_as_a_number() {
        for (expression, expected_text, expected_number, expected_count) in [
            ("NULL", None, None, 0),
            ("'infinity'", Some("infinity"), None, 0),
            ("-1", Some("-1"), Some(-1), 0),
            ("316541347200000", Some("316541347200000"), Some(316_541_347_200_000), u32::MAX),
            ("7", Some("7"), Some(7), 7),
            ("2.9", Some("2.9"), Some(2), 2),
            ("x'41ff'", Some("A\u{fffd}"), None, 0),
            ("CAST(x'41ff' AS TEXT)", Some("A\u{fffd}"), None, 0),
        ] {
            let row = value(expression).await;
            assert_eq!(text(&row, "value").unwrap().as_deref(), expected_text, "{expression}");
            assert_eq!(number(&row, "value").unwrap(), expected_number, "{expression}");
            assert_eq!(count(&row, "value").unwrap(), expected_count, "{expression}");
        }
    }
}
