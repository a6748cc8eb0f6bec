package front

// Crowd counts n requests more than there are.
func (f *Front) Crowd(n int64) { f.working.Add(n) }

// CrowdStreams counts n streams more than there are.
func (f *Front) CrowdStreams(n int) {
	f.streams.mu.Lock()
	defer f.streams.mu.Unlock()
	f.streams.all += n
}

// CrowdWorkspace counts n requests of a workspace more than there are.
func (f *Front) CrowdWorkspace(ws string, n int64) { f.shares.add(ws, n) }

// Shares returns how many workspaces are known to have requests in work.
func (f *Front) Shares() int {
	f.shares.mu.Lock()
	defer f.shares.mu.Unlock()
	return len(f.shares.by)
}

// CrowdAnswers counts n bytes of answers of a workspace more than there are.
func (f *Front) CrowdAnswers(ws string, n int64) {
	(&held{budget: f.answers, workspace: ws, bytes: -n}).release()
}

// CrowdBodies counts n bytes of bodies of a workspace more than there are.
func (f *Front) CrowdBodies(ws string, n int64) {
	(&held{budget: f.bodies, workspace: ws, bytes: -n}).release()
}
