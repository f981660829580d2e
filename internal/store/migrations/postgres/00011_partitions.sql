-- +goose Up
-- What is recorded of a run with very many trials is in partitions of its own, which are dropped
-- in no time. The trials of each such run have ids of a block of 2^32 from 2^40 on: the constraint
-- lets PostgreSQL add a partition without reading the rows of all other runs.
CREATE SEQUENCE blocks MINVALUE 0;
DO $do$
DECLARE t TEXT;
BEGIN
  FOREACH t IN ARRAY ARRAY['calls', 'verdicts'] LOOP
    EXECUTE format('ALTER TABLE %1$s DROP CONSTRAINT %1$s_pkey, ALTER id DROP IDENTITY', t);
    EXECUTE format('CREATE SEQUENCE %1$s_ids', t);
    EXECUTE format('SELECT setval(''%1$s_ids'', coalesce(max(id), 0) + 1, FALSE) FROM %1$s', t);
    EXECUTE format('ALTER TABLE %1$s ALTER id SET DEFAULT nextval(''%1$s_ids'')', t);
    EXECUTE format('CREATE INDEX %1$s_by_id ON %1$s (id)', t);
  END LOOP;
  FOREACH t IN ARRAY ARRAY['calls', 'outcomes', 'verdicts', 'judged', 'scores', 'case_scores', 'attempts', 'prompts'] LOOP
    EXECUTE format('ALTER TABLE %1$s RENAME TO %1$s_of_others', t);
    EXECUTE format('ALTER TABLE %1$s_of_others ADD CHECK (trial < 1099511627776)', t);
    EXECUTE format('CREATE TABLE %1$s (LIKE %1$s_of_others INCLUDING ALL EXCLUDING CONSTRAINTS) PARTITION BY RANGE (trial)', t);
    EXECUTE format('ALTER TABLE %1$s ATTACH PARTITION %1$s_of_others DEFAULT', t);
  END LOOP;
  ALTER SEQUENCE calls_ids OWNED BY calls.id;
  ALTER SEQUENCE verdicts_ids OWNED BY verdicts.id;
END $do$;

-- +goose Down
SELECT 1;
