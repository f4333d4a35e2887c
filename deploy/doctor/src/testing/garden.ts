import { randomBytes } from 'node:crypto';
import { deadLetterTopic } from '@parley/events/event-bus';
import { kafkaClient } from '@parley/events/kafka-client';
import { makeTopics } from '@parley/events/kafka-topics';
import { type TopicDeclaration, usualRetentionMs } from '@parley/events/topics';
import { gatewaySettings } from '@parley/gateway/config';
import { identitySettings } from '@parley/identity/config';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { httpUrl } from '@parley/kernel/settings/setting-types';
import { setting } from '@parley/kernel/settings/settings';
import { publicUrlSetting, secretsKeysSetting } from '@parley/kernel/settings/shared-settings';
import { rolesOf } from '@parley/postgres/database/identifiers';
import { migrateSchema } from '@parley/postgres/database/migrate';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { openPool } from '@parley/postgres/driver/pool';
import type { ListedUnit } from '@parley/units';
import { testBucket } from './bucket.ts';
import { mailServer } from './mail-server.ts';

/** A text in every password and key, so that a test notices if one is printed. */
export const canary = 'canary-in-the-garden';

export type Garden = Awaited<ReturnType<typeof plantGarden>>;

/**
 * Sets up a test installation ("garden") on the test engines: one unit that needs every engine, with everything that the unit needs there.
 * `remove` deletes the whole installation.
 */
export async function plantGarden() {
  const name = `garden_${randomBytes(4).toString('hex')}`;
  const unit = gardenUnit(name);
  const database = await gardenDatabase(unit.schema);
  const brokers = (process.env.TEST_KAFKA_BROKERS ?? '').split(',');
  const topics = await gardenTopics(brokers, unit.publishes[0]);
  const bucket = await testBucket(name.replace('_', '-'));
  const mail = await mailServer(canary);

  const env: Environment = {
    NODE_ENV: 'production',
    MESH_KEY: key(),
    SECRETS_KEYS: database.secretsKey,
    DATABASE_URL: database.serviceUrl,
    MIGRATIONS_DATABASE_URL: database.ownerUrl,
    REDIS_URL: process.env.TEST_REDIS_URL,
    KAFKA_BROKERS: brokers.join(),
    ...bucket.env,
    SMTP_URL: mail.url,
    CORS_ORIGINS: bucket.origin,
    PARLEY_PUBLIC_URL: 'https://parley.example.com',
    [modelUrlOf(name)]: `${process.env.TEST_S3_ENDPOINT}/v1`,
  };
  return {
    name,
    unit,
    env,
    modelUrl: modelUrlOf(name),
    brokers,
    bucket,
    topic: unit.publishes[0],
    slowTopic: topics.slow.name,
    asSuperuser: database.asSuperuser,
    migrate: database.migrate,
    async remove() {
      await Promise.all([database.remove(), bucket.remove(), mail.stop(), topics.remove()]);
    },
  };
}

export const key = () => randomBytes(32).toString('base64');

const modelUrlOf = (name: string) => `${name.toUpperCase()}_MODEL_URL`;

function gardenUnit(name: string) {
  const settings = {
    secretsKeys: secretsKeysSetting,
    smtpUrl: identitySettings.delivery.smtpUrl,
    corsOrigins: gatewaySettings.corsOrigins,
    publicUrl: publicUrlSetting,
    modelUrl: setting(modelUrlOf(name), httpUrl.optional(), 'A model.'),
  };
  const topic = { name, types: ['garden.grown.v1'], partitions: 3, retentionMs: usualRetentionMs } as const;
  return {
    name,
    folder: 'garden',
    replicas: 2,
    serves: [],
    settings,
    readConfig: (env: Environment) => ({ ...readSettings(env, settings), opsPort: 0 }),
    load: () => Promise.reject(new Error('it has no code')),
    keepsFiles: true,
    publishes: [topic] as const,
    consumes: ['garden.grown.v1'],
    schema: gardenSchema(name),
  } satisfies ListedUnit;
}

function gardenSchema(name: string): SchemaDeclaration {
  return {
    name,
    extensions: { vector: '0.8.5' },
    tables: { gates: 'people', plants: 'tenant' },
    migrations: [
      {
        name: '001-garden',
        up: async (knex) =>
          void (await knex.raw(
            'CREATE TABLE gates (key_sealed bytea); CREATE TABLE plants (tenant_id integer NOT NULL)',
          )),
      },
    ],
  };
}

/**
 * Creates a database with one login that owns the schema, another login for the service, and a value that is encrypted with `secretsKey`.
 */
async function gardenDatabase(schema: SchemaDeclaration) {
  const { name } = schema;
  const superuser = openPool({ url: process.env.TEST_DATABASE_URL ?? '', poolSize: 1, statementTimeoutMs: 60_000 });
  const urlOf = (login?: string) => {
    const url = new URL(process.env.TEST_DATABASE_URL ?? '');
    url.pathname = name;
    if (login) Object.assign(url, { username: `${name}_${login}`, password: canary });
    return url.href;
  };
  await superuser.raw(`CREATE ROLE ${name}_app LOGIN PASSWORD '${canary}'`);
  await superuser.raw(`CREATE ROLE ${name}_owner LOGIN CREATEROLE PASSWORD '${canary}'`);
  await superuser.raw(`CREATE DATABASE ${name} OWNER ${name}_owner`);
  const inside = openPool({ url: urlOf(), poolSize: 1, statementTimeoutMs: 60_000 });
  await inside.raw('CREATE EXTENSION vector');
  const [serviceUrl, ownerUrl] = [urlOf('app'), urlOf('owner')];
  const migrate = () => migrateSchema({ url: ownerUrl, appUrl: serviceUrl, schema, schemaName: name });
  await migrate();
  const secretsKey = key();
  const sealed = createSecretBox([Buffer.from(secretsKey, 'base64')]).seal('gate', 'gates.key');
  await inside.raw(`INSERT INTO ${name}.gates VALUES (?)`, [sealed]);
  return {
    serviceUrl,
    ownerUrl,
    secretsKey,
    migrate,
    asSuperuser: (sql: string) => inside.raw(sql),
    async remove() {
      await inside.destroy();
      await superuser.raw(`DROP DATABASE ${name} WITH (FORCE)`);
      const { tenant, shared } = rolesOf(name);
      await superuser.raw(`DROP ROLE ${tenant}, ${shared}, ${name}_app, ${name}_owner`);
      await superuser.destroy();
    },
  };
}

/** Creates the unit's topic, and a topic whose `min.insync.replicas` is larger than its number of replicas. */
async function gardenTopics(brokers: string[], topic: TopicDeclaration) {
  const slow = { ...topic, name: `${topic.name}-slow` };
  const admin = kafkaClient({ brokers }, { retries: 5 }).admin();
  const configEntries = [
    { name: 'min.insync.replicas', value: '2' },
    { name: 'retention.ms', value: String(slow.retentionMs) },
  ];
  const made = { topic: slow.name, numPartitions: slow.partitions, replicationFactor: 1, configEntries };
  await admin.createTopics({ topics: [made], waitForLeaders: false });
  await makeTopics([topic, slow], { brokers, replication: 1 });
  return {
    slow,
    async remove() {
      const topics = [topic, slow].flatMap(({ name }) => [name, deadLetterTopic(name)]);
      await admin.deleteTopics({ topics }).finally(() => admin.disconnect());
    },
  };
}
