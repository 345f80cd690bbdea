-- Rows with a handler of this worker that is due again, at most `window` of each, through processed_events_released; also
-- of rows that are due for the others only when a lease ends.
-- $9 now, $2 {handlers: [{name, max_version}], window}
INSERT OR IGNORE INTO temp.candidate (id, due)
SELECT q.id, q.available_at
FROM json_each($2, '$.handlers') AS h
CROSS JOIN event_queue AS q
WHERE q.id IN (
    SELECT a.id
    FROM processed_events AS p INDEXED BY processed_events_released
    CROSS JOIN event_queue AS a ON a.event_id = p.event_id
    WHERE p.status = 'released'
      AND p.handler = h.value ->> 'name'
      AND p.lease_until <= $9
      AND a.status = 'pending'
      AND a.waits_for <> 'key' AND (a.waits_for <> '' OR a.available_at > $9)
      AND a.event_version <= h.value ->> 'max_version'
    ORDER BY p.lease_until
    LIMIT $2 ->> 'window'
);
