-- The word index once had the uuids of references. Schemas with 0 here have to be looked at.
UPDATE schemas SET words = 0;
