-- Whether a worker may find more than before: the statement before has let a row of a key come to its turn, or a row was
-- put back.
SELECT 'wakes' AS part, changes() > 0 OR EXISTS (
    SELECT 1 FROM temp.touched AS t CROSS JOIN event_queue AS q ON q.id = t.id WHERE q.status = 'pending'
) AS value;
