package console

import (
	"fmt"
	"net/http"
	"strings"

	"sheaf.dev/internal/sheaf"
)

func (c *Console) workspace(v *visit) error { return v.redirect(v.at("projects")) }

// settingsPage is the data of settings.html.
type settingsPage struct {
	Form, Done string // the form that was refused, or the text after a change
	Name       string // the workspace's name, or the one that was typed
	Plans      []planView
	Brandings  []sheaf.Branding // to choose the default from
	FixedPlans bool             // only the operator changes plans
	Branding   bool             // the plan includes choosing a default
	Default    sheaf.BrandingID // the default branding, or the one that was chosen
	// The base of each form.
	NameBasis, PlanBasis, BrandingBasis basis
}

func planField(p sheaf.Plan) field { return field{Name: "plan", Label: "Plan", Value: string(p)} }

// brandingField returns the field of the default branding. It shows the branding's name if `all`
// has it.
func brandingField(id sheaf.BrandingID, all []sheaf.Branding) field {
	f := field{Name: "branding", Label: "Default branding", Value: string(id), Shown: "None"}
	for _, b := range all {
		if b.ID == id {
			f.Shown = b.Name
		}
	}
	return f
}

// workspaceNow reads the workspace again.
func (v *visit) workspaceNow() (sheaf.Workspace, error) {
	if err := v.identify(); err != nil {
		return sheaf.Workspace{}, err
	}
	_, m, err := v.session.Caller(v.caller.Workspace)
	return m.Workspace, err
}

// planView is a plan to choose.
type planView struct {
	Plan     sheaf.Plan
	Name     string
	Includes string
	Current  bool
	Stops    string // what would stop working; empty for nothing
}

// settingsPage returns the page with the stored values.
func (v *visit) settingsPage() (settingsPage, error) {
	p := settingsPage{Name: v.member.Workspace.Name, Branding: v.mayMakeBrandings(), Plans: []planView{
		{Plan: sheaf.Free, Name: "Free", Includes: "Projects and documents in the console. No API, folders or webhooks."},
		{Plan: sheaf.Pro, Name: "Pro", Includes: "The API with " + many(sheaf.Pro.MaxKeys(), "key") + ", project folders, " +
			many(sheaf.Pro.MaxSubscriptions(), "webhook") + "."},
		{Plan: sheaf.Business, Name: "Business", Includes: "The API with " + many(sheaf.Business.MaxKeys(), "key") +
			", project and branding folders, brandings, " + many(sheaf.Business.MaxSubscriptions(), "webhook") + "."},
	}}
	p.FixedPlans = v.console.app.FixedPlans()
	p.choosePlan(v.member.Workspace.Plan)
	var err error
	if p.Brandings, err = v.brandingChoices(); err != nil {
		return p, err
	}
	p.Default = v.member.Workspace.DefaultBranding
	p.NameBasis = basis{Was: []field{nameField(p.Name)}}
	p.PlanBasis = basis{Was: []field{planField(v.member.Workspace.Plan)}}
	p.BrandingBasis = basis{Was: []field{brandingField(p.Default, p.Brandings)}}
	if v.restricted() {
		return p, nil // only owners change the plan, and owners are never restricted
	}
	ctx, a, now := v.r.Context(), v.console.app, v.member.Workspace
	keys, err := a.Keys(ctx, v.caller, sheaf.Paging{Limit: 1})
	if err != nil {
		return p, err
	}
	folders := map[sheaf.EntityType]int64{}
	for _, kind := range []sheaf.EntityType{sheaf.ProjectFolder, sheaf.BrandingFolder} {
		page, err := a.Folders(ctx, v.caller, sheaf.FolderFilter{EntityType: kind, Paging: sheaf.Paging{Limit: 1}})
		if err != nil {
			return p, err
		}
		folders[kind] = page.Total
	}
	for i := range p.Plans {
		p.Plans[i].Stops = stopsOn(p.Plans[i].Plan, now, keys.Total, folders)
	}
	return p, nil
}

// choosePlan marks a plan as chosen.
func (p *settingsPage) choosePlan(plan sheaf.Plan) {
	for i := range p.Plans {
		p.Plans[i].Current = p.Plans[i].Plan == plan
	}
}

// settingsAgain shows the settings again with the error of one form, which keeps what was typed or
// chosen.
func (v *visit) settingsAgain(form string, begun basis, fault error) error {
	p, err := v.settingsPage()
	if err != nil {
		return err
	}
	switch p.Form = form; form {
	case "name":
		p.Name, p.NameBasis = v.typed("name"), begun
	case "plan":
		p.PlanBasis = begun
		p.choosePlan(sheaf.Plan(v.typed("plan")))
	case "branding":
		p.Default, p.BrandingBasis = sheaf.BrandingID(v.typed("branding")), begun
	}
	return v.again("settings", p, fault)
}

