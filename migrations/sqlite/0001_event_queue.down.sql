DROP TABLE event_queue;
