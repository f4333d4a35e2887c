import { LRUCache } from 'lru-cache';
import type { ToolList } from './list-tools.ts';
import { isOf, keyOf, type McpConnector } from './mcp-connector.ts';

/** Maximum size of all cached lists as JSON. */
const maxBytes = 32 * 2 ** 20;
/** Maximum size of the cached lists of one tenant. */
const maxTenantBytes = 4 * 2 ** 20;

/** How many notices of changed tools may make a server's list stale within `changesMs`. */
const maxChanges = 4;
const changesMs = 60_000;

export interface ToolListsOptions {
  keptMs: number;
  /** The current time in ms. Default: the clock of the process. */
  now?: (() => number) | undefined;
}

/** Caches the tools of connectors. Concurrent requests for the same list share one read. */
export function toolLists({ keptMs, now = () => performance.now() }: ToolListsOptions) {
  const kept = new LRUCache<string, ToolList>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => bytes + 1,
    ttl: keptMs,
    ttlResolution: 0,
    perf: { now },
  });
  const changes = new LRUCache<string, number>({ max: 10_000, ttl: changesMs, ttlResolution: 0, perf: { now } });
  const reading = new Map<string, Promise<ToolList>>();

  /** Caches a list. Beyond the tenant's limit, the tenant's least recently used lists are evicted. */
  function keep(connector: McpConnector, key: string, list: ToolList): void {
    kept.delete(key);
    const own = [...kept.keys()].filter((each) => isOf(connector, each));
    let bytes = list.bytes;
    for (const each of own) {
      bytes += kept.peek(each)?.bytes ?? 0;
      if (bytes > maxTenantBytes) kept.delete(each);
    }
    kept.set(key, list);
  }

  function refresh(connector: McpConnector, key: string, read: () => Promise<ToolList>): Promise<ToolList> {
    const list = read();
    reading.set(key, list);
    const end = (tools?: ToolList) => {
      if (reading.get(key) !== list) return;
      reading.delete(key);
      if (tools) keep(connector, key, tools);
    };
    list.then(end, () => end());
    return list;
  }

  return {
    async get(connector: McpConnector, read: () => Promise<ToolList>): Promise<ToolList> {
      const key = keyOf(connector);
      return kept.get(key) ?? reading.get(key) ?? refresh(connector, key, read);
    },
    /**
     * Drops the connector's list after the server's notice that its tools changed. A read in progress is dropped too, because it may return
     * the old tools. Only a few notices a minute have this effect, because some servers send such notices all the time.
     */
    changed(connector: McpConnector): void {
      const key = keyOf(connector);
      const times = changes.get(key) ?? 0;
      if (times >= maxChanges) return;
      // The period of `changesMs` starts at the first notice; later notices do not extend it.
      changes.set(key, times + 1, { noUpdateTTL: true });
      kept.delete(key);
      reading.delete(key);
    },
  };
}
