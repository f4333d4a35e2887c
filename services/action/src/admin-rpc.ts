import type { AdminServiceImplementation } from '@parley/protos/parley/action/v1/admin';
import { emptyAnswer } from '@parley/rpc/empty-answer';
import type { MeshContext } from '@parley/rpc/server';
import { createPartnerAction } from './operators/create-partner-action.ts';
import { listAudit } from './operators/list-audit.ts';
import {
  listPartnerCredentials,
  putPartnerCredential,
  removePartnerCredential,
} from './operators/partner-credentials.ts';
import type { Ports } from './ports.ts';

export function adminRpc(ports: Ports): AdminServiceImplementation<MeshContext> {
  return {
    async listPartnerCredentials(request, call) {
      const credentials = await listPartnerCredentials(ports, call, request);
      return { credentials: credentials.map(({ product, updatedAt }) => ({ partner: product, updatedAt })) };
    },
    putPartnerCredential: (request, call) => emptyAnswer(putPartnerCredential(ports, call, request)),
    removePartnerCredential: (request, call) => emptyAnswer(removePartnerCredential(ports, call, request)),
    async createPartnerAction(request, call) {
      const { id, tenantId, name, credentialSource, method, url } = await createPartnerAction(ports, call, request);
      return { action: { id, tenantId, name, source: credentialSource ?? '', method, url } };
    },
    async listAudit(request, { caller }) {
      const { rows, next } = await listAudit(ports, caller, request);
      const entries = rows.map(({ facts, ...entry }) => ({ ...entry, factsJson: JSON.stringify(facts) }));
      return { entries, nextBefore: next };
    },
  };
}
