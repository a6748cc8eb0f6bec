package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// stepsClosed is the name of the setting that a person's closing of the first steps leaves.
func stepsClosed(u sheaf.UserID) string { return "first_steps_closed " + string(u) }

// CloseSteps hides the first steps from the person, in every workspace and browser.
func (a *App) CloseSteps(ctx context.Context, s Session) error {
	return a.writeUnasked(ctx, func(tx *store.Tx) error {
		_, err := tx.KeepSetting(stepsClosed(s.User.ID), "yes")
		return err
	})
}

// StepsClosed reports whether the person has closed the first steps.
func (a *App) StepsClosed(ctx context.Context, s Session) (bool, error) {
	return readUnasked(ctx, a, func(r *store.Reader) (bool, error) {
		_, closed, err := r.Setting(stepsClosed(s.User.ID))
		return closed, err
	})
}
