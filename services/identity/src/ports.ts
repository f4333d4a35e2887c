import type { SecretBox } from '@parley/kernel/secret-box';
import type { Database } from '@parley/postgres/database/types';
import type { IdentitySettings } from './config.ts';
import type { AnnounceCredentials } from './credentials-changed.ts';
import type { LoginLock } from './login-lock.ts';
import type { OwnKeys } from './own-keys.ts';
import type { Passwords } from './passwords.ts';

/** What the use cases stand on. */
export interface Ports {
  database: Database;
  passwords: Passwords;
  loginLock: LoginLock;
  keys: OwnKeys;
  /** Seals what is stored and must stay secret. */
  box: SecretBox;
  /** Tells the gateways, after the commit and before the answer. */
  announce: AnnounceCredentials;
  /** The time that tokens are issued at. The database has its own. */
  clock: () => Date;
  settings: IdentitySettings;
}
