import { column, type RowOf, table } from '@parley/postgres/database/table';

export type CallKind = 'TOOL' | 'TOOL_LIST' | 'ACTION';

/** An outbound call of the tenant, without its request and response. Later calls of the tenant have higher ids. */
export const outboundCalls = table('outbound_calls', {
  id: column<number>(),
  at: column<Date>(),
  kind: column<CallKind>(),
  target: column<number>(),
  name: column<string>(),
  status: column<number | null>(),
  durationMs: column<number>(),
  bytes: column<number>(),
  errorKind: column<string | null>(),
});
export type OutboundCall = RowOf<typeof outboundCalls>;

export interface NewOutboundCall extends Omit<OutboundCall, 'id' | 'at'> {
  agentId?: number | null | undefined;
  sessionId?: number | null | undefined;
}
