ALTER TABLE api_keys ADD COLUMN own_only bigint NOT NULL DEFAULT 0;
