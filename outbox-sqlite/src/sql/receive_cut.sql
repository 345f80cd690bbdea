-- No more claims than can start at once.
-- $2 {max}
DELETE FROM temp.pair
WHERE NOT lost
  AND position > (SELECT position FROM temp.pair WHERE NOT lost ORDER BY position LIMIT 1 OFFSET ($2 ->> 'max') - 1);
