-- After the last migration is reversed, nothing of ours is left.
DROP TABLE outbox_migrations
