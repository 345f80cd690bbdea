-- Every index that a statement created, with that statement.
SELECT lower(name), sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
