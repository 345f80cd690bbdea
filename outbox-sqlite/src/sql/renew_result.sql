-- How many renewals took effect.
SELECT 'renewed' AS part, changes() AS value;
