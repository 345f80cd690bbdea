-- For a worker whose ledger is not in this database, and for the relay: whole rows, one of a key at a time.
-- $2 {owner}
INSERT INTO temp.pair (row_id, event_id, handler, owner, lease_until, lost)
SELECT q.id, q.event_id, '', $2 ->> 'owner', 0, 0
FROM temp.candidate AS c
CROSS JOIN event_queue AS q ON q.id = c.id
WHERE q.event_key IS NULL OR NOT EXISTS (
    SELECT 1 FROM event_queue AS e
    WHERE e.event_key = q.event_key AND e.event_type = q.event_type AND e.id < q.id
      AND e.status <> 'done' AND e.status IN ('pending', 'processing')
)
ORDER BY c.due, c.id;
