// An app that has the address of the server, a person and no key: the official client or, with --remote, a host that
// starts mcp-remote. It prints the tools and what find answers. What it keeps, tokens included, is below HOME.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { agree } from "./person.mjs";

const endpoint = new URL("/mcp", process.env.SHEAF_SERVER);
const client = new Client({ name: "sheaf-test", version: "1.0.0" });

async function connectOfficial() {
  const file = `${process.env.HOME}/official.json`;
  const kept = existsSync(file) ? JSON.parse(readFileSync(file)) : {};
  const keep = (name) => (value) => {
    kept[name] = value;
    writeFileSync(file, JSON.stringify(kept));
  };
  const redirectUrl = "http://127.0.0.1:8123/callback";
  let address;
  const authProvider = {
    redirectUrl,
    clientMetadata: { client_name: "Official", redirect_uris: [redirectUrl], grant_types: ["authorization_code", "refresh_token"] },
    state: () => "st&te",
    clientInformation: () => kept.app,
    saveClientInformation: keep("app"),
    tokens: () => kept.tokens,
    saveTokens: keep("tokens"),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: keep("verifier"),
    redirectToAuthorization: (to) => void (address = to),
  };
  const transport = () => new StreamableHTTPClientTransport(endpoint, { authProvider });
  if (!kept.tokens) {
    const first = transport();
    await assert.rejects(client.connect(first), UnauthorizedError);
    const back = await agree(address);
    assert.equal(back.origin + back.pathname, redirectUrl);
    assert.equal(back.searchParams.get("state"), "st&te");
    assert.equal(back.searchParams.get("iss"), endpoint.origin);
    await first.finishAuth(back.searchParams.get("code"));
  }
  await client.connect(transport());
}

const connectRemote = () =>
  client.connect(new StdioClientTransport({ command: "node_modules/.bin/mcp-remote", args: [endpoint.href, "--transport", "http-only"], env: process.env }));

await (process.argv.includes("--remote") ? connectRemote() : connectOfficial());
for (const answer of [await client.listTools(), await client.callTool({ name: "find", arguments: { query: "runbook" } })]) console.log(JSON.stringify(answer, null, 1));
await client.close();
