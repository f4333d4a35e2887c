import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import type { Database } from '@parley/postgres/database/types';
import type { CredentialPorts } from '../custom-actions/credential.ts';
import { unavailableCredential } from '../custom-actions/issue-token.ts';
import { partnerCredentialStore, partnerTokenPlace } from './partner-credential-store.ts';

/** Decrypts the partner token that the operator has provisioned for the tenant. */
export function partnerTokens({
  database,
  box,
}: {
  database: Pick<Database, 'read'>;
  box: Pick<SecretBox, 'open'>;
}): CredentialPorts['partnerToken'] {
  return async (tenantId, product) => {
    const sealed = await database.read(tenantId, (db) => partnerCredentialStore(db).findToken(product));
    if (!sealed) return undefined;
    try {
      return box.open(sealed, partnerTokenPlace({ tenantId, product })).toString();
    } catch (error) {
      throw unavailableCredential(error);
    }
  };
}
