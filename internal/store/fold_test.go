package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"unicode"

	"sheaf.dev/internal/sheaftest/pgtest"
)

// D21: full folding as Unicode has it, so that whatever differs in case alone is the same.
func TestFold_IsFullUnicodeFolding(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"Straße": "strasse", "STRASSE": "strasse", "ẞ": "ss", "ΌΔΟΣ": "όδοσ", "όδος": "όδοσ", "ﬁ": "fi", "ŉ": "ʼn", "ᾳ": "αι", "ᾼ": "αι",
		"İ": "i\u0307", "ı": "ı", "K": "k", "ſ": "s", "e\u0301": "é", "É": "é", "Ꭰ": "Ꭰ", "ꭰ": "Ꭰ", "Ᏸ": "Ᏸ", "ᏸ": "Ᏸ", "aꮿB": "aᏯb", "𐐀": "𐐨",
	} {
		if got := Fold(s); got != want {
			t.Errorf("%q is folded to %q, want %q", s, got, want)
		}
	}
	letters := 0
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if unicode.SimpleFold(r) == r {
			continue
		}
		letters++
		folded := Fold(string(r))
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if got := Fold(string(other)); got != folded {
				t.Errorf("%U is folded to %q and %U to %q", r, folded, other, got)
			}
		}
		if again := Fold(folded); again != folded {
			t.Errorf("%U is folded to %q, and that to %q", r, folded, again)
		}
	}
	if letters < 2500 {
		t.Errorf("only %d letters were compared", letters)
	}
}

// foldedSchema is the migration that mends what was folded wrongly.
const foldedSchema = 8

// What a program of before has stored is found after the migration by either form of a letter.
func TestMigrate_FoldsAnew(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for driver, at := range map[string]func(t *testing.T) (o Options, address string){
		"sqlite": func(t *testing.T) (Options, string) {
			folder := t.TempDir()
			return Options{Folder: folder}, filepath.Join(folder, FileName)
		},
		"pgx": func(t *testing.T) (Options, string) {
			url := pgtest.URL(t)
			return Options{DatabaseURL: url}, url
		},
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			o, address := at(t)
			if err := migrateTo(ctx, o, foldedSchema-1); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open(driver, address)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			// Each letter as it was folded before: to the other one.
			for _, text := range []string{
				`INSERT INTO workspaces (id, name, plan, personal, created_at, version, last_number, last_event, projects, documents, subscriptions)
				VALUES ('w', 'w', 'pro', 0, 0, 1, 9, 0, 2, 1, 0)`,
				`INSERT INTO users (id, email, email_folded, name, password_hash, created_at) VALUES ('u', 'Ꭰ@a.b', 'ꭰ@a.b', '', '', 0),
				('v', 'ꭰ@c.d', 'Ꭰ@c.d', '', '', 0), ('x', 'Ꭰ@c.d', 'ꭰ@c.d', '', '', 0), ('y', 'A@c.d', 'a@c.d', '', '', 0),
				('z', 'ꭰᎠ@e.f', 'Ꭰꭰ@e.f', '', '', 0), ('zz', 'Ꭰꭰ@e.f', 'ꭰᎠ@e.f', '', '', 0)`,
				`INSERT INTO folders (workspace_id, id, entity_type, name, name_folded, color, sort_order, depth, project_count, number, revision, created_at, updated_at)
				VALUES ('w', 'f', 'project', 'Ꮿᏸ', 'ꮿᏰ', '', 0, 1, 0, 1, 1, 0, 0)`,
				`INSERT INTO projects (workspace_id, id, name, name_folded, description, description_folded, sort_order, visibility, document_count, number, revision, created_at, updated_at)
				VALUES ('w', 'p', 'A ᎣᏏᏲ', 'a ꭳꮟᏺ', 'ꭳ', 'Ꭳ', 0, 'private', 0, 2, 1, 0, 0), ('w', 'q', 'Plain', 'plain', NULL, NULL, 0, 'private', 0, 3, 1, 0, 0)`,
				`INSERT INTO documents (workspace_id, id, title, title_folded, description, description_folded, number, revision, created_at, updated_at)
				VALUES ('w', 'd', 'Ᏼ', 'ᏼ', 'B ꮏᏽ', 'b ᎿᏵ', 4, 1, 0, 0)`,
			} {
				if _, err := db.ExecContext(ctx, text); err != nil {
					t.Fatal(err)
				}
			}
			db.Close()
			if err := migrateTo(ctx, o, foldedSchema); err != nil {
				t.Fatal(err)
			}
			s, err := Open(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			texts := 0
			err = s.Read(ctx, func(r *Reader) error {
				return r.query(`SELECT name, name_folded FROM folders UNION ALL SELECT name, name_folded FROM projects
					UNION ALL SELECT description, description_folded FROM projects WHERE description IS NOT NULL
					UNION ALL SELECT title, title_folded FROM documents UNION ALL SELECT description, description_folded FROM documents
					UNION ALL SELECT email, email_folded FROM users WHERE id IN ('u', 'v', 'y', 'z')`, func(w *row) {
					texts++
					if shown, folded := w.Text(), w.Text(); Fold(shown) != folded {
						t.Errorf("%q is stored as %q, want %q", shown, folded, Fold(shown))
					}
				})
			})
			if err != nil || texts != 10 {
				t.Errorf("%d texts were compared, %v", texts, err)
			}
		})
	}
}
