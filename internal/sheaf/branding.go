package sheaf

import (
	"slices"
	"time"
)

// DefaultBrandingColor is the color_primary of a branding that was given none.
const DefaultBrandingColor = "#2563eb"

// MaxFooter limits a branding's footer, in Unicode code points.
const MaxFooter = 500

// Font is the kind of font of a branding's pages. All fonts are on the reader's machine: a page
// loads none.
type Font string

// The fonts.
const (
	SystemFont Font = "system"
	SerifFont  Font = "serif"
	MonoFont   Font = "mono"
)

// Fonts are all fonts, in the order in which they are shown.
var Fonts = []Font{SystemFont, SerifFont, MonoFont}

// ParseFont returns the font of that name.
func ParseFont(s string) (Font, error) {
	switch f := Font(s); f {
	case SystemFont, SerifFont, MonoFont:
		return f, nil
	}
	return "", InvalidField("font", "font must be system, serif or mono, not %q", Clip(s))
}

// logoTypes are the types of a logo: raster pictures, which cannot run anything.
var logoTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"}

// CheckLogo returns Invalid unless the medium is a raster picture.
func CheckLogo(m Medium) error {
	if slices.Contains(logoTypes, m.ContentType) {
		return nil
	}
	return InvalidField("logo_media_id", "logo_media_id names a file of type %s: choose a picture (PNG, JPEG, GIF, WebP or AVIF)", m.ContentType)
}

// Branding is the look of shared pages: a logo, a colour from which Palette derives all others, a
// font and a footer. Clients may write its own fields.
type Branding struct {
	ID           BrandingID
	Name         string
	FolderID     *FolderID // nil: at the root level
	LogoMediaID  *MediumID // a raster picture of the workspace; nil: no logo
	ColorPrimary string    // #RRGGBB
	Font         Font
	Footer       *string // plain text
	SortOrder    int32
	CreatedAt    time.Time
	UpdatedAt    time.Time

	// Number counts the records created in the workspace. Brandings that are otherwise equal are
	// sorted by it.
	Number int64
	// Revision rises when the branding's own fields change. ETag and If-Match carry it.
	Revision int64
}

// Fields appends the branding as lists and answers show it. Brandings have no events.
func (b *Branding) Fields(o *Object) {
	o.Text("id", string(b.ID))
	o.Text("name", b.Name)
	o.OptText("folder_id", (*string)(b.FolderID))
	o.OptText("logo_media_id", (*string)(b.LogoMediaID))
	o.Text("color_primary", b.ColorPrimary)
	o.Text("font", string(b.Font))
	o.OptText("footer", b.Footer)
	o.Int("sort_order", int64(b.SortOrder))
	o.Time("created_at", b.CreatedAt)
	o.Time("updated_at", b.UpdatedAt)
}

// BrandingFilter limits a list of brandings. The zero value has no limits.
type BrandingFilter struct {
	Folder Opt[FolderID] // null: at the root level
	Query  string        // part of the name, folded as in all searches
	// UpdatedSince is the earliest UpdatedAt; nil: any.
	UpdatedSince *time.Time
	Sort         ProjectSort
	Paging
}

// BrandingChange is what a client sends to create or change a branding.
type BrandingChange struct {
	Name         Opt[string]
	FolderID     Opt[FolderID]
	LogoMediaID  Opt[MediumID]
	ColorPrimary Opt[string] // null is DefaultBrandingColor
	Font         Opt[string] // null is SystemFont
	Footer       Opt[string]
	SortOrder    Opt[int32]
}

// Empty reports whether no writable field was sent.
func (c BrandingChange) Empty() bool {
	return !(c.Name.Set || c.FolderID.Set || c.LogoMediaID.Set || c.ColorPrimary.Set || c.Font.Set || c.Footer.Set || c.SortOrder.Set)
}

// Check returns Invalid for the first bad field of those that were sent. It does not check what is
// stored, such as whether the folder exists.
func (c BrandingChange) Check() error {
	switch {
	case c.Name.Null:
		return InvalidField("name", "name must not be null: give it 1 to %d characters", MaxName)
	case c.SortOrder.Null:
		return InvalidField("sort_order", "sort_order must not be null: send a whole number, or leave it out")
	}
	if c.Name.Set {
		if err := CheckName("name", c.Name.Value, MaxName); err != nil {
			return err
		}
	}
	if c.ColorPrimary.Given() {
		if err := checkColor("color_primary", c.ColorPrimary.Value); err != nil {
			return err
		}
	}
	if c.Font.Given() {
		if _, err := ParseFont(c.Font.Value); err != nil {
			return err
		}
	}
	return CheckLength("footer", c.Footer.Value, MaxFooter)
}

// Apply returns b with the fields that were sent. A null color or font means the default.
func (c BrandingChange) Apply(b Branding) Branding {
	if c.Name.Set {
		b.Name = c.Name.Value
	}
	if c.FolderID.Set {
		b.FolderID = c.FolderID.Pointer()
	}
	if c.LogoMediaID.Set {
		b.LogoMediaID = c.LogoMediaID.Pointer()
	}
	if c.ColorPrimary.Set {
		b.ColorPrimary = DefaultBrandingColor
		if c.ColorPrimary.Given() {
			b.ColorPrimary = c.ColorPrimary.Value
		}
	}
	if c.Font.Set {
		b.Font = SystemFont
		if c.Font.Given() {
			b.Font = Font(c.Font.Value)
		}
	}
	if c.Footer.Set {
		b.Footer = c.Footer.Pointer()
	}
	if c.SortOrder.Set {
		b.SortOrder = c.SortOrder.Value
	}
	return b
}

// NewBranding returns the branding to which the fields of a new one are applied.
func NewBranding() Branding { return Branding{ColorPrimary: DefaultBrandingColor, Font: SystemFont} }
