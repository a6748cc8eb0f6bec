package sheaf

// Plan is what a workspace has paid for.
type Plan string

// The plans.
const (
	Free     Plan = "free"
	Pro      Plan = "pro"
	Business Plan = "business"
)

// ParsePlan returns the plan of that name.
func ParsePlan(s string) (Plan, error) {
	switch p := Plan(s); p {
	case Free, Pro, Business:
		return p, nil
	}
	return "", InvalidField("plan", "plan must be free, pro or business, not %q", s)
}

// Paid reports whether the plan includes the API.
func (p Plan) Paid() bool { return p == Pro || p == Business }

// MaxKeys returns how many live keys a workspace may have at a time.
func (p Plan) MaxKeys() int {
	switch p {
	case Pro:
		return 5
	case Business:
		return 25
	}
	return 0
}

// MaxKeysAnHour returns how many keys a workspace may create within an hour, including revoked
// ones. That is enough to replace them all now and then, and too few to create keys and discard
// them.
func (p Plan) MaxKeysAnHour() int { return 10 * p.MaxKeys() }

// MaxSubscriptions returns how many webhook subscriptions a workspace may have.
func (p Plan) MaxSubscriptions() int {
	switch p {
	case Pro:
		return 3
	case Business:
		return 20
	}
	return 0
}

// MaxShares returns how many shares a workspace may have.
func (p Plan) MaxShares() int {
	switch p {
	case Pro:
		return 1_000
	case Business:
		return 10_000
	}
	return 0
}

// AllowShares returns PLAN_REQUIRED unless the plan includes creating and changing shares. Existing
// shares stay on every plan.
func (p Plan) AllowShares() error {
	if p.Paid() {
		return nil
	}
	return PlanRequiredf("sharing needs the Pro or Business plan, this workspace is on %s: upgrade it to make or change shares; those that it has stay", p)
}

// AllowAudit returns PLAN_REQUIRED unless the plan includes reading the audit log. It is written on every plan.
func (p Plan) AllowAudit() error {
	if p == Business {
		return nil
	}
	return PlanRequiredf("the audit log needs the Business plan, this workspace is on %s: upgrade it to read the log, which is kept on every plan", p)
}

// MaxProposals returns how many open proposals a workspace may have.
func (p Plan) MaxProposals() int {
	switch p {
	case Pro:
		return 1_000
	case Business:
		return 10_000
	}
	return 0
}

// AllowProposals returns PLAN_REQUIRED unless the plan includes making proposals. Open ones can be
// decided on every plan.
func (p Plan) AllowProposals() error {
	if p.Paid() {
		return nil
	}
	return PlanRequiredf("proposals need the Pro or Business plan, this workspace is on %s: upgrade it to make some; open ones can still be decided", p)
}

// AllowFolders returns PLAN_REQUIRED unless the plan includes folders of that type: project folders
// need Pro, branding folders Business.
func (p Plan) AllowFolders(t EntityType) error {
	if p == Business || p == Pro && t == ProjectFolder {
		return nil
	}
	if t == ProjectFolder {
		return PlanRequiredf("project folders need the Pro or Business plan, this workspace is on %s: upgrade it to use folders", p)
	}
	return PlanRequiredf("branding folders need the Business plan, this workspace is on %s: upgrade it to use them", p)
}

// AllowBrandings returns PLAN_REQUIRED unless the plan includes creating and changing brandings,
// which needs Business. Existing ones can be read and deleted on every paid plan.
func (p Plan) AllowBrandings() error {
	if p == Business {
		return nil
	}
	return PlanRequiredf("brandings need the Business plan, this workspace is on %s: upgrade it to make or change them; it can read and delete those it has", p)
}

// AllowAPI returns PLAN_REQUIRED on a plan without API access.
func (p Plan) AllowAPI() error {
	if p.Paid() {
		return nil
	}
	return PlanRequiredf("API access needs the Pro or Business plan, this workspace is on %s: upgrade it to use the API", p)
}
