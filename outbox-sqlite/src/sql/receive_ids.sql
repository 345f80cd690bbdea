-- Rows of foreign writers get an id when they are first looked at; a given id is brought to the usual form.
UPDATE OR IGNORE event_queue
SET event_id = coalesce(
    lower(event_id),
    lower(
        hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
        || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))
    )
)
WHERE id IN (SELECT id FROM temp.candidate)
  AND (event_id IS NULL OR event_id <> lower(event_id));
