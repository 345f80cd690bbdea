-- Candidates that nothing can be claimed of: they are put back where they are found when something can.
INSERT INTO temp.touched (id, examined)
SELECT id, 1 FROM temp.candidate
WHERE id NOT IN (SELECT row_id FROM temp.pair WHERE NOT lost);
