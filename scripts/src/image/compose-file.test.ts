import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { readSettings } from '@parley/kernel/settings/config';
import { exec } from '@parley/servers/exec';
import { emptyFolder } from '@parley/servers/testing/folder';
import { addressSettings, type UsedEndpoint } from '@parley/unit/address-settings';
import { type ListedUnit, unitNames, units } from '@parley/units';
import { settingsOfUnit } from '@parley/units/settings';
import type { ExecutionContext } from 'ava';
import { tools } from '../install-tool.ts';
import { root } from '../root.ts';
import { testWith } from '../testing/test-with.ts';
import { dockerTools } from './docker-tools.ts';
import { entryPoint, imageEnvironment } from './dockerfile.ts';

const folder = join(root, 'deploy/compose');
const composeTest = await testWith(dockerTools);

interface Service {
  image: string;
  build?: { dockerfile: string; args: { UNIT: string } };
  entrypoint: string[] | null;
  command: string[] | null;
  environment?: Record<string, string>;
  read_only?: boolean;
  cap_drop?: string[];
  mem_limit?: string;
}

/** Returns the services as Docker Compose parses them from the file. Docker Compose rejects what its specification does not contain. */
async function services(of = folder): Promise<Record<string, Service>> {
  const resolved = of === folder ? ['--no-env-resolution'] : [];
  const args = ['--file', join(of, 'compose.yaml'), 'config', '--format', 'json', ...resolved];
  const env = { PATH: process.env.PATH, HOME: tools };
  return JSON.parse(await exec(join(tools, dockerTools.folder, 'docker-compose'), args, { env })).services;
}

/** Runs the first start of an installation and returns the secrets that it writes. */
async function secrets(into: string): Promise<Record<string, string>> {
  await exec(process.execPath, [join(folder, 'secrets.mjs'), into]);
  return parseEnv(readFileSync(join(into, 'parley.env'), 'utf8')) as Record<string, string>;
}

composeTest('each unit has a service with its image and without privileges', async (t) => {
  const all = await services();
  for (const name of unitNames) {
    const { image, build, entrypoint, read_only, cap_drop, mem_limit } = all[name] ?? t.fail(name);
    t.is(image, `parley/${name}:dev`);
    t.deepEqual([build?.dockerfile, build?.args.UNIT], ['deploy/docker/Dockerfile', name]);
    const [node, ...rest] = entryPoint();
    t.deepEqual(entrypoint, [node, '--env-file=/secrets/parley.env', ...rest]);
    t.deepEqual([read_only, cap_drop], [true, ['ALL']], name);
    t.truthy(mem_limit, name);
  }
  for (const { image } of Object.values(all)) t.regex(image, /:(?!latest$)[\w.-]+$/u);
  t.deepEqual(all.migrate?.command, ['migrate']);
  t.deepEqual(all.topics?.command, ['topics', '--replication', '1']);
});

composeTest("the database's version of pgvector is new enough for the schemas", async (t) => {
  const [, version = ''] = /pgvector:([\d.]+)-/u.exec((await services()).postgres?.image ?? '') ?? [];
  const needed = units.flatMap(({ schema }) => schema?.extensions?.vector ?? []);
  t.true(needed.length > 0);
  for (const minimum of needed)
    t.true(version.localeCompare(minimum, 'en', { numeric: true }) >= 0, `${version} < ${minimum}`);
});

composeTest('each unit accepts its environment and reads all variables', async (t) => {
  const [all, keys] = [await services(), await secrets(emptyFolder(t))];
  for (const unit of units as readonly ListedUnit[]) {
    const { environment = {} } = all[unit.name] ?? {};
    const env = { ...imageEnvironment(), ...environment, ...keys };
    t.notThrows(() => unit.readConfig(env), unit.name);
    const read = Object.values(settingsOfUnit(unit)).flat();
    const names = read.map(({ name }) => name);
    t.deepEqual(
      Object.keys(environment).filter((name) => !names.includes(name)),
      [],
      unit.name,
    );
    const required = read.filter(({ required }) => required === 'always' || required === 'in production');
    t.deepEqual(
      required.map(({ name }) => name).filter((name) => !(name in env)),
      [],
      unit.name,
    );
  }
});

async function servicesWith(t: ExecutionContext, settings: Record<string, string>): Promise<Record<string, Service>> {
  const own = emptyFolder(t);
  copyFileSync(join(folder, 'compose.yaml'), join(own, 'compose.yaml'));
  const lines = Object.entries(settings).map((each) => `${each.join('=')}\n`);
  writeFileSync(join(own, '.env'), lines.join(''));
  return services(own);
}

composeTest('values in .env override those of the file', async (t) => {
  const settings = {
    PARLEY_PUBLIC_URL: 'https://parley.example.com',
    RESET_URL: 'https://www.example.com/reset',
    SMTP_URL: 'smtps://mail.example.com',
    KAFKA_BROKERS: 'kafka.example.com:9092',
    S3_ENDPOINT: 'https://s3.example.com',
    S3_BUCKET: 'documents',
    HOSTED_SMALL_MODEL_URL: 'http://models.example.com/v1',
  };
  const all = await servicesWith(t, settings);
  for (const name of [...unitNames, 'migrate', 'topics']) t.like(all[name]?.environment, settings, name);
});

