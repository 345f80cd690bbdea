-- The rows that were changed, for wake_key.sql and requeue.sql.
-- $1 [[row]]
INSERT OR IGNORE INTO temp.touched (id, examined)
SELECT value ->> 0, 0 FROM json_each($1);
