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
	for i := range p.Plans {
		p.Plans[i].Current = p.Plans[i].Plan == v.member.Workspace.Plan
	}
	var err error
	if p.Brandings, err = v.brandingChoices(); err != nil {
		return p, err
	}
	return p, v.stops(p.Plans)
}

// settingsAgain shows the settings with what was wrong with one of their forms.
func (v *visit) settingsAgain(form string, fault error) error {
	p, err := v.settingsPage()
	if err != nil {
		return err
	}
	if p.Form = form; form == "name" {
		p.Name = v.field("name")
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

// stopsOn says what a workspace with so many keys and folders of each kind loses on a plan.
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
	if err := c.app.RenameWorkspace(v.r.Context(), v.caller, v.field("name")); err != nil {
		return v.settingsAgain("name", err)
	}
	return v.done(v.at("settings?done=name"))
}

// changePlan answers POST /w/{workspace}/settings/plan: it changes its plan.
func (c *Console) changePlan(v *visit) error {
	plan, err := sheaf.ParsePlan(v.field("plan"))
	if err == nil {
		err = c.app.ChangePlan(v.r.Context(), v.caller, plan)
	}
	if err != nil {
		return v.settingsAgain("plan", err)
	}
	return v.done(v.at("settings?done=plan"))
}
