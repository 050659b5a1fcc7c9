-- Open exceptions, oldest first: what operators list page by page, and what the gauges count.
create index exceptions_open on exceptions (opened_at, id) where closed_at is null;
