package httpapi

import (
	"hash/maphash"

	"sheaf.dev/internal/sheaf"
)

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
	s.gate.shares[maphash.String(s.gate.seed, string(ws))%uint64(len(s.gate.shares))].Add(n)
}

// CrowdAnswers counts n bytes of answers of a workspace more than there are.
func (s *Server) CrowdAnswers(ws sheaf.WorkspaceID, n int64) { s.gate.answers.give(ws, -n) }
