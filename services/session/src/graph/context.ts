import type { FieldInfo } from '@parley/graph/selected-fields';
import type { GraphContext } from '@parley/subgraph/subgraph';
import type { SessionDtoMessagesArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { listMessages } from '../read-sessions.ts';
import type { Message } from '../session.ts';

export interface Context extends GraphContext {
  ports: Ports;
  messagesOf(info: FieldInfo, sessionId: number, page: SessionDtoMessagesArgs): Promise<Message[]>;
}

export function contextFor(ports: Ports): (request: GraphContext) => Context {
  return (request) => {
    const { answer, tenantRequest } = request;
    const messagesOf = answer.batched((info, ids, page: SessionDtoMessagesArgs) =>
      listMessages(answer.reading(ports, info), tenantRequest(info), { sessionIds: ids, page }),
    );
    return { ...request, ports, messagesOf };
  };
}
