package doctor

// CheckNames returns the names of the checks of a workspace, and of rows without one.
func CheckNames() []string {
	names := []string{"orphan"}
	for _, c := range workspaceChecks {
		if !c.information {
			names = append(names, c.name)
		}
	}
	return names
}
