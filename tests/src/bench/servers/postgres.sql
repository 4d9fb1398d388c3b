CREATE EXTENSION IF NOT EXISTS btree_gist;
CREATE TABLE patient (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  institution int NOT NULL,
  first_name text NOT NULL,
  last_name text NOT NULL,
  date_of_birth date NOT NULL,
  phone text,
  email text,
  foreign_id text,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON patient (institution, date_of_birth, lower(last_name));
CREATE TABLE appointment (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  location int NOT NULL,
  operatory bigint NOT NULL,
  provider int NOT NULL,
  patient bigint NOT NULL REFERENCES patient,
  during tstzrange NOT NULL,
  note text,
  booking_ref text NOT NULL UNIQUE,
  created_by text NOT NULL,
  foreign_id text,
  writeback text NOT NULL DEFAULT 'pending',
  created_at timestamptz NOT NULL DEFAULT now(),
  EXCLUDE USING gist (operatory WITH =, during WITH &&)
);
CREATE INDEX ON appointment (location, lower(during), id);
CREATE TABLE idempotency (
  institution int NOT NULL,
  key bytea NOT NULL,
  fingerprint bytea NOT NULL,
  appointment bigint NOT NULL REFERENCES appointment,
  expires timestamptz NOT NULL,
  PRIMARY KEY (institution, key)
);
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  location int NOT NULL,
  kind text NOT NULL,
  appointment bigint,
  patient bigint,
  lane bigint NOT NULL,
  attempts int NOT NULL DEFAULT 0,
  due timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON outbox (due, id);
