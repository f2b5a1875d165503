-- What a key made belongs to the key's owner, who may reach it with any key or the password.
UPDATE agent_tasks SET owner = 'user:' || k.owner, caller = CAST(replace(CAST(caller AS TEXT), '"key:' || k.id || '"', '"user:' || k.owner || '"') AS BLOB) FROM api_keys AS k
    WHERE k.owner IS NOT NULL AND agent_tasks.owner = 'key:' || k.id;
UPDATE agent_cards SET owner = 'user:' || k.owner FROM api_keys AS k
    WHERE k.owner IS NOT NULL AND agent_cards.owner = 'key:' || k.id;
UPDATE agent_lent_contents SET owner = 'user:' || k.owner FROM api_keys AS k
    WHERE k.owner IS NOT NULL AND agent_lent_contents.owner = 'key:' || k.id;
UPDATE agent_tasks_elsewhere SET owner = 'user:' || k.owner FROM api_keys AS k
    WHERE k.owner IS NOT NULL AND agent_tasks_elsewhere.owner = 'key:' || k.id;
-- Two keys of one user may have brought the same content or named the same context: the first stays.
INSERT INTO agent_content_owners (owner, sha256, media_type, size, kept_at)
    SELECT 'user:' || k.owner, o.sha256, o.media_type, o.size, o.kept_at
    FROM agent_content_owners AS o JOIN api_keys AS k ON o.owner = 'key:' || k.id WHERE k.owner IS NOT NULL
    ON CONFLICT (owner, sha256) DO NOTHING;
DELETE FROM agent_content_owners WHERE owner IN (SELECT 'key:' || id FROM api_keys WHERE owner IS NOT NULL);
INSERT INTO agent_contexts (owner, context, version, sha256, body, changed_at)
    SELECT 'user:' || k.owner, c.context, c.version, c.sha256, c.body, c.changed_at
    FROM agent_contexts AS c JOIN api_keys AS k ON c.owner = 'key:' || k.id WHERE k.owner IS NOT NULL
    ON CONFLICT (owner, context, version) DO NOTHING;
DELETE FROM agent_contexts WHERE owner IN (SELECT 'key:' || id FROM api_keys WHERE owner IS NOT NULL);
