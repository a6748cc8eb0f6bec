#!/usr/bin/env node
// The person and their browser, without a screen. As a program it opens an address, as BROWSER does, and goes where the
// consent page leads.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";

const { SHEAF_SERVER, SHEAF_EMAIL, SHEAF_PASSWORD, SHEAF_ASKED } = process.env;

// agree signs in, agrees to what the consent page has ticked, and returns the address that leads back to the app. It
// adds the app's id to the file SHEAF_ASKED.
export async function agree(address) {
  const form = (fields) => ({ method: "POST", body: new URLSearchParams(fields), redirect: "manual" });
  const signedIn = await fetch(new URL("/sign-in", SHEAF_SERVER), form({ email: SHEAF_EMAIL, password: SHEAF_PASSWORD }));
  assert.equal(signedIn.status, 303);
  const headers = { Cookie: signedIn.headers.getSetCookie().map((c) => c.split(";")[0]).join("; ") };

  const shown = await fetch(address, { headers });
  const page = await shown.text();
  assert.equal(shown.status, 200, page);
  assert.match(new URL(shown.url).pathname, /^\/w\/[^/]+\/connect$/);
  const request = read(page, /name="request" value="([^"]*)"/);
  const ticked = [...page.matchAll(/name="scope" value="([^"]+)" checked/g)].map((m) => ["scope", m[1]]);
  const agreed = await fetch(new URL(new URL(shown.url).pathname, SHEAF_SERVER), { ...form([["request", request], ["expires", "90"], ...ticked]), headers });
  assert.equal(agreed.status, 200);
  appendFileSync(SHEAF_ASKED, new URL(address).searchParams.get("client_id") + "\n");
  return new URL(read(await agreed.text(), /class="button primary" href="([^"]+)"/));
}

function read(page, pattern) {
  const m = page.match(pattern);
  assert.ok(m, `no ${pattern} in ${page}`);
  return m[1].replaceAll("&#34;", '"').replaceAll("&#43;", "+").replaceAll("&amp;", "&");
}

if (process.argv[1].endsWith("person.mjs")) await fetch(await agree(process.argv[2]));
