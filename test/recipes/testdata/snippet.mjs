// Plays n8n's part for what the console shows about it: evaluates its expressions, each between braces.
// Reads {snippet, secret, deliveries: [{headers, body}]} from standard input and prints [bool].
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const { snippet, secret, deliveries } = JSON.parse(readFileSync(0, "utf8"));
const [signed, ...conditions] = snippet.split("\n").filter((line) => line.startsWith("  ")).map((line) => line.trim());
const run = (code, $json) => new Function("$json", `return (${code})`)($json);

function genuine({ headers, body }) {
  const $json = { headers, raw: body };
  const value = signed.replace(/\{\{(.*?)\}\}/g, (_, code) => String(run(code, $json) ?? ""));
  $json.signature = createHmac("sha256", secret).update(value).digest("hex");
  return conditions.length > 0 && conditions.every((line) => run(line.slice(2, -2), $json) === true);
}

console.log(JSON.stringify(deliveries.map(genuine)));
