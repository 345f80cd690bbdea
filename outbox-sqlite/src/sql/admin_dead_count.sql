-- Dead letters: handlers that gave up, and events that were given up as a whole.
SELECT (
    SELECT count(*) FROM processed_events AS p
    WHERE p.status = 'dead' AND p.processed_at IS NOT NULL
      AND EXISTS (SELECT 1 FROM event_queue AS q WHERE q.event_id = p.event_id)
) + (
    SELECT count(*) FROM event_queue AS q
    WHERE q.status = 'dead_lettered'
      AND NOT EXISTS (SELECT 1 FROM processed_events AS p WHERE p.event_id = q.event_id AND p.status = 'dead')
);
