import { Client } from 'pg';
import type { Engine, Place } from './engine.ts';
import { exec } from './exec.ts';

const timeoutMs = 2_000;
const addressOf = ({ ports }: Place) => `127.0.0.1:${ports.main}`;

/** The application's login owns the database and may make roles; it is no superuser, so row-level security holds for it. */
const postgres: Engine = {
  name: 'postgres',
  title: 'PostgreSQL',
  version: '18.4',
  folder: 'postgres-18.4-1',
  stopSignal: 'SIGINT', // the server's "fast shutdown": it waits for no client
  setting: 'DATABASE_URL',
  settings: (place) => ({ DATABASE_URL: `postgres://parley:${place.password}@${addressOf(place)}/parley` }),

  async ask(place) {
    const connectionString = this.settings(place).DATABASE_URL;
    const client = new Client({ connectionString, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
    client.on('error', () => undefined); // the call that is under way rejects as well
    try {
      await client.connect();
      await client.query('SELECT 1');
    } finally {
      await client.end().catch(() => undefined);
    }
  },
};

/** The login that may do everything on that PostgreSQL, for tests that look behind the application's back. */
export function superuserUrl(place: Place): string {
  return `postgres://postgres:${place.superuserPassword}@${addressOf(place)}/parley`;
}

/** Its one login reaches the keys and channels of the application alone. */
const redis: Engine = {
  name: 'redis',
  title: 'Redis',
  version: '7',
  folder: 'redis-7-1',
  stopSignal: 'SIGTERM',
  setting: 'REDIS_URL',
  settings: (place) => ({ REDIS_URL: `redis://parley:${place.password}@${addressOf(place)}` }),

  async ask({ installed, ports, password }) {
    const args = ['redis-cli', '-h', '127.0.0.1', '-p', String(ports.main), '--user', 'parley', 'ping'];
    const env = { PATH: process.env.PATH, REDISCLI_AUTH: password };
    const signal = AbortSignal.timeout(timeoutMs);
    const answer = await exec(`${installed}/run`, args, { env, signal });
    if (answer.trim() !== 'PONG') throw new Error(`it answers ${answer}`);
  },
};

/** One node that is broker and controller at once. */
const kafka: Engine = {
  name: 'kafka',
  title: 'Kafka',
  version: '4.3.1',
  folder: 'kafka-4.3.1-1',
  stopSignal: 'SIGTERM',
  setting: 'KAFKA_BROKERS',
  settings: (place) => ({ KAFKA_BROKERS: addressOf(place) }),

  async ask(place) {
    const { kafkaClient } = await import('@parley/chassis/events/kafka-client');
    const admin = kafkaClient({ brokers: [addressOf(place)] }, { retries: 0 }).admin();
    try {
      await admin.connect();
      const { brokers } = await admin.describeCluster();
      if (brokers.length === 0) throw new Error('its broker has not joined yet');
    } finally {
      await admin.disconnect();
    }
  },
};

/** It keeps objects as files. */
const s3: Engine = {
  name: 's3',
  title: 'S3 (versitygw)',
  version: '1.8.0',
  folder: 'versitygw-1.8.0',
  stopSignal: 'SIGTERM',
  setting: 'S3_ENDPOINT',
  settings: (place) => ({
    S3_ENDPOINT: `http://${addressOf(place)}`,
    S3_REGION: 'us-east-1',
    S3_BUCKET: 'parley',
    S3_ACCESS_KEY_ID: 'parley',
    S3_SECRET_ACCESS_KEY: place.password,
  }),

  async ask(place) {
    const { ok, status } = await fetch(`http://${addressOf(place)}/health`, { signal: AbortSignal.timeout(timeoutMs) });
    if (!ok) throw new Error(`it answers ${status}`);
  },
};

export const engines: Engine[] = [postgres, redis, kafka, s3];
