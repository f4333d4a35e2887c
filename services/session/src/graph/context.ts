import type { FieldPlace } from '@parley/graph/effect-key';
import type { FieldInfo } from '@parley/graph/selected-fields';
import type { GraphContext } from '@parley/subgraph/subgraph';
import type { CustomerOfTenant } from '../embed/customer-cursors.ts';
import { countCustomerSessions, customerUsage, listSessionsByIds } from '../embed/customer-sessions.ts';
import type { CustomerUsageSummaryDto, SessionDtoMessagesArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { listMessages } from '../read-sessions.ts';
import type { Message, Session } from '../session.ts';

export interface Context extends GraphContext {
  ports: Ports;
  /** Counts a customer's sessions, once per request even if several fields need the count. */
  countOf(info: FieldPlace, customer: CustomerOfTenant): Promise<number>;
  usageOf(info: FieldPlace, externalCustomerId: string): Promise<CustomerUsageSummaryDto>;
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
    const counts = new Map<string, Promise<number>>();
    const usages = new Map<string, Promise<CustomerUsageSummaryDto>>();
    return {
      ...request,
      ports,
      countOf: (info, customer) =>
        once(counts, customer.externalCustomerId, () => countCustomerSessions(ports, tenantRequest(info), customer)),
      usageOf: (info, externalCustomerId) =>
        once(usages, externalCustomerId, () => customerUsage(ports, tenantRequest(info), { externalCustomerId })),
      sessionOf,
      messagesOf,
    };
  };
}

function once<T>(known: Map<string, Promise<T>>, key: string, ask: () => Promise<T>): Promise<T> {
  const found = known.get(key) ?? ask();
  known.set(key, found);
  return found;
}