// stopsOn describes what a workspace with `keys` keys and these folders of each kind loses on a
// plan.
func stopsOn(to sheaf.Plan, now sheaf.Workspace, keys int64, folders map[sheaf.EntityType]int64) string {
	var lost []string
	if !to.Paid() && now.Plan.Paid() {
		if keys > 0 {
			lost = append(lost, many(keys, "key")+" "+plural(keys, "is", "are")+" refused")
		}
		if now.Subscriptions > 0 {
			lost = append(lost, many(now.Subscriptions, "webhook")+" "+plural(now.Subscriptions, "gets", "get")+" nothing more")
		}
	}
	if to != now.Plan && keys > int64(to.MaxKeys()) && to.Paid() {
		lost = append(lost, fmt.Sprintf("you cannot create a key while there are more than %d", to.MaxKeys()))
	}
	if to != now.Plan && now.Subscriptions > int64(to.MaxSubscriptions()) && to.Paid() {
		lost = append(lost, fmt.Sprintf("you cannot create a webhook while there are more than %d", to.MaxSubscriptions()))
	}
	for _, kind := range []sheaf.EntityType{sheaf.ProjectFolder, sheaf.BrandingFolder} {
		if n := folders[kind]; n > 0 && now.Plan.AllowFolders(kind) == nil && to.AllowFolders(kind) != nil {
			lost = append(lost, fmt.Sprintf("%s %s and can no longer be changed", many(n, string(kind)+" folder"), plural(n, "stays", "stay")))
		}
	}
	if len(lost) == 0 {
		return ""
	}
	return "With this plan " + strings.Join(lost, "; ") + "."
}

// settings answers GET /w/{workspace}/settings: the settings of the workspace.
func (c *Console) settings(v *visit) error {
	p, err := v.settingsPage()
	if err != nil {
		return err
	}
	p.Done = map[string]string{"name": "Workspace renamed.", "plan": "Plan changed.", "branding": "Default branding changed."}[v.r.URL.Query().Get("done")]
	return v.show(http.StatusOK, "settings", p)
}

// renameWorkspace answers POST /w/{workspace}/settings/name: it renames the workspace.
func (c *Console) renameWorkspace(v *visit) error {
	name, form := v.typed("name"), v.basis([]field{nameField("")})
	err := v.saveValue(&form, nameField(name), func(was string) error {
		return c.app.RenameWorkspace(v.r.Context(), v.caller, name, sheaf.Some(was))
	}, func() (field, error) {
		now, err := v.workspaceNow()
		return nameField(now.Name), err
	})
	if err != nil {
		return v.settingsAgain("name", form, err)
	}
	return v.done(v.at("settings?done=name"))
}

// changePlan answers POST /w/{workspace}/settings/plan: it changes the plan.
func (c *Console) changePlan(v *visit) error {
	form := v.basis([]field{planField("")})
	plan, err := sheaf.ParsePlan(v.typed("plan"))
	if err == nil {
		err = v.saveValue(&form, planField(plan), func(was string) error {
			return c.app.ChangePlan(v.r.Context(), v.caller, plan, sheaf.Some(sheaf.Plan(was)))
		}, func() (field, error) {
			now, err := v.workspaceNow()
			return planField(now.Plan), err
		})
	}
	if err != nil {
		return v.settingsAgain("plan", form, err)
	}
	return v.done(v.at("settings?done=plan"))
}

// chooseBranding answers POST /w/{workspace}/settings/branding: it sets the default branding, which
// shares without a branding of their own use.
func (c *Console) chooseBranding(v *visit) error {
	form := v.basis([]field{brandingField("", nil)})
	all, err := v.brandingChoices()
	if err != nil {
		return err
	}
	typed := sheaf.BrandingID(v.typed("branding"))
	chosen, err := asID(typed, "branding")
	if err == nil {
		err = v.saveValue(&form, brandingField(typed, all), func(was string) error {
			return c.app.SetDefaultBranding(v.r.Context(), v.caller, chosen.Pointer(), sheaf.Some(sheaf.BrandingID(was)))
		}, func() (field, error) {
			now, err := v.workspaceNow()
			return brandingField(now.DefaultBranding, all), err
		})
	}
	if err != nil {
		return v.settingsAgain("branding", form, err)
	}
	return v.done(v.at("settings?done=branding"))
}

// maxChoices is the number of brandings that the settings offer. The current default is always one
// of them.
const maxChoices = 1000

// brandingChoices returns the brandings to choose the default from.
func (v *visit) brandingChoices() ([]sheaf.Branding, error) {
	if !v.caller.May(sheaf.BrandingsRead) {
		return nil, nil
	}
	page, err := v.console.app.Brandings(v.r.Context(), v.caller, sheaf.BrandingFilter{Sort: sheaf.ByName, Paging: sheaf.Paging{Limit: maxChoices}})
	if err != nil || !page.More() {
		return page.Items, err
	}
	now, err := v.console.app.DefaultBranding(v.r.Context(), v.caller)
	if err == nil && now != nil {
		page.Items = append(page.Items, *now)
	}
	return page.Items, err
}
