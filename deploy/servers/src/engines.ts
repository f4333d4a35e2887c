import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Engine, EngineName, Place } from './engine.ts';
import { exec } from './exec.ts';
import { scriptFolder } from './install.ts';

const timeoutMs = 2_000;
const addressOf = ({ host, ports }: Place) => `${host}:${ports.main}`;

/** The content of `engine.json`. The settings contain `{host}`, `{port}` and `{password}`; the first setting is the server's address. */
type Declared = Pick<Engine, 'title' | 'version' | 'folder' | 'stopSignal'> & { settings: Record<string, string> };

function engine(name: EngineName, ask: Engine['ask']): Engine {
  const file = join(scriptFolder, name, 'engine.json');
  const { settings, ...declared }: Declared = JSON.parse(readFileSync(file, 'utf8'));
  const fill = (text: string, { host, ports, password }: Place) =>
    text.replace('{host}', host).replace('{port}', String(ports.main)).replace('{password}', password);
  return {
    ...declared,
    name,
    setting: Object.keys(settings)[0] ?? '',
    settings: (place) => Object.fromEntries(Object.entries(settings).map(([key, text]) => [key, fill(text, place)])),
    ask,
  };
}

/** The application's login owns the database and may create roles. It is not a superuser, so row-level security applies to it. */
const postgres = engine('postgres', async (place) => {
  const connectionString = postgres.settings(place).DATABASE_URL;
  const client = new Client({ connectionString, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
  client.on('error', () => undefined); // the pending call rejects as well
  try {
    await client.connect();
    await client.query('SELECT 1');
  } finally {
    await client.end().catch(() => undefined);
  }
});

/** Returns the superuser's URL, for tests that need more rights than the application has. */
export function superuserUrl(place: Place, databaseName = 'parley'): string {
  return `postgres://postgres:${place.superuserPassword}@${addressOf(place)}/${databaseName}`;
}

/** The only login can access only the application's keys and channels. */
const redis = engine('redis', async ({ installed, host, ports, password }) => {
  const args = ['redis-cli', '-h', host, '-p', String(ports.main), '--user', 'parley', 'ping'];
  const env = { PATH: process.env.PATH, REDISCLI_AUTH: password };
  const answer = await exec(`${installed}/run`, args, { env, signal: AbortSignal.timeout(timeoutMs) });
  if (answer.trim() !== 'PONG') throw new Error(`it answers ${answer}`);
});

/** One node that is both broker and controller. */
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

/** This S3 service stores objects as files. */
const s3 = engine('s3', async (place) => {
  const { ok, status } = await fetch(`http://${addressOf(place)}/health`, { signal: AbortSignal.timeout(timeoutMs) });
  if (!ok) throw new Error(`it answers ${status}`);
});

export const engines: Engine[] = [postgres, redis, kafka, s3];
