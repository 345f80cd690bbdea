-- Empties the scratch space of a claim.
DELETE FROM temp.candidate;
DELETE FROM temp.pair;
