// A Zapier integration for Sheaf: the definition that Zapier's command line (zapier-platform-cli) takes as index.js.
const crypto = require("node:crypto");

// What the user is asked for: the server's address and an API key. The key is sent as the user name of HTTP Basic.
const authentication = {
  type: "basic",
  fields: [
    { key: "server", label: "Server", required: true, helpText: "Such as https://docs.example.com" },
    { key: "username", label: "API key", required: true, helpText: "Begins with shf_" },
  ],
  test: { url: "{{bundle.authData.server}}/api/v1/me" },
  connectionLabel: "{{workspace__name}}",
};

// subscribe is called when a Zap is turned on; what it returns is kept as bundle.subscribeData.
async function subscribe(z, bundle) {
  const response = await z.request({
    method: "POST",
    url: `${bundle.authData.server}/api/webhooks/subscriptions`,
    body: { name: "Zapier", url: bundle.targetUrl, events: [bundle.inputData.event] },
  });
  return response.data.subscription;
}

// unsubscribe is called when it is turned off.
async function unsubscribe(z, bundle) {
  await z.request({
    method: "DELETE",
    url: `${bundle.authData.server}/api/webhooks/subscriptions/${bundle.subscribeData.id}`,
  });
  return {};
}

// receive checks the signature of a delivery and returns its event.
function receive(z, bundle) {
  const { content, headers } = bundle.rawRequest;
  const parts = (headers["Http-X-Service-Signature"] || "").split(",").map((part) => part.split("="));
  const time = (parts.find(([key]) => key === "t") || [])[1];
  const want = crypto.createHmac("sha256", bundle.subscribeData.secret).update(`${time}.${content}`).digest();
  const fits = parts.some(([key, value]) => {
    const have = Buffer.from(value || "", "hex");
    return key === "v1" && have.length === want.length && crypto.timingSafeEqual(have, want);
  });
  if (!fits || !(Math.abs(Date.now() / 1000 - Number(time)) <= 300)) {
    throw new z.errors.Error("The delivery is not genuine", "Signature", 400);
  }
  return [JSON.parse(content)];
}

// recent returns the last events of the type: examples for the editor.
async function recent(z, bundle) {
  const response = await z.request({
    url: `${bundle.authData.server}/api/v1/events`,
    params: { type: bundle.inputData.event, order: "desc", limit: 3 },
  });
  return response.data.data;
}

// poll returns the newest projects; Zapier remembers their ids and triggers on new ones.
async function poll(z, bundle) {
  const response = await z.request({
    url: `${bundle.authData.server}/api/v1/projects`,
    params: { sort: "created_at", order: "desc", limit: 100 },
  });
  return response.data.data;
}

// create makes a project. Zapier repeats a step by itself after 429, and by hand when a run is replayed: with the same
// Idempotency-Key that makes no second project.
async function create(z, bundle) {
  const { once, name, description } = bundle.inputData;
  const response = await z.request({
    method: "POST",
    url: `${bundle.authData.server}/api/v1/projects`,
    headers: once ? { "Idempotency-Key": once } : {},
    body: { name, description },
  });
  return response.data;
}

module.exports = {
  version: "1.0.0",
  platformVersion: "19.1.0",
  authentication,
  triggers: {
    event: {
      key: "event",
      noun: "Event",
      display: { label: "New Event", description: "Triggers when something happens in the workspace." },
      operation: {
        type: "hook",
        inputFields: [{ key: "event", label: "Type", required: true, default: "project.created" }],
        performSubscribe: subscribe,
        performUnsubscribe: unsubscribe,
        perform: receive,
        performList: recent,
      },
    },
    project: {
      key: "project",
      noun: "Project",
      display: { label: "New Project", description: "Triggers when there is a new project; asks every few minutes." },
      operation: { type: "polling", perform: poll },
    },
  },
  creates: {
    project: {
      key: "project",
      noun: "Project",
      display: { label: "Create Project", description: "Creates a project." },
      operation: {
        inputFields: [
          { key: "name", label: "Name", required: true },
          { key: "description", label: "Description", type: "text" },
          { key: "once", label: "Once for", helpText: "The id of what the project is made from: a replay then creates nothing twice." },
        ],
        perform: create,
        sample: { id: "01a1ddaf-e289-7866-8c99-5e7007eaccda", name: "Handbook", description: null },
      },
    },
  },
};
