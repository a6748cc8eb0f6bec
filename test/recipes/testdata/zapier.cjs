// Runs docs/recipes/zapier.js in zapier-platform-core, the part of Zapier that runs an integration. Reads {server, key,
// secret, deliveries: [{headers, body}]} from standard input and prints what Zapier objects to and what the triggers and
// the action gave. Zapier's own checks of every result are on: a result of the wrong form ends the script.
process.env.NODE_ENV = "test";
const fs = require("node:fs");
const { createRequire } = require("node:module");
const input = JSON.parse(fs.readFileSync(0, "utf8"));
const app = require(process.argv[2]);
const zapier = createRequire(process.argv[3] + "/")("zapier-platform-core");

const run = zapier.createAppTester(app);
const authData = { server: input.server, username: input.key, password: "" };
const { event, project } = app.triggers;

async function genuine({ headers, body }) {
  const shown = Object.fromEntries(Object.entries(headers).map(([name, value]) => ["Http-" + name.replace(/(^|-)[a-z]/g, (c) => c.toUpperCase()), value]));
  try {
    const [first] = await run(event.operation.perform, { subscribeData: { secret: input.secret }, rawRequest: { headers: shown, content: body } });
    return first.id.startsWith("evt_");
  } catch {
    return false;
  }
}

(async () => {
  const objections = (await zapier.createAppHandler(app)({ command: "validate" })).results.map((error) => `${error.property}: ${error.message}`);
  const bundle = { authData, inputData: { event: "project.created" }, targetUrl: "https://hooks.zapier.com/hooks/standard/1/2/" };
  const me = await run(app.authentication.test, bundle);
  const names = (await run(project.operation.perform, bundle)).map(({ name }) => name);
  const recent = (await run(event.operation.performList, bundle)).map(({ type }) => type);

  bundle.subscribeData = await run(event.operation.performSubscribe, bundle);
  const list = () => run(async (z) => (await z.request(`${input.server}/api/webhooks/subscriptions`)).data.data, { authData });
  const subscribed = (await list()).map(({ url }) => url);
  const secret = bundle.subscribeData.secret.startsWith("whsec_");
  await run(event.operation.performUnsubscribe, bundle);

  const create = (inputData) => run(app.creates.project.operation.perform, { authData, inputData });
  const once = { name: "Made by a Zap", description: "Übersicht <1>", once: "row 7" };
  const made = await create(once);
  const replayed = (await create(once)).id === made.id;
  const twice = (await create({ name: "Another" })).id === (await create({ name: "Another" })).id;
  const refused = await create({ name: "" }).then(() => "", (error) => error.message);

  const results = { objections, workspace: me.workspace.name, names, recent, subscribed, secret, left: (await list()).length };
  const trials = [];
  for (const delivery of input.deliveries) trials.push(await genuine(delivery));
  console.log(JSON.stringify({ ...results, made, replayed, twice, refused, genuine: trials }));
})();
