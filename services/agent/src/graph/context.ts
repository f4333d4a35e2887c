import { inTenant } from '@parley/chassis/caller';
import type { FieldInfo } from '@parley/chassis/graph/asked-fields';
import type { GraphContext } from '@parley/chassis/graph/subgraph';
import type { ListedAgent } from '../agent.ts';
import { type App, createApp } from '../app.ts';
import type { Ports } from '../ports.ts';

/** What the resolvers of one request work with. */
export interface Context extends GraphContext {
  app: App;
  /** The use cases as they read what this field shows: every list of any length is read by them. */
  reading(info: FieldInfo): App;
  /** By id, deleted ones included; many keys of one request are one query. */
  agentOf(info: FieldInfo, id: number): Promise<ListedAgent | undefined>;
}

export function contextFor(ports: Ports): (request: GraphContext) => Context {
  const app = createApp(ports);
  return (request) => {
    const { answer, caller } = request;
    const reading = (info: FieldInfo) => createApp(answer.reading(ports, info));
    const agentOf = answer.batched((info, ids) => reading(info).agentsByIds(inTenant(caller), ids));
    return { ...request, app, reading, agentOf };
  };
}
