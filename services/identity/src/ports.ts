import type { SecretBox } from '@parley/kernel/secret-box';
import type { Database } from '@parley/postgres/database/types';
import type { IdentitySettings } from './config.ts';
import type { AnnounceCredentials } from './credentials-changed.ts';
import type { IdentityKeys } from './identity-keys.ts';
import type { LoginLock } from './login-lock.ts';
import type { Passwords } from './passwords.ts';

/** Dependencies of the use cases. */
export interface Ports {
  database: Database;
  passwords: Passwords;
  loginLock: LoginLock;
  keys: IdentityKeys;
  /** Encrypts stored secrets. */
  box: SecretBox;
  /** Called after the commit and before the response. */
  announce: AnnounceCredentials;
  /** Time of token issuance. SQL uses `parley_now()`. */
  clock: () => Date;
  settings: IdentitySettings;
}
