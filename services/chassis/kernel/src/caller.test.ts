import { randomBytes } from 'node:crypto';
import test from 'ava';
import { jwtVerify, SignJWT } from 'jose';
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

test('a caller is verified by its audience and arrives unchanged', async (t) => {
  const callers = createCallers(key);
  const token = await callers.mint(caller, 'agent');
  t.deepEqual(await callers.verify(token, 'agent'), caller);
  await t.throwsAsync(callers.verify(token, 'session'), { message: /mesh only/ });
});

test('replacing a key in three steps refuses no call between processes', async (t) => {
  const [before, after] = [randomBytes(32), randomBytes(32)];
  const steps = [[before], [before, after], [after, before], [after]].map((keys) => createCallers(keys));
  for (const [index, callers] of steps.entries()) {
    const next = steps[index + 1] ?? callers;
    t.deepEqual(await next.verify(await callers.mint(caller, 'agent'), 'agent'), caller);
    t.deepEqual(await callers.verify(await next.mint(caller, 'agent'), 'agent'), caller);
  }
  const [first, , , last] = steps;
  await t.throwsAsync(async () => last?.verify(await first?.mint(caller, 'agent'), 'agent'), { message: /mesh only/ });
});

test('a token that was not signed with the key of this mesh is refused', async (t) => {
  const callers = createCallers(key);
  const foreign = await createCallers(randomBytes(32)).mint(caller, 'agent');
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${foreign.split('.')[1]}.`;
  const [header = '', payload = '', mac = ''] = (await callers.mint(caller, 'agent')).split('.');
  const other = Buffer.from(JSON.stringify({ caller: { ...caller, tenantId: 8 }, aud: 'agent' })).toString('base64url');
  const altered = [
    `${header}.${other}.${mac}`,
    `${header}.${payload}.`,
    `${header}.${payload}.${mac}.x`,
    `${header}.${payload}`,
  ];
  for (const token of [undefined, '', 'x', '..', foreign, unsigned, ...altered]) {
    await t.throwsAsync(callers.verify(token, 'agent'), { message: 'This port takes calls from the mesh only' });
  }
});

test('a caller is valid for 60 s and 5 s of leeway, even with a later expiry', async (t) => {
  const now = 1_800_000_000;
  const minted = (secondsAgo: number) =>
    new SignJWT({ caller })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuedAt(now - secondsAgo)
      .setExpirationTime(now + 3_600)
      .setAudience('agent')
      .sign(key);
  const callers = createCallers(key, () => 1000 * now);
  await t.notThrowsAsync(callers.verify(await minted(65), 'agent'));
  await t.throwsAsync(callers.verify(await minted(66), 'agent'), { message: /mesh only/ });
});

test('a token of another algorithm, without its times, or from the future is refused', async (t) => {
  const now = 1_800_000_000;
  const callers = createCallers(key, () => 1000 * now);
  const refused = { message: /mesh only/ };
  const claims = { caller, aud: 'agent' };
  const signed = (payload: object, alg = 'HS256') =>
    new SignJWT({ ...claims, ...payload }).setProtectedHeader({ alg }).sign(alg === 'HS256' ? key : randomBytes(64));

  await t.notThrowsAsync(callers.verify(await signed({ iat: now, exp: now + 60 }), 'agent'));
  await t.throwsAsync(callers.verify(await signed({ iat: now, exp: now + 60 }, 'HS512'), 'agent'), refused);
  await t.throwsAsync(callers.verify(await signed({ exp: now + 60 }), 'agent'), refused);
  await t.throwsAsync(callers.verify(await signed({ iat: now }), 'agent'), refused);
  await t.throwsAsync(callers.verify(await signed({ iat: now + 30, exp: now + 90 }), 'agent'), refused);
  await t.throwsAsync(callers.verify(await signed({ iat: now - 30, exp: now - 10 }), 'agent'), refused);
});

test('a minted token is a JWS that a library verifies', async (t) => {
  const token = await createCallers(key).mint(caller, 'agent');
  const { payload } = await jwtVerify(token, key, { algorithms: ['HS256'], audience: 'agent', maxTokenAge: 60 });
  t.deepEqual(payload['caller'], caller);
});

test('a caller without a tenant is refused where one is needed', (t) => {
  t.is(inTenant(caller).tenantId, 7);
  const error = t.throws(() => inTenant({ ...caller, tenantId: null }));
  t.like(error, { kind: 'forbidden', reason: 'NO_TENANT' });
});
