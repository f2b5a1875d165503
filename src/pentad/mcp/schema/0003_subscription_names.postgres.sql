-- A resource may have several URIs, such as by id and by slug. Changes are announced under one of them.
ALTER TABLE mcp_subscriptions ADD COLUMN announced TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE mcp_subscriptions SET announced = uri;
