-- Ids that rows were given are to last before a handler hears of them: after a loss of power the event would come with
-- another one, and who has seen the first would take it for another event. To write the rows once more waits for the disk.
BEGIN IMMEDIATE;
UPDATE event_queue SET claimed_at = claimed_at WHERE id IN (SELECT id FROM temp.candidate);
COMMIT;
