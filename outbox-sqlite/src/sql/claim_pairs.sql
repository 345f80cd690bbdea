-- Single claims that may be granted now, under negative row numbers.
-- $9 now, $8 [{n, event_id, handler, owner, lease_ms, max_attempts}]
INSERT INTO temp.pair (row_id, event_id, handler, owner, lease_until, lost)
SELECT -(r.value ->> 'n') - 1, r.value ->> 'event_id', r.value ->> 'handler', r.value ->> 'owner',
       $9 + (r.value ->> 'lease_ms'),
       coalesce(p.attempts >= r.value ->> 'max_attempts', 0)
FROM json_each($8) AS r
LEFT JOIN processed_events AS p ON p.event_id = r.value ->> 'event_id' AND p.handler = r.value ->> 'handler'
WHERE p.status IS NULL OR (p.status IN ('released', 'in_progress') AND p.lease_until <= $9);
