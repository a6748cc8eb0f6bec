// Plays Zapier's part for docs/recipes/zapier.js. Reads {server, key, secret, deliveries: [{headers, body}]} from
// standard input and prints what Zapier's schema objects to and what the triggers gave.
const fs = require("node:fs");
const { createRequire } = require("node:module");
const input = JSON.parse(fs.readFileSync(0, "utf8"));
const app = require(process.argv[2]);
const schema = createRequire(process.argv[3] + "/")("zapier-platform-schema");

// encoded is the definition as Zapier sends it around, with a mark in place of each function.
function encoded(value) {
  if (typeof value === "function") return `$func$${value.length}$f$`;
  if (Array.isArray(value)) return value.map(encoded);
  if (!value || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, encoded(inner)]));
}

const authData = { server: input.server, username: input.key, password: "" };
const z = {
  errors: { Error },
  async request({ method = "GET", url, params = {}, body }) {
    const address = new URL(url);
    for (const [name, value] of Object.entries(params)) address.searchParams.append(name, value);
    const basic = Buffer.from(`${authData.username}:${authData.password}`).toString("base64");
    const answer = await fetch(address, {
      method,
      headers: { Authorization: `Basic ${basic}`, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return { status: answer.status, data: text && JSON.parse(text) };
  },
};

function genuine({ headers, body }) {
  const shown = Object.fromEntries(Object.entries(headers).map(([name, value]) => ["Http-" + name.replace(/(^|-)[a-z]/g, (c) => c.toUpperCase()), value]));
  try {
    const [event] = app.triggers.event.operation.perform(z, { subscribeData: { secret: input.secret }, rawRequest: { headers: shown, content: body } });
    return event.id.startsWith("evt_");
  } catch {
    return false;
  }
}

(async () => {
  const hook = app.triggers.event.operation;
  const bundle = { authData, inputData: { event: "project.created" }, targetUrl: "https://hooks.zapier.com/hooks/standard/1/2/" };
  const me = await z.request({ url: app.authentication.test.url.replace("{{bundle.authData.server}}", input.server) });
  const names = (await app.triggers.project.operation.perform(z, bundle)).map((project) => project.name);
  const recent = (await hook.performList(z, bundle)).map((event) => event.type);
  bundle.subscribeData = await hook.performSubscribe(z, bundle);
  const list = async () => (await z.request({ url: `${input.server}/api/webhooks/subscriptions` })).data.data;
  const subscribed = (await list()).map(({ url }) => url);
  const secret = bundle.subscribeData.secret.startsWith("whsec_");
  await hook.performUnsubscribe(z, bundle);
  const objections = schema.validateAppDefinition(encoded(app)).errors.map((error) => `${error.property}: ${error.message}`);
  console.log(JSON.stringify({ objections, workspace: me.data.workspace.name, names, recent, subscribed, secret, left: (await list()).length, genuine: input.deliveries.map(genuine) }));
})();
