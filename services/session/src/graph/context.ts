import type { FieldInfo } from '@parley/graph/selected-fields';
import type { GraphContext } from '@parley/subgraph/subgraph';
import { listSessionsByIds } from '../embed/customer-sessions.ts';
import type { SessionDtoMessagesArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { listMessages } from '../read-sessions.ts';
import type { Message, Session } from '../session.ts';

export interface Context extends GraphContext {
  ports: Ports;
  sessionOf(info: FieldInfo, sessionId: number): Promise<Session>;
  messagesOf(info: FieldInfo, sessionId: number, page: SessionDtoMessagesArgs): Promise<Message[]>;
}

export function contextFor(ports: Ports): (request: GraphContext) => Context {
  return (request) => {
    const { answer, tenantRequest } = request;
    const messagesOf = answer.batched((info, ids, page: SessionDtoMessagesArgs) =>
      listMessages(answer.reading(ports, info), tenantRequest(info), { sessionIds: ids, page }),
    );
    const sessionOf = answer.batched((info, ids) =>
      listSessionsByIds(answer.reading(ports, info), tenantRequest(info), ids),
    );
    return { ...request, ports, sessionOf, messagesOf };
  };
}
