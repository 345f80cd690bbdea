-- Dead letters: handlers that gave up, through processed_events_finished, and events that were given up as a whole,
-- through event_queue_dead.
SELECT (
    SELECT count(*) FROM processed_events AS p
    WHERE p.status = 'dead' AND p.processed_at IS NOT NULL
      AND EXISTS (SELECT 1 FROM event_queue AS q WHERE q.event_id = p.event_id)
) + (
    SELECT count(*) FROM event_queue AS q
    WHERE q.status = 'dead_lettered' AND q.finished_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM processed_events AS p WHERE p.event_id = q.event_id AND p.status = 'dead')
);
