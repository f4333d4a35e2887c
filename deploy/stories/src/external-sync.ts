import { eventually } from '@parley/testing/eventually';
import type { ExternalSyncDeliveryDto } from '../../../services/session/src/generated/schema.ts';
import type { Client } from './client.ts';
import { createAgent, endSession, startSession } from './conversation.ts';
import type { AsJson } from './messages.ts';

export type Delivery = AsJson<Omit<ExternalSyncDeliveryDto, '__typename'>>;

/** Returns the deliveries of an agent's evaluations, newest first. */
export function deliveriesOf(client: Client, agentId: number, bounds = ''): Promise<Delivery[]> {
  const fields = 'id agentId sessionId webhookId status attempts lastError nextAttemptAt createdAt deliveredAt';
  const document = `query ($agentId: Int!) { externalSyncDeliveries(agentId: $agentId${bounds}) { ${fields} } }`;
  return client.value(document, { agentId });
}

/** Waits until the delivery of a session satisfies `wanted`. */
export function deliveryOf(
  client: Client,
  { agentId, sessionId }: { agentId: number; sessionId: number },
  wanted: (delivery: Delivery) => boolean,
): Promise<Delivery> {
  return eventually(
    `the delivery of session ${sessionId} is as wanted`,
    async () => (await deliveriesOf(client, agentId)).find((each) => each.sessionId === sessionId && wanted(each)),
    { timeoutMs: 30_000 },
  );
}

/** Creates a delivery to a host that does not exist. Its first attempt fails, and then the delivery waits for the next attempt. */
export async function waitingDelivery(client: Client): Promise<Delivery> {
  const agentId = await createAgent(client, { externalSyncUrl: 'http://hooks.invalid/parley' });
  const { id: sessionId } = await startSession(client, agentId);
  await endSession(client, sessionId);
  return deliveryOf(client, { agentId, sessionId }, ({ lastError }) => lastError !== null);
}
