-- Polls are scheduled jobs; each is due when it was.
INSERT INTO jobs (name, key, run_at)
    SELECT 'metrics.poll', CASE WHEN scope = '' THEN collector ELSE collector || '/' || scope END, due
    FROM metric_polls WHERE collector <> '(retention)';
INSERT INTO jobs (name, key, run_at)
    SELECT 'metrics.retention', 'schedule', due FROM metric_polls WHERE collector = '(retention)';
DROP TABLE metric_polls;
