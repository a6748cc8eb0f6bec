package console

import (
	"fmt"
	"net/http"
	"strings"

	"sheaf.dev/internal/sheaf"
)

func (c *Console) workspace(v *visit) error { return v.redirect(v.at("projects")) }

// settingsPage says which of its forms was refused, or what was done.
type settingsPage struct {
	Form, Done string
	Name       string // of the workspace, or what was typed
	Plans      []planView
	Brandings  []sheaf.Branding // of which one may be the default
	Branding   bool             // the plan includes choosing one
	Default    sheaf.BrandingID // the default one, or what was chosen
	// What each form began with.
	NameBasis, PlanBasis, BrandingBasis basis
}

// The fields of the forms, with a value.
func nameField(name string) field { return field{Name: "name", Label: "Name", Value: name} }

func planField(p sheaf.Plan) field { return field{Name: "plan", Label: "Plan", Value: string(p)} }

// brandingField shows the branding by its name, where that is among those to choose from.
func brandingField(id sheaf.BrandingID, all []sheaf.Branding) field {
	f := field{Name: "branding", Label: "Default branding", Value: string(id), Shown: "Sheaf itself"}
	for _, b := range all {
		if b.ID == id {
			f.Shown = b.Name
		}
	}
	return f
}

// workspaceNow reads the workspace once more.
func (v *visit) workspaceNow() (sheaf.Workspace, error) {
	if err := v.identify(); err != nil {
		return sheaf.Workspace{}, err
	}
	_, m, err := v.session.Caller(v.caller.Workspace)
	return m.Workspace, err
}

// planView is a plan as the settings show it.
type planView struct {
	Plan     sheaf.Plan
	Name     string
	Includes string
	Current  bool
	Stops    string // what of the workspace would stop working; empty for nothing
}

// settingsPage is the data of settings.html.
func (v *visit) settingsPage() (settingsPage, error) {
	p := settingsPage{Name: v.member.Workspace.Name, Branding: v.mayMakeBrandings(), Plans: []planView{
		{Plan: sheaf.Free, Name: "Free", Includes: "Projects and documents in the console. No API, folders or webhooks."},
		{Plan: sheaf.Pro, Name: "Pro", Includes: "The API with " + many(sheaf.Pro.MaxKeys(), "key") + ", project folders, " +
			many(sheaf.Pro.MaxSubscriptions(), "webhook") + "."},
		{Plan: sheaf.Business, Name: "Business", Includes: "The API with " + many(sheaf.Business.MaxKeys(), "key") +
			", project and branding folders, brandings, " + many(sheaf.Business.MaxSubscriptions(), "webhook") + "."},
	}}
	p.choosePlan(v.member.Workspace.Plan)
	var err error
	if p.Brandings, err = v.brandingChoices(); err != nil {
		return p, err
	}
	p.Default = v.member.Workspace.DefaultBranding
	p.NameBasis = basisOf(0, []field{nameField(p.Name)})
	p.PlanBasis = basisOf(0, []field{planField(v.member.Workspace.Plan)})
	p.BrandingBasis = basisOf(0, []field{brandingField(p.Default, p.Brandings)})
	return p, v.stops(p.Plans)
}

// choosePlan ticks a plan.
func (p *settingsPage) choosePlan(plan sheaf.Plan) {
	for i := range p.Plans {
		p.Plans[i].Current = p.Plans[i].Plan == plan
	}
}

// settingsAgain shows the settings with what was wrong with one of their forms, which keeps what was
// typed or chosen.
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

// stops fills in what of the workspace each plan does not include.
func (v *visit) stops(plans []planView) error {
	ctx, a := v.r.Context(), v.console.app
	keys, err := a.Keys(ctx, v.caller, sheaf.Paging{Limit: 1})
	if err != nil {
		return err
	}
	folders := map[sheaf.EntityType]int64{}
	for _, kind := range []sheaf.EntityType{sheaf.ProjectFolder, sheaf.BrandingFolder} {
		page, err := a.Folders(ctx, v.caller, sheaf.FolderFilter{EntityType: kind, Paging: sheaf.Paging{Limit: 1}})
		if err != nil {
			return err
		}
		folders[kind] = page.Total
	}
	now := v.member.Workspace
	for i := range plans {
		plans[i].Stops = stopsOn(plans[i].Plan, now, keys.Total, folders)
	}
	return nil
}

// stopsOn describes what a workspace with `keys` keys and these folders of each kind loses on a plan.
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
		lost = append(lost, fmt.Sprintf("no new key can be made while there are more than %d", to.MaxKeys()))
	}
	if to != now.Plan && now.Subscriptions > int64(to.MaxSubscriptions()) && to.Paid() {
		lost = append(lost, fmt.Sprintf("no new webhook can be made while there are more than %d", to.MaxSubscriptions()))
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

// settings answers GET /w/{workspace}/settings: it shows the settings of the workspace.
func (c *Console) settings(v *visit) error {
	p, err := v.settingsPage()
	if err != nil {
		return err
	}
	p.Done = map[string]string{"name": "The workspace is renamed.", "plan": "The plan is changed.", "branding": "The default branding is changed."}[v.r.URL.Query().Get("done")]
	return v.show(http.StatusOK, "settings", p)
}

// renameWorkspace answers POST /w/{workspace}/settings/name: it changes its name.
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

// changePlan answers POST /w/{workspace}/settings/plan: it changes its plan.
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
