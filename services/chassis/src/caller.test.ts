import { randomBytes } from 'node:crypto';
import test from 'ava';
import { SignJWT } from 'jose';
import { type Caller, createCallers, inTenant } from './caller.ts';

const key = randomBytes(32);
const caller: Caller = {
  kind: 'user',
  tenantId: 7,
  userId: 3,
  displayName: 'Ada',
  signInId: 's',
  ip: '::1',
  requestId: 'r',
};

test('a caller arrives as it was minted, at the audience it was minted for', async (t) => {
  const callers = createCallers(key);
  const token = await callers.mint(caller, 'agent');
  t.deepEqual(await callers.verify(token, 'agent'), caller);
  await t.throwsAsync(callers.verify(token, 'session'), { message: /mesh only/ });
});

test('what was not minted with the key of this mesh is refused alike', async (t) => {
  const callers = createCallers(key);
  const foreign = await createCallers(randomBytes(32)).mint(caller, 'agent');
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${foreign.split('.')[1]}.`;
  for (const token of [undefined, '', 'x', foreign, unsigned]) {
    await t.throwsAsync(callers.verify(token, 'agent'), { message: 'This port takes calls from the mesh only' });
  }
});

test('a caller is good for 60 s and 5 s of leeway, whatever its own expiry says', async (t) => {
  const minted = (secondsAgo: number) =>
    new SignJWT({ caller })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuedAt(Math.floor(Date.now() / 1000) - secondsAgo)
      .setExpirationTime('1h')
      .setAudience('agent')
      .sign(key);
  const callers = createCallers(key);
  await t.notThrowsAsync(callers.verify(await minted(60), 'agent'));
  await t.throwsAsync(callers.verify(await minted(70), 'agent'), { message: /mesh only/ });
});

test('a caller without a tenant is told so where one is needed', (t) => {
  t.is(inTenant(caller).tenantId, 7);
  const error = t.throws(() => inTenant({ ...caller, tenantId: null }));
  t.like(error, { kind: 'forbidden', reason: 'NO_TENANT' });
});
