/**
 * The API of Sheaf: typed by its OpenAPI document, with paging, repetitions, errors as classes, the event stream and the
 * verification of webhooks. See README.md.
 */
export { etag, type ListPath, type Listed, Sheaf, type SheafOptions } from "./client.js";
export * from "./errors.js";
export type { Options } from "./resource.js";
export type * from "./schema.js";
export type { StreamOptions } from "./stream.js";
export * as webhook from "./webhook.js";
