-- Webhooks are delivered by the job `registers.webhooks`, one per webhook: nothing that waits is forgotten.
INSERT INTO jobs (name, key) SELECT 'registers.webhooks', id FROM webhooks;
ALTER TABLE webhook_deliveries DROP COLUMN leased_until;
DROP INDEX webhook_deliveries_due;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook, due_at) WHERE state = 'waiting';
