-- What a key made belongs to the key's owner. What happened stays in the history under the key that did it.
UPDATE objects SET owner = 'user:' || k.owner FROM api_keys AS k
    WHERE k.owner IS NOT NULL AND objects.owner = 'key:' || k.id;
UPDATE plans SET principal = 'user:' || k.owner FROM api_keys AS k
    WHERE k.owner IS NOT NULL AND plans.principal = 'key:' || k.id;
UPDATE saved_queries SET principal = 'user:' || k.owner FROM api_keys AS k
    WHERE k.owner IS NOT NULL AND saved_queries.principal = 'key:' || k.id;
UPDATE webhooks SET principal = 'user:' || k.owner FROM api_keys AS k
    WHERE k.owner IS NOT NULL AND webhooks.principal = 'key:' || k.id;
UPDATE registers SET body = replace(body, '"owner":"key:' || k.id || '"', '"owner":"user:' || k.owner || '"')
    FROM api_keys AS k WHERE k.owner IS NOT NULL AND body LIKE '%"owner":"key:' || k.id || '"%';
UPDATE schemas SET body = replace(body, '"owner":"key:' || k.id || '"', '"owner":"user:' || k.owner || '"')
    FROM api_keys AS k WHERE k.owner IS NOT NULL AND body LIKE '%"owner":"key:' || k.id || '"%';
