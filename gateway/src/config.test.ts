import { randomBytes } from 'node:crypto';
import { SettingsError } from '@parley/kernel/settings/config';
import test, { type ExecutionContext } from 'ava';
import { readGatewayConfig } from './config.ts';

const keys = { AVATAR_TOKEN_KEYS: `t1:${randomBytes(32).toString('base64')}` };

function problemsOf(t: ExecutionContext, env: Record<string, string>): string[] | undefined {
  return t.throws(() => readGatewayConfig({ ...keys, ...env }), { instanceOf: SettingsError })?.problems;
}

test('bodies may not be larger than what subgraphs take, nor others larger than long ones', (t) => {
  const large = { GATEWAY_MAX_BODY_BYTES: '20000000', GATEWAY_MAX_LONG_BODY_BYTES: '20000000' };
  t.deepEqual(
    problemsOf(t, large),
    Object.keys(large).map((name) => `${name}: is above 8388608, the most that subgraphs take`),
  );
  t.deepEqual(problemsOf(t, { GATEWAY_MAX_LONG_BODY_BYTES: '1000' }), [
    'GATEWAY_MAX_BODY_BYTES: is above GATEWAY_MAX_LONG_BODY_BYTES',
  ]);
});
