-- Every column of every table and view, generated ones included, without SQLite's own tables.
SELECT lower(t.name), t.type, t.wr, lower(c.name), upper(c.type), c."notnull", c.dflt_value, c.pk, c.hidden
FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c
WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY t.name, c.cid
