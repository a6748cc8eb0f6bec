// The official client of the protocol at work, over HTTP or, with --stdio, through sheaf mcp. It ends with an
// error when an answer is another than expected.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { SHEAF_SERVER, SHEAF_API_KEY, SHEAF_PROGRAM, HOME, PATH } = process.env;

const overHTTP = (key) =>
  new StreamableHTTPClientTransport(new URL("/mcp", SHEAF_SERVER), { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
const overStdio = () =>
  new StdioClientTransport({ command: SHEAF_PROGRAM, args: ["mcp"], env: { SHEAF_SERVER, SHEAF_API_KEY, HOME, PATH } });

const client = new Client({ name: "sheaf-test", version: "1.0.0" });
await client.connect(process.argv.includes("--stdio") ? overStdio() : overHTTP(SHEAF_API_KEY));

// call returns the facts of a tool's answer, and its text where there is one.
const call = async (name, args) => {
  const out = await client.callTool({ name, arguments: args });
  return { refused: out.isError === true, facts: JSON.parse(out.content[0].text), text: out.content[1]?.text };
};

assert.equal(client.getServerVersion().name, "sheaf");
assert.match(client.getInstructions(), /edit_document/);
const { tools } = await client.listTools();
assert.ok(tools.length >= 20);
assert.equal(tools.find((t) => t.name === "find").annotations.readOnlyHint, true);
assert.equal(tools.find((t) => t.name === "delete_document").annotations.destructiveHint, true);

const made = await call("create_document", { title: "Runbook", content: "# Runbook\n\nCall Ada.\n" });
const id = made.facts.id;
const read = await call("read_document", { document_id: id });
assert.equal(read.text, "# Runbook\n\nCall Ada.\n");
const edited = await call("edit_document", { document_id: id, edits: [{ old: "Ada", new: "Grace" }], revision: read.facts.revision });
assert.equal(edited.facts.revision, 2);
const late = await call("rewrite_document", { document_id: id, revision: 1, content: "mine" });
assert.ok(late.refused);
assert.match(late.facts.error, /was changed after you read revision 1/);
const wrong = await call("read_document", { id });
assert.ok(wrong.refused);
assert.match(wrong.facts.error, /which takes document_id/);

const resource = await client.readResource({ uri: `sheaf://document/${id}` });
assert.equal(resource.contents[0].text, "# Runbook\n\nCall Grace.\n");
assert.ok((await client.listResources()).resources.some((r) => r.uri === `sheaf://document/${id}`));
assert.equal((await client.listResourceTemplates()).resourceTemplates[0].uriTemplate, "sheaf://document/{id}");
await client.close();

await assert.rejects(new Client({ name: "nobody", version: "1.0.0" }).connect(overHTTP("shf_x")), /API key is malformed/);
console.log("all as expected");
