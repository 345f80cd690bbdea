-- Candidates that nothing can be claimed of: they are put back where they are found when something can.
INSERT INTO temp.touched (id, examined)
SELECT c.id, 1 FROM temp.candidate AS c
WHERE NOT EXISTS (SELECT 1 FROM temp.pair AS p WHERE p.row_id = c.id AND NOT p.lost);
