-- What may be deleted, at most so many of each: done rows, through event_queue_done; dead-lettered ones, through
-- event_queue_dead; ledger rows whose event cannot come back, as no unfinished or dead queue row has its id: finished
-- ones, through processed_events_finished, and those of an event that its bus has lost, one handler after the other
-- through processed_events_released. A read, so that looking past what must stay holds nobody up.
-- $1 done before, $2 dead before, $3 ledger before, $4 most
WITH RECURSIVE handlers (handler) AS (
    SELECT min(handler) FROM processed_events WHERE status = 'released'
    UNION ALL
    SELECT (SELECT min(p.handler) FROM processed_events AS p WHERE p.status = 'released' AND p.handler > h.handler)
    FROM handlers AS h WHERE h.handler IS NOT NULL
)
SELECT json_object(
    'rows', (
        SELECT json_group_array(id) FROM (
            SELECT id FROM (
                SELECT id FROM event_queue WHERE status = 'done' AND finished_at <= $1 LIMIT $4)
            UNION ALL
            SELECT id FROM (
                SELECT id FROM event_queue WHERE status = 'dead_lettered' AND finished_at <= $2 LIMIT $4)
            LIMIT $4
        )
    ),
    'claims', (
        SELECT json_group_array(json_array(event_id, handler)) FROM (
            SELECT event_id, handler FROM (
                SELECT p.event_id, p.handler FROM processed_events AS p
                WHERE p.status IN ('done', 'dead') AND p.processed_at <= $3
                  AND NOT EXISTS (
                      SELECT 1 FROM event_queue AS q WHERE q.event_id = p.event_id AND q.status <> 'done')
                LIMIT $4)
            UNION ALL
            SELECT event_id, handler FROM (
                SELECT p.event_id, p.handler
                FROM handlers AS h
                CROSS JOIN processed_events AS p ON p.handler = h.handler
                WHERE p.status = 'released' AND p.lease_until <= $3
                  AND NOT EXISTS (
                      SELECT 1 FROM event_queue AS q WHERE q.event_id = p.event_id AND q.status <> 'done')
                LIMIT $4)
            LIMIT $4
        )
    )
);
