-- Vectors of the directory's records are made of names and descriptions alone from here on. Those there are go away; the
-- background makes new ones, and records are ranked by their words meanwhile.
UPDATE search_collections SET name = NULL WHERE name = 'directory';
