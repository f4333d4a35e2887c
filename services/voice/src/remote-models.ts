import { unavailable } from '@parley/kernel/errors';
import { readWithin } from '@parley/kernel/http/read-within';
import { fairQueue } from '@parley/kernel/queues/fair-queue';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { within } from '@parley/kernel/timing/timers';
import { type AvatarModel, catalogUrl, fileName, maxCatalogBytes, readCatalog } from './avatar-catalog.ts';
import type { AvatarModels } from './avatar-models.ts';
import { modelCache } from './model-cache.ts';

export interface RemoteModelsOptions {
  /** The URL of `models.json`, or of the folder that contains `models.json` and the model files. */
  url: string;
  /** Time in ms before a list or file is revalidated at the source. */
  keptMs: number;
  /** Timeout of a request to the source, in ms. */
  timeoutMs: number;
  /** Maximum bytes of all cached files. */
  maxBytes: number;
  metrics: Metrics;
  log: Logger;
  now?: () => number;
}

/** Pause in ms before a fetch that failed is repeated; `keptMs` if that is shorter. */
const restMs = 10_000;

/**
 * A cached value that is fetched again after it expires, one fetch at a time. The old value stays in use while the source is unavailable.
 */
interface Known {
  /** The time from which the value may be fetched again. */
  nextAt: number;
  fetching: Promise<void> | undefined;
  error: unknown;
}

/** Creates the catalogue of the 3D models at a URL. Files are fetched on first use, one at a time, and cached on disk. */
export function remoteModels(options: RemoteModelsOptions): AvatarModels {
  const { keptMs, timeoutMs, maxBytes, metrics, log, now = Date.now } = options;
  const source = catalogUrl(options.url);
  const seconds = metrics.durations('parley_voice_models_seconds', 'Answers of VOICE_MODELS_URL', ['what', 'outcome']);
  const cache = modelCache(maxBytes);
  const queue = fairQueue({ inFlight: 1, shares: {} });
  const stopping = new AbortController();
  const list = newKnown();
  const files = new Map<string, Known & { etag: string | null }>();
  let models: AvatarModel[] | undefined;

  async function ask(url: string, etag: string | null = null): Promise<Response> {
    const response = await fetch(url, {
      headers: etag === null ? {} : { 'if-none-match': etag },
      redirect: 'error',
      signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(timeoutMs)]),
    });
    if (response.ok || response.status === 304) return response;
    await response.body?.cancel();
    throw new Error(`status ${response.status}`);
  }

  /** Fetches an expired value; concurrent calls share one fetch. Never rejects. */
  function refresh(known: Known, what: 'catalogue' | 'file', url: string, work: () => Promise<void>): Promise<void> {
    if (now() < known.nextAt || stopping.signal.aborted) return known.fetching ?? Promise.resolve();
    known.fetching ??= (async () => {
      const end = seconds.startTimer({ what });
      try {
        await work();
        known.error = undefined;
        known.nextAt = now() + keptMs;
        end({ outcome: 'ok' });
      } catch (error) {
        known.error = error;
        known.nextAt = now() + Math.min(keptMs, restMs);
        end({ outcome: 'error' });
        if (!stopping.signal.aborted)
          log.warn({ err: error, url }, 'avatar models cannot be fetched; what is known stays');
      } finally {
        known.fetching = undefined;
      }
    })();
    return known.fetching;
  }

  async function fetchList(): Promise<void> {
    const { body } = await ask(source);
    const tooLarge = () => new Error(`the catalogue has more than ${maxCatalogBytes} bytes`);
    models = readCatalog((await readWithin(body ?? emptyBody(), maxCatalogBytes, tooLarge)).toString());
    const names = new Set(models.map(fileName));
    for (const [name, known] of files) if (!names.has(name) && !known.fetching) files.delete(name);
  }

  async function fetchFile(name: string, known: { etag: string | null }): Promise<void> {
    const release = await queue.enter({}, () => stopping.signal);
    try {
      const { status, headers, body } = await ask(new URL(name, source).href, cache.has(name) ? known.etag : null);
      if (status === 304) return;
      await cache.put(name, body ?? emptyBody());
      known.etag = headers.get('etag');
    } finally {
      release();
    }
  }

  async function known(): Promise<AvatarModel[]> {
    const fetching = refresh(list, 'catalogue', source, fetchList);
    if (!models) await fetching;
    if (!models)
      throw unavailable('The avatar models are not available at the moment; try again in a while', list.error);
    return models;
  }

  return {
    name: 'avatar models',
    async start() {
      void refresh(list, 'catalogue', source, fetchList);
    },
    async stop() {
      stopping.abort(new Error('voice stops'));
      await Promise.all([list, ...files.values()].flatMap(({ fetching }) => fetching ?? []));
      await cache.clear();
    },
    list: known,
    async find(name) {
      if (!(await known()).some((model) => fileName(model) === name)) return undefined;
      const file = files.get(name) ?? { ...newKnown(), etag: null };
      files.set(name, file);
      // A file that was evicted from the cache must be fetched at once.
      if (!cache.has(name) && file.error === undefined && !file.fetching) file.nextAt = 0;
      const fetching = refresh(file, 'file', new URL(name, source).href, () => fetchFile(name, file));
      if (!cache.has(name)) await within(timeoutMs, () => away(file.error), fetching);
      const opened = await cache.open(name);
      if (!opened) throw away(file.error);
      return opened;
    },
  };
}

function away(cause: unknown): Error {
  return unavailable('This model is not available at the moment; try again in a while', cause);
}

function newKnown(): Known {
  return { nextAt: 0, fetching: undefined, error: undefined };
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}
