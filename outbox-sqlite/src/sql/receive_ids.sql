-- Rows of foreign writers get an id when they are first looked at; a given one is brought to the usual form, hyphenated
-- and in lower case, unless another row has that. What is no UUID stays, and makes its row unreadable.
UPDATE OR IGNORE event_queue
SET event_id = CASE
    WHEN odd.digits IS NULL THEN lower(
        hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
        || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))
    ELSE substr(odd.digits, 1, 8) || '-' || substr(odd.digits, 9, 4) || '-' || substr(odd.digits, 13, 4) || '-'
        || substr(odd.digits, 17, 4) || '-' || substr(odd.digits, 21)
    END
FROM (
    SELECT q.id AS row,
           replace(replace(replace(replace(lower(q.event_id), 'urn:uuid:', ''), '{', ''), '}', ''), '-', '') AS digits
    FROM temp.candidate AS c
    CROSS JOIN event_queue AS q ON q.id = c.id
    WHERE q.event_id IS NULL OR q.event_id <> lower(q.event_id) OR length(q.event_id) <> 36
) AS odd
WHERE event_queue.id = odd.row
  AND (odd.digits IS NULL OR (length(odd.digits) = 32 AND odd.digits NOT GLOB '*[^0-9a-f]*'));
