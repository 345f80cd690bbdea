-- No more claims than can start at once.
-- $2 {max}
DELETE FROM temp.pair
WHERE NOT lost
  AND position NOT IN (SELECT position FROM temp.pair WHERE NOT lost ORDER BY position LIMIT $2 ->> 'max');
