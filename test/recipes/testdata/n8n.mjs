// Plays n8n's part for docs/recipes/n8n-read.json and n8n-receive.json: evaluates the expressions of their nodes with
// real pages and deliveries. Reads {server, key, secret, deliveries: [{headers, body}]} from standard input and prints
// {names, requests, genuine: [bool]}.
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const input = JSON.parse(readFileSync(0, "utf8"));
const [read, receive] = process.argv.slice(2).map((path) => {
  const workflow = JSON.parse(readFileSync(path, "utf8"));
  return (name) => workflow.nodes.find((node) => node.name === name).parameters;
});

// evaluate does what n8n does with a parameter: text that begins with = has expressions between braces.
function evaluate(text, scope) {
  if (!text.startsWith("=")) return text;
  const run = (code) => new Function(...Object.keys(scope), `return (${code})`)(...Object.values(scope));
  const whole = text.match(/^=\{\{((?:(?!\}\}).)*)\}\}$/s);
  if (whole) return run(whole[1]);
  return text.slice(1).replace(/\{\{(.*?)\}\}/gs, (_, code) => String(run(code) ?? ""));
}

async function pages() {
  const node = read("Every page");
  const paging = node.options.pagination.pagination;
  const $json = { from: evaluate(read("From").assignments.assignments[0].value, { $json: {} }) };
  const names = [];
  for (let $pageCount = 0, $response = {}; ; $pageCount++) {
    const url = new URL(node.url.replace("https://docs.example.com", input.server));
    for (const { name, value } of node.queryParameters.parameters) url.searchParams.append(name, value);
    for (const { type, name, value } of paging.parameters.parameters) {
      if (type !== "qs") throw new Error(`a parameter in ${type}`);
      url.searchParams.append(name, evaluate(value, { $json, $pageCount, $response }));
    }
    const answer = await fetch(url, { headers: { Authorization: `Bearer ${input.key}` } });
    $response = { statusCode: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.json() };
    if (!answer.ok) throw new Error($response.body.error);
    const list = read("One item a project").fieldToSplitOut.split(".").reduce((value, name) => value[name], $response);
    names.push(...list.map((project) => project.name));
    if (evaluate(paging.completeExpression, { $pageCount, $response })) return { names, requests: $pageCount + 1 };
    if ($pageCount > 20) throw new Error("it does not stop");
  }
}

function genuine({ headers, body }) {
  const $json = { headers, [receive("Raw body").destinationKey]: body };
  const crypto = receive("Crypto");
  if (crypto.action !== "hmac") throw new Error(`the Crypto node does ${crypto.action}`);
  $json[crypto.dataPropertyName] = createHmac(crypto.type, input.secret).update(evaluate(crypto.value, { $json })).digest(crypto.encoding);
  const { combinator, conditions } = receive("Genuine?").conditions;
  if (combinator !== "and") throw new Error(`conditions are joined by ${combinator}`);
  return conditions.every(({ leftValue }) => evaluate(leftValue, { $json }) === true);
}

console.log(JSON.stringify({ ...(await pages()), genuine: input.deliveries.map(genuine) }));
