import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import { unavailableCredential } from '../custom-actions/issue-token.ts';
import type { McpConnector } from '../mcp/mcp-connector.ts';
import { apiKeyPlace } from './connector.ts';
import type { SealedConnector } from './connector-store.ts';

/** A connector with its decrypted credential, ready to be called. */
export type OpenConnector = McpConnector & { name: string };

/**
 * Decrypts a connector's credential.
 * @throws DomainError `CREDENTIAL_UNAVAILABLE` if `SECRETS_KEYS` lacks the key that sealed the credential
 */
export function openConnector(box: Pick<SecretBox, 'open'>, row: SealedConnector): OpenConnector {
  const { id, tenantId, name, serverUrl, updatedAt, apiKeySealed } = row;
  let apiKey: string;
  try {
    apiKey = box.open(apiKeySealed, apiKeyPlace(row)).toString();
  } catch (error) {
    throw unavailableCredential(error);
  }
  return { tenantId, id, name, version: updatedAt.toISOString(), serverUrl, apiKey };
}
