import {
  type AdminServiceImplementation,
  SyncDelivery as SyncDeliveryMessage,
} from '@parley/protos/parley/session/v1/admin';
import type { MeshContext } from '@parley/rpc/server';
import type { SyncDelivery } from './external-sync/sync-delivery.ts';
import { listAudit } from './operators/list-audit.ts';
import { listSyncDeliveries, redeliverSync } from './operators/sync-deliveries.ts';
import type { Ports } from './ports.ts';

export function adminRpc(ports: Ports): AdminServiceImplementation<MeshContext> {
  return {
    async listSyncDeliveries(request, call) {
      const { rows, next } = await listSyncDeliveries(ports, call, request);
      return { deliveries: rows.map(toMessage), nextBefore: next };
    },
    redeliverSync: async (request, call) => ({ delivery: toMessage(await redeliverSync(ports, call, request)) }),
    async listAudit(request, { caller }) {
      const { rows, next } = await listAudit(ports, caller, request);
      const entries = rows.map(({ facts, ...entry }) => ({ ...entry, factsJson: JSON.stringify(facts) }));
      return { entries, nextBefore: next };
    },
  };
}

function toMessage({ lastError, nextAttemptAt, deliveredAt, ...delivery }: SyncDelivery): SyncDeliveryMessage {
  return SyncDeliveryMessage.fromPartial({
    ...delivery,
    lastError: lastError ?? '',
    nextAttemptAt: nextAttemptAt ?? undefined,
    deliveredAt: deliveredAt ?? undefined,
  });
}