composeTest("URLs for browsers use the configured public addresses, or this machine's", async (t) => {
  const settings = { PARLEY_PUBLIC_URL: 'https://parley.example.com', S3_ENDPOINT: 'https://s3.example.com' };
  for (const [changed, reset, files] of [
    [settings, 'https://parley.example.com/reset-password', 'https://s3.example.com'],
    [{ GATEWAY_PORT: '4400', S3_PORT: '9900' }, 'http://localhost:4400/reset-password', 'http://localhost:9900'],
  ] as const) {
    const { identity, knowledge } = await servicesWith(t, changed);
    t.is(identity?.environment?.RESET_URL, reset);
    t.is(knowledge?.environment?.S3_PUBLIC_ENDPOINT, files);
  }
});

const endpointOf: Record<string, UsedEndpoint['endpoint']> = { RPC: 'rpc', GRAPH: 'graph', HTTP: 'public' };

composeTest('units listen at the addresses that other units call', async (t) => {
  const all = await services();
  for (const unit of units as readonly ListedUnit[]) {
    const { environment = {} } = all[unit.name] ?? {};
    const addresses = settingsOfUnit(unit).own.flatMap(({ name }) => {
      const [, used, endpoint] = /^([A-Z]+)_(RPC|GRAPH|HTTP)_URL$/u.exec(name) ?? [];
      if (used === undefined) return [];
      const service = used.toLowerCase();
      const port = all[service]?.environment?.[endpoint === 'HTTP' ? `${used}_PORT` : `${used}_${endpoint}_PORT`];
      t.is(environment[name], `${endpoint === 'RPC' ? '' : 'http://'}${service}:${port}`, `${unit.name}: ${name}`);
      return [{ unit: service, endpoint: endpointOf[endpoint ?? ''] ?? 'rpc' }];
    });
    t.notThrows(() => readSettings(environment, addressSettings(addresses)), unit.name);
    t.truthy(environment[`${unit.name.toUpperCase()}_OPS_PORT`], unit.name);
  }
});

composeTest('services read exactly the secrets that the first start writes', async (t) => {
  const into = emptyFolder(t);
  await secrets(into);
  const named = readFileSync(join(folder, 'compose.yaml'), 'utf8').matchAll(/\/secrets\/([\w.-]+)/gu);
  t.deepEqual([...new Set([...named].map(([, name = '']) => name))].toSorted(), readdirSync(into).toSorted());
});

composeTest("the S3 service is the one of local servers, has its own name as host, and the units' keys", async (t) => {
  const [into, all] = [emptyFolder(t), await services()];
  const { S3_SECRET_ACCESS_KEY } = await secrets(into);
  const { version } = JSON.parse(readFileSync(join(root, 'deploy/servers/engines/s3/engine.json'), 'utf8'));
  t.is(all.s3?.image, `docker.io/versity/versitygw:v${version}`);

  writeFileSync(join(into, 'versitygw'), '#!/bin/sh\necho "$ROOT_ACCESS_KEY $ROOT_SECRET_KEY $*"\n', { mode: 0o755 });
  const [shell = '', option = '', script = ''] = all.s3?.entrypoint ?? [];
  // Docker Compose replaces `$$` by `$`. The script's folders are moved from the container's root into the test's folder.
  const here = script
    .replaceAll('$$', '$')
    .replaceAll('/secrets', into)
    .replaceAll(/ \/(?=data|iam)/gu, ` ${into}/`);
  const said = await exec(shell, [option, here], { env: { PATH: `${into}:${process.env.PATH}` } });
  t.true(
    said.startsWith(`${all.knowledge?.environment?.S3_ACCESS_KEY_ID} ${S3_SECRET_ACCESS_KEY} --port :9000 `),
    said,
  );
  t.true(said.endsWith(` posix ${into}/data\n`), said);
  t.true(readdirSync(join(into, 'data')).includes(all.knowledge?.environment?.S3_BUCKET ?? ''));
});

composeTest('keys and passwords are in no file of the checkout, and are created once', async (t) => {
  for (const [name, { environment = {} }] of Object.entries(await services())) {
    const words = Object.keys(environment).filter((key) => /PASSWORD(?!_FILE)|SECRET|_KEYS?$|TOKEN/u.test(key));
    t.deepEqual(words, [], name);
  }
  const into = emptyFolder(t);
  const first = await secrets(into);
  t.deepEqual(await secrets(into), first);
  t.notDeepEqual(await secrets(emptyFolder(t)), first);
  t.deepEqual(readdirSync(into).toSorted(), ['parley.env', 'postgres-superuser', 'postgres.sql', 'redis.conf', 's3']);
  const inFile = (file: string, value = '') => readFileSync(join(into, file), 'utf8').includes(value);
  t.true(inFile('postgres.sql', new URL(first.DATABASE_URL ?? '').password));
  t.true(inFile('redis.conf', new URL(first.REDIS_URL ?? '').password));
  t.true(inFile('s3', first.S3_SECRET_ACCESS_KEY));
});
