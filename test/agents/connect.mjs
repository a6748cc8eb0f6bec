// An app with only the address of the server, a person and no key: the official client or, with --remote, a host that
// starts mcp-remote. It ends with an error when something is other than expected, and prints its access token.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { agree } from "./person.mjs";

const endpoint = new URL("/mcp", process.env.SHEAF_SERVER);

// official keeps in memory what the official client asks it to keep.
class Official {
  redirectUrl = "http://127.0.0.1:8123/callback";
  clientMetadata = { client_name: "Official", redirect_uris: [this.redirectUrl], grant_types: ["authorization_code", "refresh_token"] };
  clientInformation = () => this.app;
  saveClientInformation = (app) => void (this.app = app);
  tokens = () => this.kept;
  saveTokens = (tokens) => void (this.kept = tokens);
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier) => void (this.verifier = verifier);
  state = () => "st&te";
  redirectToAuthorization = (address) => void (this.address = address);

  async connect() {
    const client = new Client({ name: "sheaf-test", version: "1.0.0" });
    const transport = () => new StreamableHTTPClientTransport(endpoint, { authProvider: this });
    if (!this.kept) {
      const first = transport();
      await assert.rejects(client.connect(first), UnauthorizedError);
      const back = await agree(this.address);
      assert.equal(back.origin + back.pathname, this.redirectUrl);
      assert.equal(back.searchParams.get("state"), "st&te");
      assert.equal(back.searchParams.get("iss"), endpoint.origin);
      await first.finishAuth(back.searchParams.get("code"));
    }
    await client.connect(transport());
    return client;
  }
}

// Remote keeps its files in a folder, and opens the browser itself.
class Remote {
  folder = process.env.MCP_REMOTE_CONFIG_DIR;
  file = (end) => {
    const name = readdirSync(this.folder, { recursive: true }).find((n) => n.endsWith(end));
    assert.ok(name, `no ${end}`);
    return `${this.folder}/${name}`;
  };
  clientInformation = () => JSON.parse(readFileSync(this.file("client_info.json")));
  tokens = () => JSON.parse(readFileSync(this.file("tokens.json")));
  saveTokens = (tokens) => writeFileSync(this.file("tokens.json"), JSON.stringify(tokens));

  async connect() {
    const client = new Client({ name: "sheaf-test", version: "1.0.0" });
    await client.connect(new StdioClientTransport({ command: "node_modules/.bin/mcp-remote", args: [endpoint.href, "--transport", "http-only"], env: process.env }));
    return client;
  }
}

const app = process.argv.includes("--remote") ? new Remote() : new Official();
let client = await app.connect();
const id = app.clientInformation().client_id;
assert.ok(id, "the app did not register");

const names = (await client.listTools()).tools.map((t) => t.name);
assert.ok(names.includes("propose_changes"), `the tools are ${names}`);
for (const name of ["create_document", "edit_document", "rewrite_document", "delete_document"]) assert.ok(!names.includes(name), `${name} is offered`);

const find = async () => {
  const found = await client.callTool({ name: "find", arguments: { query: "runbook" } });
  assert.equal(JSON.parse(found.content[0].text).total, 1);
};
await find();

// With an access token that the server refuses, the app refreshes by itself.
const before = app.tokens();
app.saveTokens({ ...before, access_token: "sht_expired" });
if (app instanceof Remote) {
  await client.close();
  client = await app.connect();
}
await find();
await client.close();
const after = app.tokens();
assert.notEqual(after.access_token, before.access_token);
assert.notEqual(after.access_token, "sht_expired");
assert.notEqual(after.refresh_token, before.refresh_token);
assert.equal(readFileSync(process.env.SHEAF_ASKED, "utf8"), id + "\n", "the person was asked another number of times than once");
console.log(after.access_token);
