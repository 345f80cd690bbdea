//! What tables a database has, and what our migrations make of an empty one.

use std::collections::BTreeMap;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};

use super::error::{MigrateError, failed};
use super::script::{MIGRATIONS, Names};

/// Tables and indexes by name. Names are in lower case, as SQLite does not tell case apart.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) tables: BTreeMap<String, Table>,
    /// By name, the statement that created it.
    pub(super) indexes: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(super) struct Table {
    /// `table`, `view`, `virtual`.
    pub(super) kind: String,
    pub(super) without_rowid: bool,
    pub(super) columns: Vec<Column>,
}

#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// As declared, in upper case.
    pub(super) declared: String,
    pub(super) not_null: bool,
    /// The expression, as written.
    pub(super) default: Option<String>,
    /// Place in the primary key, from 1; 0 outside of it.
    pub(super) key_part: i64,
    pub(super) generated: bool,
}

type ColumnRow = (String, String, bool, String, String, bool, Option<String>, i64, i64);

impl Schema {
    /// Reads the schema of a database.
    pub(super) async fn read(connection: &mut SqliteConnection) -> Result<Self, MigrateError> {
        let failed = failed("read the database's schema");
        let columns: Vec<ColumnRow> = sqlx::query_as(include_str!("../sql/migrate_columns.sql"))
            .fetch_all(&mut *connection)
            .await
            .map_err(&failed)?;
        let indexes = sqlx::query_as(include_str!("../sql/migrate_indexes.sql"))
            .fetch_all(connection)
            .await
            .map_err(&failed)?;
        let mut schema = Self { indexes: indexes.into_iter().collect(), ..Self::default() };
        for (table, kind, without_rowid, name, declared, not_null, default, key_part, hidden) in columns {
            let columns = Vec::new();
            let table = schema.tables.entry(table).or_insert(Table { kind, without_rowid, columns });
            let generated = hidden != 0;
            table.columns.push(Column { name, declared, not_null, default, key_part, generated });
        }
        Ok(schema)
    }

    /// The connection to an empty database that all of our migrations ran on, to compare others with.
    pub(super) async fn model() -> Result<SqliteConnection, MigrateError> {
        let failed = failed("build the tables to compare with");
        let memory = SqliteConnectOptions::new().filename(":memory:");
        let mut connection = memory.connect().await.map_err(&failed)?;
        for migration in MIGRATIONS {
            let script = migration.up_without(&Names::new());
            sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut connection).await.map_err(&failed)?;
        }
        Ok(connection)
    }

    /// Whether there is a table, an index or a column (`table.column`) of that name.
    pub(super) fn contains(&self, name: &str) -> bool {
        match name.split_once('.') {
            Some((table, column)) => {
                self.tables.get(table).is_some_and(|table| table.column(column).is_some())
            }
            None => self.tables.contains_key(name) || self.indexes.contains_key(name),
        }
    }
}

impl Table {
    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl Column {
    /// How values are converted on their way into the column
    /// ([rules](https://www.sqlite.org/datatype3.html#determination_of_column_affinity)).
    pub(super) fn affinity(&self) -> &'static str {
        let has = |word| self.declared.contains(word);
        if has("INT") {
            "INTEGER"
        } else if has("CHAR") || has("CLOB") || has("TEXT") {
            "TEXT"
        } else if self.declared.is_empty() || has("BLOB") {
            "BLOB"
        } else if has("REAL") || has("FLOA") || has("DOUB") {
            "REAL"
        } else {
            "NUMERIC"
        }
    }
}
