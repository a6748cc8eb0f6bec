package publish_test

import "testing"

// D92, D112: while the index follows, the search of a shared project finds what the project
// contains at the moment of the answer: not what was moved out of it, deleted or changed, and not
// what another workspace has.
func TestSearch_LeavesNothingInTheShareThatHasLeftTheProject(t *testing.T) {
	each(t, func(w *world) {
		w.Follow()
		p, q := w.make("projects", fields{"name": "Handbook"}), w.make("projects", fields{"name": "Secrets"})
		_, path := w.share("project", p)
		elsewhere := w.Workspace("business").Client("")
		elsewhere.POST("/api/v1/documents", fields{"title": "Another's heron", "content": "heron"}).Want(w.T, 201)
		for round := range 6 {
			d := w.make("documents", fields{"title": "Grey heron", "project_id": p, "content": "a heron stands"})
			one := "/api/v1/documents/" + d
			w.get(path+"/search?q=heron").want(w, 200).has(w, path+"/"+d, "1 document").lacks(w, "Another")
			switch round % 3 {
			case 0:
				w.c.PATCH(one, fields{"project_id": q, "title": "Moved heron"}).Want(w.T, 200)
			case 1:
				w.c.DELETE(one).Want(w.T, 204)
			case 2:
				w.c.PATCH(one, fields{"title": "Wren", "content": "a wren flies"}).Want(w.T, 200)
			}
			w.get(path+"/search?q=heron").want(w, 200).has(w, "No documents match").lacks(w, d, "Moved", "stands", "Another")
			if round%3 != 2 {
				w.get(path).want(w, 200).lacks(w, d)
				w.get(path+"/raw").want(w, 200).lacks(w, d)
				w.get(path+"/"+d).want(w, 404)
				w.get(path+"/"+d+"/raw").want(w, 404)
			}
		}
	})
}
