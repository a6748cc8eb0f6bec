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

// mcpCommand serves an agent's host, such as an editor, which starts this program and talks to it
// on standard input and output. The command has no tools of its own: it forwards requests to the
// server's /mcp, so both offer the same tools, whatever their versions are.
//
//	host ── lines of JSON ──▶ sheaf mcp ── POST /mcp with the key ──▶ server
type mcpCommand struct{ apiFlags }

// Run answers until standard input ends. It writes nothing but the protocol to standard output.
func (c *mcpCommand) Run(ctx context.Context, p *Program) error {
	l, err := c.login(p)
	if err != nil {
		return err
	}
	// This request comes first, because its error explains what is wrong with the key or the
	// address.
	api, err := p.client(l, fewRetries)
	if err != nil {
		return err
	}
	if _, err := api.Me(ctx); err != nil {
		return explained(err, l.server)
	}
	connections := http.DefaultTransport.(*http.Transport).Clone()
	defer connections.CloseIdleConnections()
	caller := sdk.NewClient(&sdk.Implementation{Name: "sheaf-mcp", Version: p.Version}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	keyed := &http.Client{Transport: keyedTransport{connections, l.key, "sheaf/" + p.Version},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // the key must not be sent to another server
	remote, err := caller.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: l.server + "/mcp", HTTPClient: keyed, DisableStandaloneSSE: true},
		&sdk.ClientSessionOptions{ProtocolVersion: bridgedVersion})
	if err != nil {
		return fmt.Errorf("%s has no /mcp that this program can speak to: %w", l.server, err)
	}
	defer remote.Close()
	return p.bridge(ctx, remote)
}

// bridgedVersion is the protocol version of the session with the server. Its results are forwarded
// unchanged, and an older host understands them.
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

// maxFrame bounds a message of the host. The server accepts messages of the same length.
const maxFrame = 10<<20 + 4096

// bridge forwards the host's requests until standard input ends.
func (p *Program) bridge(ctx context.Context, remote *sdk.ClientSession) error {
	begun := remote.InitializeResult()
	host := sdk.NewServer(begun.ServerInfo, &sdk.ServerOptions{Instructions: begun.Instructions, Capabilities: begun.Capabilities,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }})
	host.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if result, err := forwardCall(ctx, remote, r.GetParams()); result != nil || err != nil {
				return result, err
			}
			return next(ctx, method, r)
		}
	})
	out := &lineWriter{out: p.Stdout}
	in := &messageReader{in: bufio.NewReader(p.Stdin), refuse: out}
	err := host.Run(ctx, drainingTransport{&sdk.IOTransport{Reader: io.NopCloser(in), Writer: out, MaxLineLength: maxFrame}})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// forwardCall forwards a request to the server. It returns nil for requests that the bridge answers
// itself.
func forwardCall(ctx context.Context, remote *sdk.ClientSession, asked sdk.Params) (sdk.Result, error) {
	switch p := asked.(type) {
	case *sdk.ListToolsParams:
		return resultOf(remote.ListTools(ctx, p))
	case *sdk.ListResourcesParams:
		return resultOf(remote.ListResources(ctx, p))
	case *sdk.ListResourceTemplatesParams:
		return resultOf(remote.ListResourceTemplates(ctx, p))
	case *sdk.ReadResourceParams:
		return resultOf(remote.ReadResource(ctx, p))
	case *sdk.CallToolParamsRaw:
		out, err := remote.CallTool(ctx, &sdk.CallToolParams{Meta: p.Meta, Name: p.Name, Arguments: p.Arguments})
		var answer *jsonrpc.Error
		if err != nil && (!errors.As(err, &answer) || answer.Code == notSent) {
			// The language model reads this text, and may try again.
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "the server did not answer: " + OneLine(err.Error())}}}, nil
		}
		return resultOf(out, err)
	}
	return nil, nil
}

// notSent is the SDK's code for a message that did not reach a server.
const notSent = -32005

// resultOf returns the result, or on an error a nil interface instead of a nil pointer in an
// interface.
func resultOf[T any, P interface {
	*T
	sdk.Result
}](out P, err error) (sdk.Result, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}

// lineWriter writes one message at a time. Close does not close the writer, which is the program's
// standard output.
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

// Close implements io.Closer.
func (*lineWriter) Close() error { return nil }

// messageReader reads the messages of the host, one per line. It refuses a message whose id the SDK
// would change in the answer: the SDK reads a number as a float64 and drops its fraction. The
// server refuses such messages too.
type messageReader struct {
	in     *bufio.Reader
	refuse io.Writer
	rest   []byte // unread rest of a line
}

// Read implements io.Reader.
func (r *messageReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		// The SDK refuses a line that is longer than maxFrame; only its beginning is read.
		var line []byte
		var err error
		for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxFrame; {
			var part []byte
			part, err = r.in.ReadSlice('\n')
			line = append(line, part...)
		}
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

// unanswerable is the answer to a message whose id is refused.
const unanswerable = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string, or a whole number of at most 53 bits without fraction and exponent: others cannot be answered exactly as they were sent"}}` + "\n"

// isAnswerable reports whether a message has no id, or one that the SDK returns unchanged. The SDK
// refuses a message that is no JSON object.
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

// drainingTransport delays the end of the input until all requests are answered: a script writes
// its requests and closes standard input at once.
type drainingTransport struct{ sdk.Transport }

// Connect implements sdk.Transport.
func (t drainingTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &drainingConnection{Connection: c, waiting: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1)}, err
}

type drainingConnection struct {
	sdk.Connection
	answered chan struct{} // has a value if a request was answered since the last receive; capacity 1

	mu      sync.Mutex          // guards waiting
	waiting map[jsonrpc.ID]bool // the requests that are not answered yet
}

// Read returns the next message. It returns the end of the input when all requests are answered.
func (c *drainingConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
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

// left returns the number of unanswered requests.
func (c *drainingConnection) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// Write sends a message.
func (c *drainingConnection) Write(ctx context.Context, m jsonrpc.Message) error {
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
