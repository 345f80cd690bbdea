-- Rows of foreign writers get an id when they are first looked at; a given one is brought to the usual form, hyphenated
-- and in lower case, unless another row has that. What is no UUID stays, and makes its row unreadable.
UPDATE OR IGNORE event_queue
SET event_id = coalesce(
    (
        SELECT CASE
            WHEN length(digits) = 32 AND digits NOT GLOB '*[^0-9a-f]*' THEN
                substr(digits, 1, 8) || '-' || substr(digits, 9, 4) || '-' || substr(digits, 13, 4) || '-'
                || substr(digits, 17, 4) || '-' || substr(digits, 21)
            ELSE event_id
            END
        FROM (SELECT replace(replace(replace(replace(
            lower(event_id), 'urn:uuid:', ''), '{', ''), '}', ''), '-', '') AS digits)
    ),
    lower(
        hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
        || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))
)
WHERE id IN (
    SELECT q.id FROM temp.candidate AS c CROSS JOIN event_queue AS q ON q.id = c.id
    WHERE q.event_id IS NULL OR q.event_id <> lower(q.event_id) OR length(q.event_id) <> 36
);
