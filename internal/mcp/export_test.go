package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/strict"
)

// Break makes a tool panic.
func (s *Server) Break(name string) {
	s.byName[name].call = func(*call, *strict.Fields) (*sdk.CallToolResult, error) { panic("planted " + name) }
}
