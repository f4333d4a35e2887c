import { createHash } from 'node:crypto';

/** An MCP server of a tenant, as it is called. */
export interface McpConnector {
  tenantId: number;
  id: number;
  /** Changes with the connector's settings, e.g. the time of its last update. */
  version: string;
  serverUrl: string;
  /** The bearer token of each request; it is in no error, log or result. */
  apiKey: string;
}

/** Identifies the connector with its settings and credential, without showing the credential. */
export function keyOf({ tenantId, id, version, serverUrl, apiKey }: McpConnector): string {
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([serverUrl, apiKey]))
    .digest('base64url');
  return JSON.stringify([tenantId, id, version, fingerprint]);
}

/** Whether it is the key of a connector of the same tenant. */
export function isOf({ tenantId }: Pick<McpConnector, 'tenantId'>, key: string): boolean {
  return key.startsWith(`[${tenantId},`);
}
