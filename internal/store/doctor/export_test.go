package doctor

// CheckNames returns the names of the checks of a workspace, and of rows without one.
func CheckNames() []string {
	names := []string{"orphan"}
	for _, c := range join(workspaceChecks, checkFactors, checkLetters) {
		if !c.information {
			names = append(names, c.name)
		}
	}
	return names
}

// Statements returns the text of each check of a workspace by the check's name.
func Statements() map[string]string {
	texts := map[string]string{}
	for _, c := range workspaceChecks {
		texts[c.name] = c.sql
	}
	return texts
}
