package store

import "testing"

func TestMigrate_EveryEngineHasTheSameMigrations(t *testing.T) {
	var names [2]string
	for i, engine := range []string{"sqlite", "postgres"} {
		files, err := migrations.ReadDir("migrations/" + engine)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			names[i] += f.Name() + " "
		}
		if len(files) != Latest {
			t.Errorf("%s has %d migrations and Latest is %d", engine, len(files), Latest)
		}
	}
	if names[0] != names[1] {
		t.Errorf("sqlite has %s, postgres %s", names[0], names[1])
	}
}
