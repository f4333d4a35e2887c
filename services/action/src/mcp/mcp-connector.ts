import { createHash } from 'node:crypto';

/** An MCP server of a tenant, with the URL and credential for calls. */
export interface McpConnector {
  tenantId: number;
  id: number;
  /** A value that changes with the connector's settings, e.g. the time of the last update. */
  version: string;
  serverUrl: string;
  /** The bearer token of each request. It never appears in errors, logs or results. */
  apiKey: string;
}

/**
 * Returns a key that identifies the connector together with its current settings and credential. The key does not reveal the credential.
 */
export function keyOf({ tenantId, id, version, serverUrl, apiKey }: McpConnector): string {
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([serverUrl, apiKey]))
    .digest('base64url');
  return JSON.stringify([tenantId, id, version, fingerprint]);
}

/** Reports whether a key of `keyOf` belongs to a connector of this tenant. */
export function isOf({ tenantId }: Pick<McpConnector, 'tenantId'>, key: string): boolean {
  return key.startsWith(`[${tenantId},`);
}
