package console

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
)

func (c *Console) workspace(v *visit) error { return v.redirect(v.at("projects")) }

// settingsPage says which of its forms was refused, or what was done.
type settingsPage struct {
	Form, Done string
	Plans      []planView
}

// planView is a plan as the settings show it.
type planView struct {
	Plan     sheaf.Plan
	Name     string
	Includes string
	Current  bool
}

// settingsPage is the data of settings.html.
func (v *visit) settingsPage() settingsPage {
	p := settingsPage{Plans: []planView{
		{Plan: sheaf.Free, Name: "Free", Includes: "Projects and documents in the console. No API, folders or webhooks."},
		{Plan: sheaf.Pro, Name: "Pro", Includes: "The API with " + many(sheaf.Pro.MaxKeys(), "key") + ", project folders, " +
			many(sheaf.Pro.MaxSubscriptions(), "webhook") + "."},
		{Plan: sheaf.Business, Name: "Business", Includes: "The API with " + many(sheaf.Business.MaxKeys(), "key") +
			", project and branding folders, " + many(sheaf.Business.MaxSubscriptions(), "webhook") + "."},
	}}
	for i := range p.Plans {
		p.Plans[i].Current = p.Plans[i].Plan == v.member.Workspace.Plan
	}
	return p
}

// settings answers GET /w/{workspace}/settings: it shows the settings of the workspace.
func (c *Console) settings(v *visit) error {
	p := v.settingsPage()
	p.Done = map[string]string{"name": "The workspace is renamed.", "plan": "The plan is changed."}[v.r.URL.Query().Get("done")]
	return v.show(http.StatusOK, "settings", p)
}

// renameWorkspace answers POST /w/{workspace}/settings/name: it changes its name.
func (c *Console) renameWorkspace(v *visit) error {
	if err := c.app.RenameWorkspace(v.r.Context(), v.caller, v.field("name")); err != nil {
		p := v.settingsPage()
		p.Form = "name"
		return v.again("settings", p, err)
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
		p := v.settingsPage()
		p.Form = "plan"
		return v.again("settings", p, err)
	}
	return v.done(v.at("settings?done=plan"))
}
