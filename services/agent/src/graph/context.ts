import type { FieldInfo } from '@parley/graph/selected-fields';
import type { GraphContext } from '@parley/subgraph/subgraph';
import type { ListedAgent } from '../agents/agent.ts';
import { agentsByIds } from '../agents/read-agents.ts';
import type { Ports } from '../ports.ts';

export interface Context extends GraphContext {
  ports: Ports;
  /** Loads an agent by id, even if it is deleted; all ids of a request share one query. */
  agentOf(info: FieldInfo, id: number): Promise<ListedAgent | undefined>;
}

export function contextFor(ports: Ports): (request: GraphContext) => Context {
  return (request) => {
    const { answer, tenantRequest } = request;
    const agentOf = answer.batched((info, ids) => agentsByIds(answer.reading(ports, info), tenantRequest(info), ids));
    return { ...request, ports, agentOf };
  };
}
