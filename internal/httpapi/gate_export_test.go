package httpapi

import "sheaf.dev/internal/sheaf"

// The bounds of the gate.
const (
	MaxWorking       = maxWorking
	WorkspaceWorking = workspaceWorking
	MaxBodies        = maxBodies
	MaxAnswers       = maxAnswers
	MaxStreams       = maxStreams
)

// Crowd counts n requests more than there are.
func (s *Server) Crowd(n int64) { s.gate.working.Add(n) }

// CrowdStreams counts n streams more than there are.
func (s *Server) CrowdStreams(n int) {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	s.streams.all += n
}

// CrowdWorkspace counts n requests of a workspace more than there are.
func (s *Server) CrowdWorkspace(ws sheaf.WorkspaceID, n int64) {
	s.gate.shares.add(ws, n)
}

// Shares returns how many workspaces are known to have requests in work.
func (s *Server) Shares() int {
	s.gate.shares.mu.Lock()
	defer s.gate.shares.mu.Unlock()
	return len(s.gate.shares.by)
}

// CrowdAnswers counts n bytes of answers of a workspace more than there are.
func (s *Server) CrowdAnswers(ws sheaf.WorkspaceID, n int64) { s.gate.answers.give(ws, -n) }
