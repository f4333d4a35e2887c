// Generates the keys and passwords of an installation in the given folder, unless they exist.
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder = '.'] = process.argv.slice(2);
const settings = join(folder, 'parley.env');
if (!existsSync(settings)) {
  const key = () => randomBytes(32).toString('base64');
  const password = () => randomBytes(24).toString('hex');
  const [superuser, postgres, redis, s3] = [password(), password(), password(), password()];
  const write = (name, lines) => writeFileSync(join(folder, name), lines.map((line) => `${line}\n`).join(''));

  write('postgres-superuser', [superuser]);
  write('postgres.sql', [
    `CREATE ROLE parley LOGIN CREATEROLE PASSWORD '${postgres}';`,
    'CREATE DATABASE parley OWNER parley;',
    '\\connect parley',
    'CREATE EXTENSION vector;',
  ]);
  write('redis.conf', [
    'dir /data',
    'appendonly yes',
    'save ""',
    // Redis replays its append-only file as the user `default`.
    'user default off ~* &* +@all',
    `user parley on >${redis} ~parley:* &parley:* +@all -@admin -@dangerous +info`,
  ]);
  write('s3', [s3]);
  write('parley.env.draft', [
    `DATABASE_URL=postgres://parley:${postgres}@postgres:5432/parley`,
    `REDIS_URL=redis://parley:${redis}@redis:6379`,
    `S3_SECRET_ACCESS_KEY=${s3}`,
    `MESH_KEY=${key()}`,
    `OPERATOR_KEY=${key()}`,
    `SECRETS_KEYS=k1:${key()}`,
    `AVATAR_TOKEN_KEYS=k1:${key()}`,
  ]);
  renameSync(`${settings}.draft`, settings);
}
