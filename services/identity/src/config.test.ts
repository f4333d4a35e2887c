import { randomBytes } from 'node:crypto';
import test from 'ava';
import { readIdentityConfig } from './config.ts';

const key = { SECRETS_KEYS: randomBytes(32).toString('base64') };

test('PLAN_CHANGES defaults to self, and to operator in production', (t) => {
  const planChanges = (env: Record<string, string>) => readIdentityConfig({ ...key, ...env }).settings.planChanges;
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
