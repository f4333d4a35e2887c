import { column, type RowOf, table } from '@parley/postgres/database/table';

/** The columns of a connector without its credential, which is read separately. */
export const connectors = table('mcp_connectors', {
  id: column<number>(),
  tenantId: column<number>(),
  name: column<string>(),
  serverUrl: column<string>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});
export type Connector = RowOf<typeof connectors>;

export function apiKeyPlace({ tenantId, id }: Pick<Connector, 'tenantId' | 'id'>): string {
  return `action.mcp_connectors.api_key:${tenantId}:${id}`;
}
