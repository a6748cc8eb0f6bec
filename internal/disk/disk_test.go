package disk

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

// The reserve is given up in parts, and free pages of the database are room for all but its log.
func TestLevel_ByWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		free, spare int64
		want        Level
	}{
		{1600, 0, Roomy}, {1599, 0, Tight}, {400, 0, Tight}, {399, 0, Full}, {0, 0, Full},
		{400, 1200, Roomy}, {100, 1500, Roomy}, {100, 300, Tight}, {99, 5000, Full},
	} {
		if got := level(test.free, test.spare, 1600); got != test.want {
			t.Errorf("%d free and %d spare bytes of a reserve of 1,600: level %d, want %d", test.free, test.spare, got, test.want)
		}
	}
}

// Uploads that are under way together leave the reserve alone, and a small disk has a small reserve.
func TestAdmit_CountsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	space := Space{Free: 1300, Total: 10_000}
	w := New(t.Context(), Config{Folder: t.TempDir(), Media: "media", Reserve: 1 << 30, Log: slog.New(slog.DiscardHandler),
		Spare: func(context.Context) (int64, error) { return 0, nil }, Stat: func(string) (Space, error) { return space, nil }})
	first, ok := w.Admit(200)
	if !ok {
		t.Fatal("the first is refused")
	}
	if _, ok := w.Admit(101); ok {
		t.Error("the second would take of the reserve, and is admitted")
	}
	if second, ok := w.Admit(100); !ok {
		t.Error("what leaves the reserve alone is refused")
	} else {
		second()
	}
	first()
	if _, ok := w.Admit(300); !ok {
		t.Error("after the first has ended, there is no room for as much")
	}
	var none *Watch
	if _, ok := none.Admit(1 << 40); !ok || none.Level() != Roomy {
		t.Error("without a watch something is refused")
	}
}

// The ballast is there while there is room, and goes when there is hardly any.
func TestLook_GivesTheBallastBack(t *testing.T) {
	t.Parallel()
	space := Space{Free: 5 << 20, Total: 10 << 20}
	folder := t.TempDir()
	w := New(t.Context(), Config{Folder: folder, Reserve: 1 << 30, Log: slog.New(slog.DiscardHandler),
		Spare: func(context.Context) (int64, error) { return 0, nil }, Stat: func(string) (Space, error) { return space, nil }})
	ballast := filepath.Join(folder, ballastName)
	if f, err := os.Stat(ballast); err != nil || f.Size() != 1<<16 {
		t.Fatalf("the ballast is %v, %v, want %d bytes", f, err, 1<<16)
	}
	space.Free = 1<<16 - 1
	w.Check(t.Context())
	if _, err := os.Stat(ballast); !os.IsNotExist(err) || w.Level() != Full {
		t.Errorf("on a full disk the ballast is still there: %v, at level %d", err, w.Level())
	}
	space.Free = 5 << 20
	w.Check(t.Context())
	if _, err := os.Stat(ballast); err != nil || w.Level() != Roomy {
		t.Errorf("with room again there is no ballast: %v, at level %d", err, w.Level())
	}
}
