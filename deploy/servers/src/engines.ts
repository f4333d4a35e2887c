import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Engine, EngineName, Place } from './engine.ts';
import { exec } from './exec.ts';
import { scriptFolder } from './install.ts';

const timeoutMs = 2_000;
const addressOf = ({ ports }: Place) => `127.0.0.1:${ports.main}`;

/** What `engine.json` says: its settings hold `{port}` and `{password}`, the first is the one that says where a server is. */
type Declared = Pick<Engine, 'title' | 'version' | 'folder' | 'stopSignal'> & { settings: Record<string, string> };

function engine(name: EngineName, ask: Engine['ask']): Engine {
  const file = join(scriptFolder, name, 'engine.json');
  const { settings, ...declared }: Declared = JSON.parse(readFileSync(file, 'utf8'));
  const fill = (text: string, { ports, password }: Place) =>
    text.replace('{port}', String(ports.main)).replace('{password}', password);
  return {
    ...declared,
    name,
    setting: Object.keys(settings)[0] ?? '',
    settings: (place) => Object.fromEntries(Object.entries(settings).map(([key, text]) => [key, fill(text, place)])),
    ask,
  };
}

/** The application's login owns the database and may make roles; it is no superuser, so row-level security holds for it. */
const postgres = engine('postgres', async (place) => {
  const connectionString = postgres.settings(place).DATABASE_URL;
  const client = new Client({ connectionString, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
  client.on('error', () => undefined); // the call that is under way rejects as well
  try {
    await client.connect();
    await client.query('SELECT 1');
  } finally {
    await client.end().catch(() => undefined);
  }
});

/** The login that may do everything on that PostgreSQL, for tests that look behind the application's back. */
export function superuserUrl(place: Place): string {
  return `postgres://postgres:${place.superuserPassword}@${addressOf(place)}/parley`;
}

/** Its one login reaches the keys and channels of the application alone. */
const redis = engine('redis', async ({ installed, ports, password }) => {
  const args = ['redis-cli', '-h', '127.0.0.1', '-p', String(ports.main), '--user', 'parley', 'ping'];
  const env = { PATH: process.env.PATH, REDISCLI_AUTH: password };
  const answer = await exec(`${installed}/run`, args, { env, signal: AbortSignal.timeout(timeoutMs) });
  if (answer.trim() !== 'PONG') throw new Error(`it answers ${answer}`);
});

/** One node that is broker and controller at once. */
const kafka = engine('kafka', async (place) => {
  const { kafkaClient } = await import('@parley/events/kafka-client');
  const admin = kafkaClient({ brokers: [addressOf(place)] }, { retries: 0 }).admin();
  try {
    await admin.connect();
    const { brokers } = await admin.describeCluster();
    if (brokers.length === 0) throw new Error('its broker has not joined yet');
  } finally {
    await admin.disconnect();
  }
});

/** It keeps objects as files. */
const s3 = engine('s3', async (place) => {
  const { ok, status } = await fetch(`http://${addressOf(place)}/health`, { signal: AbortSignal.timeout(timeoutMs) });
  if (!ok) throw new Error(`it answers ${status}`);
});

export const engines: Engine[] = [postgres, redis, kafka, s3];
