-- Rows that were settled before the marks of their handlers came are settled again, through event_queue_event_id.
-- $3 [[event_id, …]]
INSERT OR IGNORE INTO temp.touched (id, examined)
SELECT q.id, 0
FROM json_each($3) AS c
CROSS JOIN event_queue AS q ON q.event_id = c.value ->> 0
WHERE q.status = 'pending';
