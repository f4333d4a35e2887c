import { type ModelScript, type ModelServer, startModelServer } from '@parley/testing/model-server';
import type { ExecutionContext } from 'ava';
import type { Model, ModelEvent, ModelRequest } from '../model.ts';
import { ModelError } from '../model-error.ts';
import { type OpenAICompatibleSettings, openAICompatibleModel } from '../openai-compatible-model.ts';
import { type ConnectionLimits, providerConnections } from '../provider-connections.ts';

export interface ModelOnServer {
  model: Model;
  server: ModelServer;
  /** Fields of each log line. */
  logged: Record<string, unknown>[];
}

/** The OpenAI-compatible model with a scripted server; both are closed after the test, which fails if a call does not end. */
export async function modelOn(
  t: ExecutionContext,
  script: ModelScript,
  settings: Partial<OpenAICompatibleSettings & ConnectionLimits> = {},
): Promise<ModelOnServer> {
  t.timeout(20_000, 'The call of the model has not ended in time');
  const server = await startModelServer({ script });
  const url = settings.url ?? server.url;
  const connections = providerConnections(url, { connections: 128, ...settings });
  const logged: Record<string, unknown>[] = [];
  const defaults = {
    providerId: 'HOSTED_SMALL_MODEL',
    modelId: 'm',
    contextTokens: 16_384,
    maxOutputTokens: 4_096,
    firstTokenTimeoutMs: 10_000,
  };
  const log = { warn: (fields: Record<string, unknown>) => void logged.push(fields) };
  const model = openAICompatibleModel({ ...defaults, ...settings, url }, connections, log);
  t.teardown(async () => {
    await connections.close();
    await server.stop();
  });
  return { model, server, logged };
}

/** A request with one user message. */
export function ask(text: string, more: Partial<ModelRequest> = {}): ModelRequest {
  return { system: 'You are Ada.', messages: [{ role: 'user', text }], ...more };
}

export const uncancelled = { signal: new AbortController().signal };

export async function eventsOf(stream: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

export function textOf(events: ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}

/** Reads a stream that fails; returns the text before the failure and the error. */
export async function failureOf(stream: AsyncIterable<ModelEvent>): Promise<{ text: string; error: ModelError }> {
  const events: ModelEvent[] = [];
  try {
    for await (const event of stream) events.push(event);
  } catch (error) {
    if (error instanceof ModelError) return { text: textOf(events), error };
    throw error;
  }
  throw new Error(`The stream did not fail, but gave ${JSON.stringify(events)}`);
}
