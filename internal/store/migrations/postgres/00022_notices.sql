-- +goose Up
-- Notices: of which subscriptions people are to be told by mail, one row for each that ever failed. What
-- is due is to be sent; told_at is when the last mail about it went. Whoever is of before writes none.
INSERT INTO schema_compat (version, oldest) VALUES (22, 20);

CREATE TABLE notices (
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL,
  event BIGINT NOT NULL,
  at BIGINT NOT NULL,
  due BIGINT,
  tries BIGINT NOT NULL,
  told_at BIGINT NOT NULL,
  PRIMARY KEY (ws, sub)
);
CREATE INDEX notices_due ON notices (due) WHERE due IS NOT NULL;
