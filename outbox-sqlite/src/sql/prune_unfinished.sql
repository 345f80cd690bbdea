-- What the ledger still holds for handlers of dead-lettered rows that are about to be deleted: nobody will run them.
-- Through the rows' numbers and the ledger's primary key.
-- $1 dead before, $2 [row]
DELETE FROM processed_events
WHERE status IN ('released', 'in_progress')
  AND event_id IN (
      SELECT q.event_id FROM json_each($2) AS row CROSS JOIN event_queue AS q ON q.id = row.value
      WHERE q.status = 'dead_lettered' AND q.finished_at <= $1
  );
