-- What a transaction can leave behind on its connection, as one text: it is the same as long as nothing was.
SELECT json_array(
    (SELECT group_concat(name) FROM temp.sqlite_schema),
    (SELECT query_only FROM pragma_query_only),
    (SELECT timeout FROM pragma_busy_timeout),
    (SELECT foreign_keys FROM pragma_foreign_keys),
    (SELECT synchronous FROM pragma_synchronous),
    (SELECT ignore_check_constraints FROM pragma_ignore_check_constraints),
    (SELECT recursive_triggers FROM pragma_recursive_triggers)
);
