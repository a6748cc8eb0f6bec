// Writes src/resources.ts from the OpenAPI document: a class for each noun, with a method for each operation.
import { readFileSync, writeFileSync } from "node:fs";

const api = JSON.parse(readFileSync("../../internal/httpapi/openapi.json", "utf8"));

/** The nouns, by their tags, and the word of their operationIds. */
const nouns = {
	projects: "Project", folders: "Folder", brandings: "Branding", documents: "Document", shares: "Share", proposals: "Proposal", releases: "Release",
	media: "Medium", events: "Event", audit: "Audit", subscriptions: "Subscription", deliveries: "Delivery", keys: "Key", icons: "Icon",
};

/** Names that do not follow from the operationId. The methods without one are in client.ts. */
const names = {
	getProjectTree: "tree", getReleaseTree: "tree", getDocumentContent: "content", putDocumentContent: "putContent", listVersions: "versions", getVersion: "version",
	diffVersions: "diff", restoreVersion: "restoreVersion", getProposalChange: "preview", deleteApproval: "takeBackApproval", listComments: "comments",
	createComment: "comment", updateComment: "updateComment", deleteComment: "deleteComment", getReleasedDocument: "document", getReleasedContent: "content",
	getReleasedMedium: "medium", getMediumContent: "content", listEventDeliveries: "deliveries", rotateSecret: "rotateSecret", recoverDeliveries: "recover",
	redeliver: "redeliver",
	uploadMedium: "", getUploadProtocol: "", createUpload: "", getUploadProtocolOfOne: "", getUpload: "", appendUpload: "", deleteUpload: "", batch: "", search: "",
	streamEvents: "", getMe: "",
};

const resolve = (it) => (it.$ref ? it.$ref.slice(2).split("/").reduce((at, part) => at[part], api) : it);

/** Returns the name of the method for an operation; empty for one that has none here. */
function nameOf(id, noun) {
	if (id in names) return names[id];
	const [, verb, rest] = /^([a-z]+)(.*)$/.exec(id);
	if (verb === "list") return "all";
	if (rest === noun) return verb;
	throw new Error(`${id} needs a name in clients/typescript/resources.mjs`);
}

/** Returns a method as source. */
function method(path, verb, operation, name) {
	const parameters = (operation.parameters ?? []).map(resolve);
	const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, each]) => each);
	const query = parameters.filter((it) => it.in === "query");
	const byExternalID = verb === "put" && query.some((it) => it.name === "external_id");
	const ok = resolve(operation.responses[Object.keys(operation.responses).find((status) => status.startsWith("2"))]);
	const media = Object.keys(ok.content ?? {});
	const body = operation.requestBody && resolve(operation.requestBody);
	const key = JSON.stringify(path);
	const takes = inPath.map((each) => `${each}: ${each === "n" ? "number" : "string"}`);
	if (byExternalID) takes.push("external_id: string");
	if (body) takes.push(`body${body.required ? "" : "?"}: ${Object.keys(body.content)[0] === "application/json" ? `Body<${key}, "${verb}">` : "string"}`);
	const list = isList(ok);
	const asks = query.length > 0 && !byExternalID;
	if (asks) takes.push(`query?: Query<${key}, "${verb}">`);
	const conditions = parameters.some((it) => it.in === "header" && it.name === "If-Match" && it.required) ? "options: Options & { ifMatch: string }" : "options?: Options";
	takes.push(list ? "options?: Pick<Options, \"signal\">" : conditions);
	const path_ = inPath.length > 0 ? `path: { ${inPath.join(", ")} }` : "";
	const query_ = asks ? "query" : byExternalID ? "query: { external_id }" : "";
	const init = ["options", `params: ${object([path_, query_])}`, body ? "body" : ""];
	const result = list ? `AsyncGenerator<Listed<${key}>, void, void>` : `Promise<${resultOf(media, key, verb)}>`;
	if (media.length > 0 && !media.includes("application/json")) init.push(`parseAs: "${isText(media) ? "text" : "blob"}"`);
	const call = list ? `this.list(${key}, ${object(init)})` : `this.call("${verb}", ${key}, ${object(init)})`;
	const about = (operation.summary ?? operation.operationId).replace(/\.?$/, ".");
	return `\t/** ${about} */\n\t${name}(${takes.join(", ")}): ${result} {\n\t\treturn ${call};\n\t}\n`;
}

const object = (members) => `{ ${members.filter(Boolean).join(", ")} }`.replace("{  }", "{}");
const isText = (media) => media.every((type) => type.startsWith("text/"));
const isList = (ok) => {
	const schema = ok.content?.["application/json"]?.schema;
	if (!schema) return false;
	const whole = resolve(schema);
	const properties = Object.assign({}, whole.properties, ...(whole.allOf ?? []).map((each) => resolve(each).properties));
	return "data" in properties && "limit" in properties;
};

/** Returns the type of what an operation answers with. */
function resultOf(media, key, verb) {
	if (media.length === 0) return "void";
	if (media.includes("application/json")) return `Result<${key}, "${verb}">`;
	return isText(media) ? "string" : "Blob";
}

const methods = Object.fromEntries(Object.keys(nouns).map((tag) => [tag, []]));
for (const [path, item] of Object.entries(api.paths)) {
	for (const verb of ["get", "post", "put", "patch", "delete", "head", "options"]) {
		const operation = item[verb];
		if (!operation) continue;
		const [tag] = operation.tags;
		const name = nameOf(operation.operationId, nouns[tag]);
		if (name) methods[tag].push(method(path, verb, operation, name));
	}
}

const className = (tag) => tag[0].toUpperCase() + tag.slice(1);
const head = `// Written by resources.mjs from the OpenAPI document.

import { type Body, type Options, type Query, Resource, type Result } from "./resource.js";
import type { Listed } from "./client.js";
`;
const classes = Object.entries(methods).map(([tag, all]) => `\n/** The operations on ${tag}. */\nexport class ${className(tag)} extends Resource {\n${all.join("\n")}}\n`);
writeFileSync("src/resources.ts", head + classes.join(""));
