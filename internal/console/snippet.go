package console

import "strings"

// snippet is a program to paste that verifies deliveries.
type snippet struct{ Name, Code, Note string }

// snippets returns programs in the languages that receivers are mostly written in. They read the
// secret from SHEAF_SECRET, because no page repeats it.
func snippets(header string) []snippet {
	return []snippet{
		{Name: "Go", Code: `http.Handle("/hook", webhook.Handler(os.Getenv("SHEAF_SECRET"),
	func(ctx context.Context, e webhook.Event) error {
		log.Println(e.Type, e.ID)
		return nil // an error makes Sheaf send it again
	}))`, Note: "with the package sheaf.dev/webhook"},
		{Name: "Node", Code: `import { Webhook } from "standardwebhooks";

app.post("/hook", express.raw({ type: "application/json" }), (req, res) => {
  const event = new Webhook(process.env.SHEAF_SECRET).verify(req.body, req.headers);
  console.log(event.type, event.id);
  res.sendStatus(204);
});`, Note: "npm install standardwebhooks; the body must be the raw one"},
		{Name: "Python", Code: `from standardwebhooks import Webhook

@app.post("/hook")
def hook():
    event = Webhook(os.environ["SHEAF_SECRET"]).verify(request.get_data(as_text=True), request.headers)
    print(event["type"], event["id"])
    return "", 204`, Note: "pip install standardwebhooks"},
		{Name: "n8n", Code: strings.ReplaceAll(n8n, "HEADER", strings.ToLower(header)), Note: "four nodes, no code"},
	}
}

// n8n describes the nodes with the field names of its editor. The body that a Webhook node has
// parsed differs from the signed bytes, so the raw body is verified.
const n8n = `Webhook: POST, option Raw Body on.
Extract From File: Extract From Text File, field data, destination raw, option Keep Source: JSON.
Crypto: HMAC, SHA256, hex, property signature; its credential has the whsec_… as it is as Hmac Secret; value:
  {{ ($json.headers["HEADER"] ?? "").match(/^t=(\d+)/)?.[1] }}.{{ $json.raw }}
If, both are true:
  {{ ($json.headers["HEADER"] ?? "").split(",").includes("v1=" + $json.signature) }}
  {{ Math.abs(Date.now() / 1000 - ($json.headers["HEADER"] ?? "").match(/^t=(\d+)/)?.[1]) <= 300 }}`
