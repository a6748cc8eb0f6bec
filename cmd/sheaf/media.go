package main

import (
	"path/filepath"

	"sheaf.dev/internal/config"
	"sheaf.dev/internal/media"
)

// mediaFolder is the folder for the bytes of media within the data folder.
const mediaFolder = "media"

// media returns the store of the bytes of media: a bucket, or with SQLite a folder. With PostgreSQL
// and no bucket it returns nil, because each of several nodes would have files that the others
// lack.
func (p *program) media(s config.StoreSettings) (media.Store, error) {
	switch {
	case s.MediaURL != "":
		return media.Bucket(s.MediaURL, media.BucketOptions{Getenv: func(name string) string {
			value, _ := p.Env(name)
			return value
		}})
	case s.DatabaseURL != "":
		return nil, nil
	}
	return media.Folder(filepath.Join(s.Data, mediaFolder)), nil
}
