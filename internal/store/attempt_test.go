package store

import (
	"context"
	"fmt"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/pgtest"
)

const manyAttempts = `
INSERT INTO attempts (ws, sub, event, number, started_at, duration_us, status_code, error_class, error,
  remote_address, dns_us, connect_us, tls_us, first_byte_us, body_us, response_body)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
SELECT 1, 1, 1, i, i, 0, 500, '', '', '', 0, 0, 0, 0, 0, ''
FROM n`

// A client can ask for a delivery without limit, so the number of attempts shown is limited.
func TestAttempts_AreTheNewest(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"sqlite": {Folder: t.TempDir()}, "postgres": {DatabaseURL: pgtest.URL(t)}} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, o)
			fillLanes(t, s, 10)
			exec(t, s, fmt.Sprintf(manyAttempts, AttemptsMost+7))
			var shown []sheaf.Attempt
			err := s.Read(context.Background(), func(r *Reader) (err error) {
				shown, err = r.Attempts(planned, sheaf.NewDeliveryID(0, 1))
				return err
			})
			if err != nil || len(shown) != AttemptsMost || shown[0].Number != 8 || shown[AttemptsMost-1].Number != AttemptsMost+7 {
				t.Errorf("%d attempts, %v", len(shown), err)
			}
		})
	}
}
