DROP TABLE outbox_handlers;
DROP TABLE processed_events;
DROP INDEX event_queue_dead;
DROP INDEX event_queue_done;
DROP INDEX event_queue_key;
DROP INDEX event_queue_processing;
DROP INDEX event_queue_available;
DROP INDEX event_queue_event_id;
-- A row in somebody's hands is given back; the plain queue has no word for a dead letter's reason but last_error.
UPDATE event_queue SET status = 'pending' WHERE status = 'processing';
ALTER TABLE event_queue DROP COLUMN waits_for;
ALTER TABLE event_queue DROP COLUMN finished_at;
ALTER TABLE event_queue DROP COLUMN claimed_by;
ALTER TABLE event_queue DROP COLUMN claimed_at;
ALTER TABLE event_queue DROP COLUMN headers;
ALTER TABLE event_queue DROP COLUMN lane;
ALTER TABLE event_queue DROP COLUMN event_key;
ALTER TABLE event_queue DROP COLUMN event_version;
ALTER TABLE event_queue DROP COLUMN event_id;
