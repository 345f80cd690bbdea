-- The rows that may have something for this worker, at most `window`, in order of due time:
-- those of its types that wait for nothing it lacks, through event_queue_available; those with a handler that is due
-- again, through processed_events_released; those whose worker is gone, through event_queue_processing.
-- $9 now, $2 {probes: [{type, waits_for}], handlers: [{name, event_type, max_version}], window, expired_before}
INSERT INTO temp.candidate (id)
SELECT id FROM (
    SELECT q.id, q.available_at AS due
    FROM json_each($2, '$.probes') AS probe
    CROSS JOIN event_queue AS q
    WHERE q.id IN (
        SELECT a.id FROM event_queue AS a
        WHERE a.status = 'pending'
          AND a.event_type = probe.value ->> 'type'
          AND a.waits_for = probe.value ->> 'waits_for'
          AND a.available_at <= $9
        ORDER BY a.available_at, a.id
        LIMIT $2 ->> 'window'
    )
    UNION
    SELECT q.id, q.available_at
    FROM json_each($2, '$.handlers') AS h
    CROSS JOIN event_queue AS q
    WHERE q.event_id IN (
        SELECT p.event_id
        FROM processed_events AS p
        CROSS JOIN event_queue AS a ON a.event_id = p.event_id
        WHERE p.status = 'released'
          AND p.handler = h.value ->> 'name'
          AND p.lease_until <= $9
          AND a.status = 'pending'
          AND a.waits_for NOT IN ('', 'key')
          AND a.event_version <= h.value ->> 'max_version'
        ORDER BY p.lease_until
        LIMIT $2 ->> 'window'
    )
    UNION
    SELECT q.id, q.available_at
    FROM event_queue AS q
    WHERE q.status = 'processing'
      AND (q.claimed_at IS NULL OR q.claimed_at <= $2 ->> 'expired_before')
      AND EXISTS (SELECT 1 FROM json_each($2, '$.handlers') AS h WHERE q.event_type GLOB h.value ->> 'event_type')
)
ORDER BY due, id
LIMIT $2 ->> 'window';
