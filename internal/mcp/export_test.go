package mcp

import (
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// Break makes a tool panic.
func (s *Server) Break(name string) {
	s.byName[name].call = func(*call, *strict.Fields) (*sdk.CallToolResult, error) { panic("planted " + name) }
}

// WritingTools returns the tools that need documents:write.
func WritingTools() (names []string) {
	for _, t := range allTools() {
		if slices.Contains(t.need, sheaf.DocumentsWrite) {
			names = append(names, t.name)
		}
	}
	return names
}
