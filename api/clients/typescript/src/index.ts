export { PracticeSync } from "./client.js";
export type { CallOptions, ChangeBatch, ClientOptions, ExportBatch } from "./client.js";
export { ApiError, ConnectionError } from "./errors.js";
export type { Answer, ExportRecord, Operation, Paged, RecordOf, Schemas, WebhookMessage } from "./types.js";
export { WebhookError, verifyWebhook } from "./webhooks.js";
