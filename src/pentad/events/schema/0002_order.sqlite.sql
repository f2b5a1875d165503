-- Events are read in the order of their numbers. With this index a page of them sorted everything the reader may see.
DROP INDEX events_of_audience;
