package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpCommand serves a host of agents, such as an editor, that starts programs and speaks to them on
// standard input and output. It has no tools of its own: what it is asked, it asks the server's /mcp,
// so that both offer the same, whatever the versions are.
//
//	host ── lines of JSON ──▶ sheaf mcp ── POST /mcp with the key ──▶ server
type mcpCommand struct{ apiFlags }

// Run answers until standard input ends. Nothing but the protocol goes to standard output.
func (c *mcpCommand) Run(ctx context.Context, p *Program) error {
	l, err := c.login(p)
	if err != nil {
		return err
	}
	// The first question is one whose refusal says in words what is wrong with the key or the address.
	api, err := p.client(l, fewRetries)
	if err != nil {
		return err
	}
	if _, err := api.Me(ctx); err != nil {
		return explained(err, l.server)
	}
	connections := http.DefaultTransport.(*http.Transport).Clone()
	defer connections.CloseIdleConnections()
	remote, err := p.connectMCP(ctx, l, connections)
	if err != nil {
		return fmt.Errorf("%s has no /mcp that this program can speak to: %w", l.server, err)
	}
	defer remote.Close()
	return p.bridge(ctx, remote)
}

// connectMCP begins a session with the server's tools.
func (p *Program) connectMCP(ctx context.Context, l login, connections http.RoundTripper) (*sdk.ClientSession, error) {
	caller := sdk.NewClient(&sdk.Implementation{Name: "sheaf-mcp", Version: p.Version}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	keyed := &http.Client{Transport: keyedTransport{connections, l.key, "sheaf/" + p.Version},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // a key goes where it was meant to
	return caller.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: l.server + "/mcp", HTTPClient: keyed, DisableStandaloneSSE: true},
		&sdk.ClientSessionOptions{ProtocolVersion: bridgedVersion})
}

// bridgedVersion is the version of the protocol that is spoken with the server. Its results are
// handed on as they are, and have nothing in them that an older host does not know.
const bridgedVersion = "2025-11-25"

// keyedTransport sends the key with every request.
type keyedTransport struct {
	next       http.RoundTripper
	key, agent string
}

// RoundTrip implements http.RoundTripper.
func (t keyedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.key)
	r.Header.Set("User-Agent", t.agent)
	return t.next.RoundTrip(r)
}

// maxFrame is how long a message of the host may be: as long as one that the server takes.
const maxFrame = 10<<20 + 4096

// bridge hands on what the host asks, until it asks no more.
func (p *Program) bridge(ctx context.Context, remote *sdk.ClientSession) error {
	begun := remote.InitializeResult()
	host := sdk.NewServer(begun.ServerInfo, &sdk.ServerOptions{Instructions: begun.Instructions, Capabilities: begun.Capabilities,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }})
	host.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if result, err := handOn(ctx, remote, r.GetParams()); result != nil || err != nil {
				return result, err
			}
			return next(ctx, method, r)
		}
	})
	out := &lineWriter{out: p.Stdout}
	in := &answerable{in: bufio.NewReader(p.Stdin), refuse: out}
	err := host.Run(ctx, patientTransport{&sdk.IOTransport{Reader: io.NopCloser(in), Writer: out, MaxLineLength: maxFrame}})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// handOn asks the server what the host asked; nothing is returned for what a bridge answers itself.
func handOn(ctx context.Context, remote *sdk.ClientSession, asked sdk.Params) (sdk.Result, error) {
	switch p := asked.(type) {
	case *sdk.ListToolsParams:
		return whole(remote.ListTools(ctx, p))
	case *sdk.ListResourcesParams:
		return whole(remote.ListResources(ctx, p))
	case *sdk.ListResourceTemplatesParams:
		return whole(remote.ListResourceTemplates(ctx, p))
	case *sdk.ReadResourceParams:
		return whole(remote.ReadResource(ctx, p))
	case *sdk.CallToolParamsRaw:
		out, err := remote.CallTool(ctx, &sdk.CallToolParams{Meta: p.Meta, Name: p.Name, Arguments: p.Arguments})
		if err != nil && !answeredMCP(err) {
			// The language model is told where it reads, and may try again.
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "the server did not answer: " + OneLine(err.Error())}}}, nil
		}
		return whole(out, err)
	}
	return nil, nil
}

// notSent is the code by which the SDK says of a message that it did not reach a server.
const notSent = -32005

// answeredMCP reports whether an error is what the server answered.
func answeredMCP(err error) bool {
	var said *jsonrpc.Error
	return errors.As(err, &said) && said.Code != notSent
}

// whole is a result or an error, and never a result that is a pointer to nothing.
func whole[T any, P interface {
	*T
	sdk.Result
}](out P, err error) (sdk.Result, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}

// lineWriter writes one message at a time. It stays open when the protocol ends: it is the program's own.
type lineWriter struct {
	mu  sync.Mutex // guards out
	out io.Writer
}

// Write implements io.Writer.
func (w *lineWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(line)
}

// Close does nothing.
func (*lineWriter) Close() error { return nil }

// answerable reads the messages of the host, one per line. It refuses a message whose id the SDK
// would change in the answer: the SDK reads a number as a float64 and drops its fraction. The server
// does the same for messages to /mcp.
type answerable struct {
	in     *bufio.Reader
	refuse io.Writer
	rest   []byte // of a line that was not read whole
}

// Read implements io.Reader.
func (r *answerable) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.line()
		if len(line) == 0 {
			return 0, err
		}
		if isAnswerable(line) {
			r.rest = line
			break
		}
		if _, err := io.WriteString(r.refuse, unanswerable); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// line returns the next line, or the beginning of one that is longer than a message may be, which the SDK then refuses.
func (r *answerable) line() (line []byte, err error) {
	for {
		part, err := r.in.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > maxFrame {
			return line, err
		}
	}
}

// unanswerable is the answer to a message whose id is refused.
const unanswerable = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string, or a whole number of at most 53 bits without fraction and exponent: others cannot be answered exactly as they were sent"}}` + "\n"

// isAnswerable reports whether a message has no id, or one that is answered as it was sent. What is no JSON object, the SDK judges.
func isAnswerable(line []byte) bool {
	var message map[string]json.RawMessage
	if json.Unmarshal(line, &message) != nil {
		return true
	}
	id, given := message["id"]
	if !given || bytes.HasPrefix(id, []byte(`"`)) {
		return true
	}
	const most = 1<<53 - 1
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -most <= n && n <= most && strconv.FormatInt(n, 10) == string(id)
}

// patientTransport lets what was asked be answered after the end of the input: a script writes its
// questions, and ends it at once.
type patientTransport struct{ sdk.Transport }

// Connect implements sdk.Transport.
func (t patientTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &patientConnection{Connection: c, waiting: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1)}, err
}

type patientConnection struct {
	sdk.Connection
	answered chan struct{} // has a value when something was answered since the last look

	mu      sync.Mutex          // guards waiting
	waiting map[jsonrpc.ID]bool // what was asked and is not answered yet
}

// Read returns the next message. The end of the input comes when all is answered.
func (c *patientConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		c.waiting[r.ID] = true
		c.mu.Unlock()
	}
	for err != nil && c.left() > 0 {
		select {
		case <-c.answered:
		case <-ctx.Done():
			return m, err
		}
	}
	return m, err
}

// left is how many questions are not answered.
func (c *patientConnection) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// Write sends a message.
func (c *patientConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.waiting, r.ID)
		c.mu.Unlock()
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}
