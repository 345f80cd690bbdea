-- Empties the set of rows to settle.
DELETE FROM temp.touched;
