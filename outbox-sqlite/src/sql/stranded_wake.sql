-- These waiting rows may be looked at.
-- $1 [row]
UPDATE event_queue SET waits_for = ''
WHERE status = 'pending' AND waits_for <> '' AND id IN (SELECT value FROM json_each($1));
