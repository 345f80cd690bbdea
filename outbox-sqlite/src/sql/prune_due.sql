-- Whether anything is old enough to be pruned, through the indexes of finished rows.
-- $1, $2, $3: what finished before these moments may go (done rows, dead rows, ledger rows)
SELECT EXISTS (SELECT 1 FROM event_queue WHERE finished_at <= max($1, $2))
    OR EXISTS (SELECT 1 FROM processed_events WHERE status IN ('done', 'dead') AND processed_at <= $3)
    OR EXISTS (SELECT 1 FROM processed_events WHERE status = 'released' AND lease_until <= $3);
