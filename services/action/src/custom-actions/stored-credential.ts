import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import type { ActionCredential, CustomAction } from './custom-action.ts';
import { unavailableCredential } from './issue-token.ts';

type Row = Pick<CustomAction, 'tenantId' | 'id'>;

/**
 * Returns the place (the additional authenticated data, AAD) that a credential is sealed for. A credential copied to another row or tenant
 * cannot be decrypted.
 */
export function credentialPlace({ tenantId, id }: Row): string {
  return `action.custom_actions.credential:${tenantId}:${id}`;
}

export function sealCredential(box: Pick<SecretBox, 'seal'>, row: Row, credential: ActionCredential): Buffer {
  return box.seal(JSON.stringify(credential), credentialPlace(row));
}

/**
 * Decrypts a credential.
 * @throws DomainError `CREDENTIAL_UNAVAILABLE` if `SECRETS_KEYS` lacks the key that sealed the credential, or the credential was sealed for
 * another row
 */
export function openCredential(box: Pick<SecretBox, 'open'>, row: Row, sealed: Uint8Array): ActionCredential {
  let text: string;
  try {
    text = box.open(sealed, credentialPlace(row)).toString();
  } catch (error) {
    throw unavailableCredential(error);
  }
  return JSON.parse(text) as ActionCredential;
}
