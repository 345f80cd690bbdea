-- How many changes took effect.
SELECT 'changed' AS part, changes() AS value;
