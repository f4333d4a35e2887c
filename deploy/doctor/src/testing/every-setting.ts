import { randomBytes } from 'node:crypto';
import type { Environment } from '@parley/kernel/settings/config';
import { units } from '@parley/units';
import { settingsRead, unitAddress } from '../installation.ts';

/** A text that every password contains. It must not appear in the output. */
export const password = 'canary-of-passwords';

/** Returns all settings that units need in production, with all engines at one `host:port`. */
export function everySetting(at: string): Environment {
  const key = () => randomBytes(32).toString('base64');
  const names = settingsRead(units).map(({ setting }) => setting.name);
  const addresses = names.filter((name) => unitAddress.test(name));
  return {
    NODE_ENV: 'production',
    MESH_KEY: key(),
    OPERATOR_KEY: key(),
    SECRETS_KEYS: key(),
    AVATAR_TOKEN_KEYS: `k1:${key()}`,
    DATABASE_URL: `postgres://me:${password}@${at}/parley`,
    MIGRATIONS_DATABASE_URL: `postgres://owner:${password}@${at}/parley`,
    REDIS_URL: `redis://me:${password}@${at}`,
    KAFKA_BROKERS: at,
    S3_ENDPOINT: `http://${at}`,
    S3_BUCKET: 'parley',
    S3_ACCESS_KEY_ID: 'parley',
    S3_SECRET_ACCESS_KEY: password,
    SMTP_URL: `smtp://me:${password}@${at}`,
    RESET_URL: 'https://app.example.com/reset',
    CORS_ORIGINS: 'https://app.example.com',
    PARLEY_PUBLIC_URL: 'https://parley.example.com',
    ...Object.fromEntries(
      addresses.map((name) => [name, name.endsWith('_RPC_URL') ? '127.0.0.1:1' : 'http://127.0.0.1:1']),
    ),
  };
}
