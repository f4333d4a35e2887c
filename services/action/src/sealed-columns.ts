import type { SealedColumn } from '@parley/postgres/reseal';
import { partnerTokenPlace } from './actions/partner-credential-store.ts';
import { callPlace } from './calls/sealed-call.ts';
import type { CallName } from './calls/turn-call-store.ts';
import { apiKeyPlace } from './connectors/connector.ts';
import { credentialPlace } from './custom-actions/stored-credential.ts';
import { listSealingTenants } from './sealing-tenant-store.ts';

interface Row {
  tenantId: number;
  id: number;
}

/** All columns in which action stores sealed values. */
export const sealedColumns: SealedColumn[] = [
  {
    table: 'mcp_connectors',
    column: 'apiKeySealed',
    key: ['id'],
    reads: ['tenantId'],
    placeOf: (row: Row) => apiKeyPlace(row),
    listTenants: listSealingTenants,
  },
  {
    table: 'custom_actions',
    column: 'credentialSealed',
    key: ['id'],
    reads: ['tenantId'],
    placeOf: (row: Row) => credentialPlace(row),
    listTenants: listSealingTenants,
  },
  {
    table: 'partner_credentials',
    column: 'tokenSealed',
    key: ['tenantId', 'product'],
    placeOf: (row: { tenantId: number; product: string }) => partnerTokenPlace(row),
    listTenants: listSealingTenants,
  },
  ...(['note', 'arguments', 'result'] as const).map((part) => ({
    table: 'turn_calls',
    column: `${part}Sealed`,
    key: ['tenantId', 'turn', 'call'],
    placeOf: (row: CallName & { tenantId: number }) => callPlace(part, row),
  })),
];
