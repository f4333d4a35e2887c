import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Database } from '@parley/postgres/database/types';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import type { IdentitySettings } from './config.ts';
import type { IdpOne } from './idp-one/idp-one.ts';
import type { IdentityKeys } from './keys/identity-keys.ts';
import type { Carriers } from './messages/carriers.ts';
import type { Passwords } from './passwords/passwords.ts';
import type { LoginLock } from './sign-ins/login-lock.ts';
import type { Ledger } from './spend/ledger.ts';

export interface Ports {
  carriers: Carriers;
  log: Logger;
  database: Database;
  passwords: Passwords;
  loginLock: LoginLock;
  idpOne: IdpOne | undefined;
  keys: IdentityKeys;
  ledger: Ledger;
  box: SecretBox;
  /**
   * Makes gateways drop cached credential statuses. Must be called after the commit and before the response. Never rejects, because cached
   * statuses expire in a second anyway.
   */
  announce: (whose: NonNullable<CredentialsChanged['whose']>) => Promise<void>;
  /** The clock for the issuance of tokens. SQL statements use `parley_now()`. */
  clock: () => Date;
  settings: IdentitySettings;
}
