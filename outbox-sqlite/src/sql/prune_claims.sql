-- Ledger rows that are old enough and whose event cannot come back: no unfinished or dead queue row has its id. Through
-- processed_events_finished.
-- $1 finished before, $2 most rows
DELETE FROM processed_events
WHERE (event_id, handler) IN (
    SELECT p.event_id, p.handler FROM processed_events AS p
    WHERE p.status IN ('done', 'dead') AND p.processed_at <= $1
      AND NOT EXISTS (SELECT 1 FROM event_queue AS q WHERE q.event_id = p.event_id AND q.status <> 'done')
    LIMIT $2
);
