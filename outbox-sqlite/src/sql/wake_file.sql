-- The database's file as an absolute path, whatever the url said.
SELECT file FROM pragma_database_list WHERE name = 'main'
