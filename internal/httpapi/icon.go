package httpapi

import (
	"sheaf.dev/internal/icon"
	"sheaf.dev/internal/sheaf"
)

type iconRecord icon.Icon

func (i *iconRecord) Fields(o *sheaf.Object) {
	o.Text("id", i.ID)
	o.Text("name", i.Name)
	o.Text("svg", i.SVG)
}

// listIcons answers GET /api/v1/icons.
func (s *Server) listIcons(x *exchange) (answer, error) {
	p, err := x.paging()
	if err != nil {
		return answer{}, err
	}
	all := icon.All()
	page := sheaf.Page[iconRecord]{Paging: p, Total: int64(len(all))}
	for i := range all {
		if p.Desc {
			i = len(all) - 1 - i
		}
		page.Items = append(page.Items, iconRecord(all[i]))
	}
	from := min(p.Offset, len(all))
	page.Items = page.Items[from:min(from+p.Limit, len(all))]
	return pageOf(page), nil
}
