import { isJsonObject, parseJson } from '@parley/kernel/json';
import { anthropicEvents } from './anthropic-events.ts';
import type { EventAdapter } from './event-fields.ts';
import { eventReader } from './event-reader.ts';
import { googleEvents } from './google-events.ts';
import type { ModelLog } from './model.ts';
import type { ProviderSettings } from './model-settings.ts';
import { openaiEvents } from './openai-events.ts';
import type { ProviderConnections } from './provider-connections.ts';
import { withoutRefusedParameters } from './refused-parameters.ts';

export type AdaptedConnections = ReturnType<typeof adaptedConnections>;

/**
 * Wraps connections so that response streams contain only what the SDK of the provider's format knows: SDKs reject a whole answer because
 * of one unknown event, delta or field. A stream in OpenAI's format ends at `[DONE]`. Parameters that old servers of OpenAI's format refuse
 * are omitted from the request.
 */
export function adaptedConnections(
  api: ProviderSettings['api'],
  connections: Pick<ProviderConnections, 'fetch' | 'isTaken'>,
  { providerId, log }: { providerId: string; log: ModelLog },
) {
  const isOpenAI = api === 'openai' || api === 'openai-compatible';
  const ask = isOpenAI ? withoutRefusedParameters(connections.fetch, { providerId, log }) : connections.fetch;
  const watching = new WeakMap<AbortSignal, (thought: string) => void>();

  return {
    async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
      const response = await ask(input, init);
      const { status, headers, body } = response;
      const onThought = init?.signal ? watching.get(init.signal) : undefined;
      const adapt = adapterOf(api, onThought);
      if (!response.ok || !body || !adapt) return response;
      return new Response(adapted(body, adapt), { status, headers });
    },
    isTaken: connections.isTaken,
    /** Registers `read` for the call with this signal. `read` receives the thoughts that the format's SDK does not report. */
    onThought: (signal: AbortSignal, read: (thought: string) => void) => void watching.set(signal, read),
  };
}

function adapterOf(api: ProviderSettings['api'], onThought?: (thought: string) => void): EventAdapter | undefined {
  switch (api) {
    case 'openai-compatible':
      return openaiEvents();
    case 'openai':
      // OpenAI's SDK ignores thoughts and would report nothing before the first word, so thoughts are passed to
      // `onThought` instead.
      return openaiEvents(onThought ?? (() => undefined));
    case 'anthropic':
      return anthropicEvents();
    case 'google':
      return googleEvents();
    case 'bedrock':
      return undefined; // Bedrock's format is binary; `sdk-model.ts` ignores events that the SDK does not know
  }
}

const done = '[DONE]';

function adapted(body: ReadableStream<Uint8Array>, adapt: EventAdapter): ReadableStream<Uint8Array> {
  const bytes = body.getReader();
  const events = eventReader();
  const encoder = new TextEncoder();

  /** Adapts the data of an event. Malformed data is passed on unchanged, so that the SDK reports the error. */
  function adaptedData(data: string): string | undefined {
    if (data.trim() === '') return undefined;
    const event = parseJson(data);
    if (event === undefined) return data;
    const known = isJsonObject(event) ? adapt(event) : undefined;
    return known && JSON.stringify(known);
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (let hasSent = false; !hasSent; ) {
          const { done: hasEnded, value } = await bytes.read();
          for (const data of hasEnded ? events.end() : events.push(value)) {
            const known = data.trim() === done ? done : adaptedData(data);
            if (known === undefined) continue;
            controller.enqueue(encoder.encode(`data: ${known.replaceAll('\n', '\ndata: ')}\n\n`));
            hasSent = true;
            if (known !== done) continue;
            controller.close();
            return drain(bytes);
          }
          if (hasEnded) return controller.close();
        }
      },
      cancel: (reason) => bytes.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

const drainTimeoutMs = 1_000;

/** Reads the rest of a response whose answer is complete, so that its connection can be reused. */
export function drain(parts: ReadableStreamDefaultReader<unknown>): void {
  const cancel = () => void parts.cancel().catch(() => undefined);
  const timer = setTimeout(cancel, drainTimeoutMs).unref();
  const readAll = async () => {
    while (!(await parts.read()).done);
  };
  readAll()
    .catch(cancel)
    .finally(() => clearTimeout(timer));
}
