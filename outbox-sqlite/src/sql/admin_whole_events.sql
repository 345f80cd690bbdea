-- How many of these rows are dead-lettered as a whole, through their numbers.
-- $1 [[row, event_id, handler]]
SELECT count(*)
FROM json_each($1) AS found
CROSS JOIN event_queue AS q ON q.id = found.value ->> 0
WHERE found.value ->> 2 IS NULL AND q.status = 'dead_lettered';
