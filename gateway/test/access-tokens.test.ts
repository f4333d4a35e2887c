import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import test from 'ava';
import { accessTokens } from '../src/credentials/access-tokens.ts';
import { publicUrl, signingKey } from './support/identity-script.ts';

test('verified tokens are cached, in a bounded number', async (t) => {
  const key = await signingKey('key-1');
  const identity: Partial<RpcClient<typeof IdentityServiceDefinition>> = {
    getJwks: async () => ({ jwksJson: JSON.stringify({ keys: [key.publicJwk] }) }),
  };
  const tokens = accessTokens(() => identity as RpcClient<typeof IdentityServiceDefinition>, publicUrl, 2);
  const [first, second, third] = await Promise.all(['s-1', 's-2', 's-3'].map((signInId) => key.token(signInId)));
  if (!first || !second || !third) return t.fail();

  const verified = await tokens.verify(first);
  await tokens.verify(second);
  t.is(await tokens.verify(first), verified);
  await tokens.verify(second);
  await tokens.verify(third);
  const again = await tokens.verify(first);
  t.deepEqual(again, verified);
  t.not(again, verified, 'it was verified anew');
});
