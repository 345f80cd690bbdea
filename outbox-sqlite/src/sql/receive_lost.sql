-- Where a handler was just given up, it may get the next event of the key (wake_key.sql).
INSERT INTO temp.touched (id, examined)
SELECT row_id, 0 FROM temp.pair WHERE lost AND row_id > 0
ON CONFLICT (id) DO UPDATE SET examined = 0;
