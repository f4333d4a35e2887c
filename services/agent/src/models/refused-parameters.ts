import { isJsonObject, parseJson } from '@parley/kernel/json';
import { LRUCache } from 'lru-cache';
import type { ModelLog } from './model.ts';
import { bodyFault } from './provider-fault.ts';

type Body = Record<string, unknown>;
type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** The parameters that a server may refuse. The value is another name that the server may accept; undefined if there is none. */
const otherNames: Record<string, string | undefined> = {
  stream_options: undefined,
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
};

/** How long a refusal is remembered. Afterwards the parameter is sent again, because the server may have been upgraded. */
const rememberedMs = 10 * 60_000;
const refusingStatuses = new Set([400, 422, 501]);

/**
 * Repeats a request after the server has refused an optional parameter. The repetition omits `stream_options`, so that the usage of a
 * stream is estimated, or uses the other name of the token maximum. After a successful repetition, all requests of the model are changed in
 * this way for ten minutes.
 */
export function withoutRefusedParameters(
  fetch: Fetch,
  { providerId, log, now = () => performance.now() }: { providerId: string; log: ModelLog; now?: () => number },
): Fetch {
  const known = new LRUCache<string, true>({ max: 1_000, ttl: rememberedMs, ttlResolution: 0, perf: { now } });
  const keyOf = ({ model }: Body, parameter: string) => `${parameter} ${String(model)}`;

  return async (input, init) => {
    const given = parseJson(String(init?.body));
    if (!isJsonObject(given)) return fetch(input, init);
    let body = given;
    for (const parameter of Object.keys(otherNames)) {
      if (parameter in given && known.has(keyOf(given, parameter))) body = without(parameter, body);
    }
    const tried: string[] = [];
    for (;;) {
      const response = await fetch(input, body === given ? init : { ...init, body: JSON.stringify(body) });
      if (!refusingStatuses.has(response.status)) {
        if (response.ok) for (const parameter of tried) learn(parameter);
        return response;
      }
      const text = await response.text();
      const refused = refusedIn(text);
      if (refused === undefined || !(refused in body) || tried.includes(refused)) {
        return new Response(text, { status: response.status, headers: response.headers });
      }
      tried.push(refused);
      body = without(refused, body);
    }

    function learn(parameter: string): void {
      known.set(keyOf(given as Body, parameter), true);
      const { model: modelId } = given as Body;
      log.warn({ providerId, modelId, parameter }, 'model refuses a parameter; asked without');
    }
  };
}

function without(parameter: string, body: Body): Body {
  const entries = Object.entries(body).flatMap(([name, value]): [string, unknown][] => {
    const sentAs = name === parameter ? otherNames[parameter] : name;
    return sentAs === undefined ? [] : [[sentAs, value]];
  });
  return Object.fromEntries(entries);
}

/**
 * Returns the parameter that a server names as unknown or unsupported. Other refused parameters are not dropped,
 * because their values may be the cause.
 */
function refusedIn(text: string): string | undefined {
  const { parameter, names, message } = bodyFault(text);
  if (parameter === 'stream_options' || /\bstream_options\b/u.test(message)) return 'stream_options';
  const isUnknown =
    names.includes('unsupported_parameter') || /\b(?:unsupported|not supported|unknown)\b/iu.test(message);
  return isUnknown && parameter !== undefined && parameter in otherNames ? parameter : undefined;
}
