import { LRUCache } from 'lru-cache';
import type { ToolList } from './list-tools.ts';
import { isOf, keyOf, type McpConnector } from './mcp-connector.ts';

/** The size of all lists that are kept, as JSON, and of those of one tenant. */
const maxBytes = 32 * 2 ** 20;
const maxTenantBytes = 4 * 2 ** 20;

/** How often a server may have its list read again within that time. */
const maxChanges = 4;
const changesMs = 60_000;

export interface ToolListsOptions {
  keptMs: number;
  /** The time in milliseconds. Default: the clock of the process. */
  now?: (() => number) | undefined;
}

/** Keeps the tools of connectors for some time. Whoever asks while a list is read waits for that one. */
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

  /** The tenant's own lists make room, the least recently used one first. */
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
     * Forgets the list because its server says that it has changed, also the one that is being read, which may be an old one. A server
     * that says so all the time has its list read again a few times a minute.
     */
    changed(connector: McpConnector): void {
      const key = keyOf(connector);
      const times = changes.get(key) ?? 0;
      if (times >= maxChanges) return;
      // The time runs from the first one on.
      changes.set(key, times + 1, { noUpdateTTL: true });
      kept.delete(key);
      reading.delete(key);
    },
  };
}
