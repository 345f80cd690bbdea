-- States of rows that the queue does not know: nobody would ever claim these rows. Scans the table, once, at adoption.
SELECT CASE WHEN status IS NULL THEN 'NULL' ELSE quote(status) END, count(*)
FROM event_queue
WHERE status IS NULL OR status NOT IN ('pending', 'processing', 'done', 'dead_lettered')
GROUP BY status ORDER BY status LIMIT 20
