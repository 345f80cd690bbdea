-- Handlers that events wait for and that have not begun with them, through processed_events_released.
SELECT p.handler, count(*)
FROM processed_events AS p
WHERE p.status = 'released' AND p.started_at = 0
GROUP BY p.handler;
