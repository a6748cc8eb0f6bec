package publish

import (
	"fmt"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// folderPage is the data of the contents of a folder.
type folderPage struct {
	app.SharedFolder
	Crumbs []crumb
	List   []folderEntry
	Raw    string // address of its Markdown
	Pages  pager
}

// folderEntry is a folder or a project in the contents of a folder.
type folderEntry struct{ Title, Address, Note string }

// crumb is a page above the shown one.
type crumb struct{ Title, Address string }

// folder shows the contents of a shared folder, or of one below it.
func (v *visit) folder(id sheaf.FolderID) error {
	f, list, n, err := v.folderContents(id)
	if err != nil {
		return err
	}
	home := v.folderAddress(f.ID)
	data := folderPage{SharedFolder: f, List: list, Raw: home + "/raw",
		Pages: pagesOf(n, app.SitePage, f.Total, func(page int) string { return pageAddress(home, page) })}
	above := f.Site.Path
	if len(above) > 0 {
		data.Crumbs = v.crumbs(f.Site, above[:len(above)-1])
	}
	l := layout{Title: f.Name, URL: v.share.URL + strings.TrimPrefix(home, v.home()), Listed: v.indexed(), Home: v.home(), Project: f.Site.Top.Name,
		Brand: v.brandOf(f.Branding), Icon: v.iconOf(nil, f.Branding), Picture: v.pictureOf(f.Branding, "", nil),
		Tree: v.siteNavigation(f.Site, "", string(f.ID)), For: v.alternates(pageAddress(home, n))}
	body, err := v.page("folder", l, data)
	if err != nil {
		return err
	}
	return v.keep(body, htmlType, l.Brand)
}

// folderContents reads a page of the contents of a folder, and returns its number. After the last
// page it returns NotFound.
func (v *visit) folderContents(id sheaf.FolderID) (f app.SharedFolder, list []folderEntry, n int, err error) {
	if n, err = v.number(); err != nil {
		return f, nil, 0, err
	}
	f, err = v.publisher.App.SharedFolder(v.r.Context(), v.share, id, (n-1)*app.SitePage)
	for i := range f.Folders {
		in := &f.Folders[i]
		list = append(list, folderEntry{in.Name, v.folderAddress(in.ID), counted(in.ProjectCount, "project", "Folder")})
	}
	for i := range f.Projects {
		p := &f.Projects[i]
		e := folderEntry{p.Name, v.below(string(p.ID)), counted(p.DocumentCount, "document", "No documents yet")}
		if p.Description != nil && *p.Description != "" {
			e.Note = *p.Description
		}
		list = append(list, e)
	}
	if err == nil && n > 1 && len(list) == 0 {
		err = errNothing
	}
	return f, list, n, err
}

// counted returns a number with its noun, or `none` for 0.
func counted(n int64, noun, none string) string {
	switch n {
	case 0:
		return none
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// rawFolder answers with the contents of a folder as Markdown.
func (v *visit) rawFolder(id sheaf.FolderID) error {
	f, list, _, err := v.folderContents(id)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", oneLine(f.Name))
	if len(list) > 0 {
		b.WriteString("\n")
	}
	for _, e := range list {
		fmt.Fprintf(&b, "- [%s](%s/raw)\n", linkText(e.Title), v.share.URL+strings.TrimPrefix(e.Address, v.home()))
	}
	return v.keep([]byte(b.String()), markdownType, pageBrand{})
}

// crumbs returns the pages from the shared folder down to the last of `folders`.
func (v *visit) crumbs(site *app.Site, folders []sheaf.Folder) []crumb {
	out := []crumb{{site.Top.Name, v.home()}}
	for i := range folders {
		out = append(out, crumb{folders[i].Name, v.folderAddress(folders[i].ID)})
	}
	return out
}

// siteNavigation returns the folders, projects and documents of a shared folder for the page of
// `current`, which is in `project`, or is a folder.
func (v *visit) siteNavigation(site *app.Site, project sheaf.ProjectID, current string) []*navItem {
	open := map[string]bool{current: true, string(project): true}
	for i := range site.Path {
		open[string(site.Path[i].ID)] = true
	}
	return v.level(site, &site.Top, open, current)
}

// level returns the navigation of a folder's contents. If they are cut off, it has links to the
// pages of the folder that have the rest.
func (v *visit) level(site *app.Site, in *sheaf.Folder, open map[string]bool, current string) (items []*navItem) {
	level, home := site.Levels[in.ID], v.folderAddress(in.ID)
	page := int(level.Offset/app.SitePage) + 1
	if page > 1 {
		items = append(items, &navItem{Kind: "rest", Title: "Earlier in " + in.Name, Address: pageAddress(home, page-1)})
	}
	for i := range level.Folders {
		f := &level.Folders[i]
		items = append(items, &navItem{Kind: "folder", Title: f.Name, Address: v.folderAddress(f.ID), Current: string(f.ID) == current,
			Open: open[string(f.ID)], Items: v.level(site, f, open, current)})
	}
	for i := range level.Projects {
		p := &level.Projects[i]
		items = append(items, &navItem{Kind: "project", Title: p.Name, Address: v.below(string(p.ID)), Current: string(p.ID) == current,
			Open: open[string(p.ID)], Items: v.navigation(site.Trees[p.ID], sheaf.DocumentID(current))})
	}
	if level.Offset+int64(len(level.Folders)+len(level.Projects)) < level.Total {
		items = append(items, &navItem{Kind: "rest", Title: "More in " + in.Name, Address: pageAddress(home, page+1)})
	}
	return items
}

// pageAddress returns the address of a page of a list by its number.
func pageAddress(home string, page int) string {
	if page == 1 {
		return home
	}
	return fmt.Sprintf("%s?page=%d", home, page)
}

// folderAddress returns the address of a folder of the share. The shared folder is the first page.
func (v *visit) folderAddress(id sheaf.FolderID) string {
	if string(id) == v.share.ResourceID {
		return v.home()
	}
	return v.below(string(id))
}

// below returns the address of a record of the share.
func (v *visit) below(id string) string { return v.home() + "/" + id }
