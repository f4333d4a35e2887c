import { type ModelScript, type ModelServer, startModelServer } from '@parley/testing/model-server';
import type { ExecutionContext } from 'ava';
import { adaptedConnections } from '../adapted-stream.ts';
import { languageModels } from '../language-models.ts';
import type { Model, ModelEvent, ModelRequest } from '../model.ts';
import { ModelError } from '../model-error.ts';
import type { ProviderSettings } from '../model-settings.ts';
import { type ConnectionLimits, providerConnections } from '../provider-connections.ts';
import { type SdkModelSettings, sdkModel } from '../sdk-model.ts';
import { defaultProvider } from './provider-settings.ts';

export interface ModelOnServer {
  model: Model;
  server: ModelServer;
  /** Fields of each log line. */
  logged: Record<string, unknown>[];
}

export type ModelOptions = Partial<ProviderSettings & ConnectionLimits & SdkModelSettings>;

/** Creates a model of the given wire format and a scripted server. Both are closed after the test, which fails if a call does not end. */
export async function modelOn(
  t: ExecutionContext,
  script: ModelScript,
  options: ModelOptions = {},
): Promise<ModelOnServer> {
  t.timeout(20_000, 'The call of the model has not ended in time');
  const server = await startModelServer({ script });
  const settings = { ...defaultProvider, ...options };
  const url = options.url ?? server.urls[settings.api];
  const connections = providerConnections(url, { connections: 128, ...settings });
  const logged: Record<string, unknown>[] = [];
  const log = { warn: (fields: Record<string, unknown>) => void logged.push(fields) };
  const about = { providerId: settings.id, log };
  const { fetch, isTaken, onThought } = adaptedConnections(settings.api, connections, about);
  const sdk = await languageModels({ ...settings, url }, { fetch });
  const model = sdkModel(
    {
      vision: false,
      rawEvents: settings.api === 'bedrock',
      secrets: settings.key === undefined ? [] : settings.key.split(':'),
      ...settings,
      contextTokens: settings.contextTokens ?? 16_384,
      providerId: settings.id,
      origin: new URL(url).origin,
      isTaken,
      onThought,
    },
    async () => sdk(settings.modelId),
    log,
  );
  t.teardown(async () => {
    await connections.close();
    await server.stop();
  });
  return { model, server, logged };
}

/** Returns a request with one user message. */
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

/** Returns the whole text of an answer, together with its last event. */
export async function answerOf(model: Model, request: ModelRequest) {
  const events = await eventsOf(model.stream(request, uncancelled));
  return { ...events.at(-1), text: textOf(events) };
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
