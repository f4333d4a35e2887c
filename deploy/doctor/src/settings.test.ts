import type { Environment } from '@parley/kernel/settings/config';
import { units } from '@parley/units';
import test from 'ava';
import { checkSettings } from './settings.ts';
import { everySetting } from './testing/every-setting.ts';

/** Returns the findings about all units with some settings changed. */
function findings(change: Environment, from = everySetting('127.0.0.1:1')) {
  const outcomes = checkSettings({ env: { ...from, ...change }, units, allUnits: units, now: Date.now, patienceMs: 1 });
  return outcomes.filter(({ level }) => level !== 'ok');
}

test('complete settings have no finding', (t) => {
  t.deepEqual(findings({}), []);
});

const faults: [what: string, change: Environment, check: string, words: RegExp][] = [
  ['a key that is missing', { MESH_KEY: '' }, 'settings.missing', /^MESH_KEY is missing \(identity, .*gateway\)$/u],
  [
    'an engine that is missing',
    { KAFKA_BROKERS: undefined },
    'settings.missing',
    /KAFKA_BROKERS is missing, and NODE_ENV/u,
  ],
  ['a database that is missing, once', { DATABASE_URL: '' }, 'settings.missing', /^DATABASE_URL is missing/u],
  ['a bucket that is missing', { S3_BUCKET: '' }, 'settings.missing', /S3_BUCKET is missing, and S3_ENDPOINT is set/u],
  ['an address of one unit that is missing', { AGENT_RPC_URL: '' }, 'settings.missing', /AGENT_RPC_URL is missing/u],
  ['a key that is too short', { SECRETS_KEYS: 'c2hvcnQ=' }, 'settings.invalid', /must be at least 32 bytes/u],
  ['a URL that is none', { REDIS_URL: 'localhost:6379' }, 'settings.invalid', /is not a redis or rediss URL/u],
  [
    'a password of digits that is not percent-encoded, which would be taken for a port',
    { REDIS_URL: 'redis://me:1234/secret@redis:6379' },
    'settings.invalid',
    /^REDIS_URL has an @ behind its host: in a password/u,
  ],
  [
    "a variable with a unit's name that is no setting",
    { SESSION_TURNS: '3' },
    'settings.unknown',
    /no unit reads SESSION_TURNS/u,
  ],
  ['a misspelt setting of no unit', { DATABASE_POOLSIZE: '3' }, 'settings.unknown', /no unit reads DATABASE_POOLSIZE/u],
  [
    'the address of a Service in place of a port',
    { GATEWAY_PORT: 'tcp://10.0.0.1:4000' },
    'settings.service-links',
    /GATEWAY_PORT is not a number/u,
  ],
  [
    'certificates that are not verified',
    { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    'settings.invalid',
    /NODE_TLS_REJECT_UNAUTHORIZED is 0, so no certificate/u,
  ],
  [
    'a public URL without TLS',
    { PARLEY_PUBLIC_URL: 'http://parley.example.com' },
    'settings.public-url',
    /is not https/u,
  ],
  ['a public URL of this machine', { PARLEY_PUBLIC_URL: '' }, 'settings.public-url', /this machine alone/u],
  ['pages of any origin', { CORS_ORIGINS: '*' }, 'settings.cors', /pages of any origin/u],
];

for (const [what, change, check, words] of faults) {
  test(`it finds ${what}`, (t) => {
    const [found, ...others] = findings(change);
    t.deepEqual(others, []);
    t.is(found?.check, check);
    t.regex(found?.found ?? '', words);
  });
}

test('one key for operators and units is wrong', (t) => {
  const { MESH_KEY } = everySetting('127.0.0.1:1');
  const [found, ...others] = findings({ MESH_KEY, OPERATOR_KEY: MESH_KEY });
  t.deepEqual(others, []);
  t.like(found, {
    level: 'wrong',
    settings: ['OPERATOR_KEY'],
    found: 'OPERATOR_KEY must be another key than MESH_KEY (identity, action, session)',
  });
});

test('without any address of a unit there is one warning, as charts give them', (t) => {
  const addresses = Object.keys(everySetting('')).filter((name) => /_(?:RPC|GRAPH|HTTP)_URL$/u.test(name));
  const found = findings(Object.fromEntries(addresses.map((name) => [name, ''])));
  t.deepEqual(
    found.map(({ level, check }) => [level, check]),
    [['warning', 'settings.addresses']],
  );
});

test('in development no engine is needed, and a public URL may be plain', (t) => {
  const env = {
    ...everySetting('127.0.0.1:1'),
    NODE_ENV: 'development',
    REDIS_URL: '',
    KAFKA_BROKERS: '',
    PARLEY_PUBLIC_URL: '',
  };
  t.deepEqual(findings({}, env), []);
});
