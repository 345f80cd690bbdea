-- Whether rows were given ids.
SELECT 'ids' AS part, changes() > 0 AS value;
