-- Rows of this worker's types that wait for nothing it lacks, at most `window` of each kind, in order of due time, through
-- event_queue_available.
-- $9 now, $2 {probes: [{type, waits_for}], window}
INSERT INTO temp.candidate (id, due)
SELECT q.id, q.available_at
FROM json_each($2, '$.probes') AS probe
CROSS JOIN event_queue AS q
WHERE q.id IN (
    SELECT a.id FROM event_queue AS a INDEXED BY event_queue_available
    WHERE a.status = 'pending'
      AND a.event_type = probe.value ->> 'type'
      AND a.waits_for = probe.value ->> 'waits_for'
      AND a.available_at <= $9
    ORDER BY a.available_at, a.id
    LIMIT $2 ->> 'window'
);
