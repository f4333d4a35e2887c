import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { readIdentityConfig } from './config.ts';

const key = {
  SECRETS_KEYS: randomBytes(32).toString('base64'),
  SMTP_URL: 'smtp://mail.test',
  RESET_URL: 'https://a.test/reset',
};

test('PLAN_CHANGES defaults to self, and to operator in production', (t) => {
  const needed = { ...key, SMTP_URL: 'smtp://localhost' };
  const planChanges = (env: Record<string, string>) => readIdentityConfig({ ...needed, ...env }).settings.planChanges;
  t.is(planChanges({}), 'self');
  t.is(planChanges({ NODE_ENV: 'production' }), 'operator');
  t.is(planChanges({ NODE_ENV: 'production', PLAN_CHANGES: 'self' }), 'self');
  t.is(planChanges({ PLAN_CHANGES: 'operator' }), 'operator');
});

test('an error names every invalid setting', (t) => {
  const wrong = {
    IDENTITY_RPC_PORT: '99999',
    REGISTRATION: 'closed',
    PLAN_CHANGES: 'nobody',
    SECRETS_KEYS: 'short',
    PARLEY_PUBLIC_URL: 'x',
  };
  const error = t.throws(() => readIdentityConfig(wrong));
  for (const name of Object.keys(wrong)) t.true(error?.message.includes(`${name}:`), name);
});

test('OPERATOR_KEY must differ from MESH_KEY, in any encoding', (t) => {
  const bytes = randomBytes(32);
  const read = (meshKey: Buffer) =>
    readIdentityConfig({ ...key, OPERATOR_KEY: bytes.toString('base64'), MESH_KEY: meshKey.toString('base64url') });
  t.throws(() => read(bytes), { message: /OPERATOR_KEY: must be another key than MESH_KEY/ });
  const ring = { MESH_KEY: `${randomBytes(32).toString('base64')},${bytes.toString('base64')}` };
  t.throws(() => readIdentityConfig({ ...key, ...ring, OPERATOR_KEY: bytes.toString('base64') }), {
    message: /OPERATOR/,
  });
  t.deepEqual(read(randomBytes(32)).operatorKey, bytes);
  t.is(readIdentityConfig(key).operatorKey, undefined);
});

test('the trailing slash of the public URL is removed', (t) => {
  t.is(
    readIdentityConfig({ ...key, PARLEY_PUBLIC_URL: 'https://parley.test/' }).settings.publicUrl,
    'https://parley.test',
  );
});

test('REAUTH_MAX_AGE is unset or a positive whole number of seconds', (t) => {
  const reauth = (value: string) => readIdentityConfig({ ...key, REAUTH_MAX_AGE: value }).settings.reauthMaxAgeS;
  t.is(readIdentityConfig(key).settings.reauthMaxAgeS, null);
  t.is(reauth(''), null);
  t.is(reauth('300'), 300);
  for (const wrong of ['banana', '0', '-1', '1.5', '5m'])
    t.throws(() => reauth(wrong), { message: /REAUTH_MAX_AGE: / }, wrong);
});

test('ceilings are amounts above 0 in whole cents', (t) => {
  const { idpOneMonthlyCeilingUsd, platformMonthlyCeilingUsd } = readIdentityConfig(key).settings;
  t.deepEqual([idpOneMonthlyCeilingUsd, platformMonthlyCeilingUsd], [5_000, null]);
  const ceiling = (value: string) =>
    readIdentityConfig({ ...key, PLATFORM_MONTHLY_CEILING_USD: value }).settings.platformMonthlyCeilingUsd;
  t.deepEqual(['', '1', '0.01', '12345.67', '2.50'].map(ceiling), [null, 1, 0.01, 12_345.67, 2.5]);
  for (const wrong of ['0', '-1', '0.001', '1e30', 'much', '5,000', 'Infinity', '1000000000']) {
    t.throws(() => ceiling(wrong), { message: /PLATFORM_MONTHLY_CEILING_USD: must be an amount above 0/u }, wrong);
  }
});

test('PLAN_LIMITS_FILE overrides the limits that it contains, and an error names all its problems', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plan-limits-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const limits = (text: string) => {
    const file = join(folder, 'limits.json');
    writeFileSync(file, text);
    return readIdentityConfig({ ...key, PLAN_LIMITS_FILE: file }).settings.planLimits;
  };
  const usual = readIdentityConfig(key).settings.planLimits;
  t.deepEqual(limits('{}'), usual);
  t.deepEqual(limits('{"DEV": {"monthlyLlmCapUsd": 0.5, "chunks": 7}, "PRO": {}}'), {
    ...usual,
    DEV: { monthlyLlmCapUsd: 0.5, knowledgeBases: 3, chunks: 7, storageMb: 100 },
  });
  const wrong = t.throws(() =>
    limits(
      '{"DEV": {"monthlyLlmCapUsd": "10", "chunks": 1.5, "cap": 3}, "PRO": {"storageMb": 0, "monthlyLlmCapUsd": 0.001}, "ENTERPRISE": 7, "FREE": {}}',
    ),
  );
  for (const problem of [
    'DEV monthlyLlmCapUsd must be an amount above 0 in USD with at most two decimals',
    'DEV chunks must be a whole number above 0',
    'DEV has no cap',
    'PRO storageMb must be a whole number above 0',
    'PRO monthlyLlmCapUsd must be an amount',
    'ENTERPRISE must be an object',
    'has no FREE',
  ]) {
    t.regex(String(wrong?.message), new RegExp(`PLAN_LIMITS_FILE: .*limits.json: ${problem}`, 'u'));
  }
  for (const text of ['[]', 'null', '7']) t.throws(() => limits(text), { message: /limits.json: must be an object/u });
  t.throws(() => limits('{'), { message: /limits.json is not JSON/u });
  t.throws(() => readIdentityConfig({ ...key, PLAN_LIMITS_FILE: join(folder, 'none') }), {
    message: /cannot be read/u,
  });
});

test('RESET_URL is an http or https URL to which a parameter can be added', (t) => {
  const resetUrl = (value: string) => readIdentityConfig({ ...key, RESET_URL: value }).settings.resetUrl;
  t.is(resetUrl(''), undefined);
  t.is(resetUrl('https://app.example/reset?step=1'), 'https://app.example/reset?step=1');
  for (const wrong of ['app.example/reset', 'javascript:alert(1)', 'https://app.example/#/reset'])
    t.throws(() => resetUrl(wrong), { message: /RESET_URL: /u }, wrong);
});

test('IDENTITY_IDEMPOTENCY_LEASE_MS is 1 second to 10 minutes', (t) => {
  const read = (ms: string) => () =>
    readIdentityConfig({ SECRETS_KEYS: randomBytes(32).toString('base64'), IDENTITY_IDEMPOTENCY_LEASE_MS: ms });
  for (const ms of ['1000', '600000']) t.notThrows(read(ms));
  for (const ms of ['999', '600001', '0'])
    t.throws(read(ms), { message: /IDENTITY_IDEMPOTENCY_LEASE_MS: must be/u }, ms);
});
