import test from 'ava';
import { stories } from '../src/stories.ts';

const story = stories(test);
const key = 'generateApiKey { key }';
const tenant = '{ myTenant { id name isSuspended } }';

interface MyTenant {
  myTenant: { id: number; name: string; isSuspended: boolean } | null;
}

story('after deleteTenant, later mutations of the same document change nothing in the tenant', async (t, mesh) => {
  const after = [
    key,
    'updateTenant(input: { name: "back" }) { id }',
    'upsertAvatarConfig(input: { speakingRate: 2 }) { id }',
    'again: deleteTenant',
    'createAgent(input: { name: "a", personaPrompt: "p", position: "x" }) { id }',
  ];
  for (const next of after) {
    const ada = await mesh.person();
    const { data, errors } = await ada.send(`mutation { deleteTenant ${next} }`);
    t.falsy(data, next);
    t.like(errors, [{ extensions: { code: 'FORBIDDEN', statusCode: 403, reason: 'NO_TENANT' } }], next);
    t.is(errors?.length, 1, next);
    t.deepEqual(await ada.query(tenant), { myTenant: null });
  }
});

story('after createTenant, later mutations of the same document apply to the new tenant', async (t, mesh) => {
  const ada = await mesh.person();
  const { myTenant: before } = await ada.query<MyTenant>(tenant);
  const made = await ada.query<{ createTenant: { id: number }; updateTenant: { id: number } }>(
    'mutation { createTenant(input: { name: "second" }) { id } updateTenant(input: { name: "renamed" }) { id name } }',
  );
  t.not(made.createTenant.id, before?.id);
  t.like(made.updateTenant, { id: made.createTenant.id, name: 'renamed' });
  await ada.query('mutation { deleteTenant createTenant(input: { name: "third" }) { id } }');
  t.like((await ada.query<MyTenant>(tenant)).myTenant, { name: 'third' });
});

story(
  'after a tenant was suspended, later mutations of the same document do only what a suspended tenant may do',
  async (t, mesh) => {
    const ada = await mesh.person();
    const suspend = 'updateTenant(input: { isSuspended: true }) { id }';
    for (const next of [key, 'upsertAvatarConfig(input: { speakingRate: 2 }) { id }']) {
      t.like(await ada.refusal(`mutation { ${suspend} ${next} }`), {
        extensions: { code: 'FORBIDDEN', reason: 'TENANT_SUSPENDED' },
      });
    }
    t.like(await ada.query('{ avatarConfig { speakingRate } }'), { avatarConfig: { speakingRate: 1 } });
    const lift = 'lift: updateTenant(input: { isSuspended: false }) { id }';
    t.like(await ada.refusal(`mutation { ${lift} ${key} }`), { extensions: { reason: 'TENANT_SUSPENDED' } });
    t.like((await ada.query<MyTenant>(tenant)).myTenant, { isSuspended: true });
    await ada.query(`mutation { ${lift} }`);
    await ada.query(`mutation { ${key} ${suspend} ${lift} }`);
    t.like((await ada.query<MyTenant>(tenant)).myTenant, { isSuspended: false });
  },
);

story('after a mutation has revoked its sign-in, later mutations of the same document do not run', async (t, mesh) => {
  const ada = await mesh.person();
  const spent = ada.tokens?.refreshToken;
  const refresh = 'mutation ($t: String!) { refreshToken(input: { refreshToken: $t }) { accessToken refreshToken } }';
  type Refreshed = { refreshToken: { refreshToken: string } };
  const { refreshToken: next } = await ada.query<Refreshed>(refresh, { t: spent });
  await ada.query(refresh, { t: next.refreshToken }); // using the new refresh token ends the grace period of the old one
  const password = 'a passphrase of the thief';
  const { errors } = await ada.send(
    `mutation ($t: String!) { refreshToken(input: { refreshToken: $t }) { accessToken } changePassword(input: { newPassword: "${password}" }) }`,
    { t: spent },
  );
  t.deepEqual(
    errors?.map(({ extensions }) => extensions.code),
    ['UNAUTHENTICATED'],
  );
  const elsewhere = mesh.visitor();
  const email = ada.account?.email ?? '';
  await t.throwsAsync(elsewhere.login({ email, password }));
  await elsewhere.login({ email, password: ada.account?.password ?? '' });
});

story(
  'aliases of changePassword run one after another: the last password is valid, and this sign-in stays valid',
  async (t, mesh) => {
    const ada = await mesh.person();
    const other = await ada.elsewhere();
    const aliases = Array.from(
      { length: 20 },
      (_, n) => `p${n}: changePassword(input: { newPassword: "passphrase ${n}" })`,
    );
    const done = await ada.query(`mutation { ${aliases.join(' ')} }`);
    t.is(Object.values(done).filter(Boolean).length, 20);
    t.like(await other.refusal(tenant), { extensions: { code: 'UNAUTHENTICATED' } });
    t.truthy((await ada.query<MyTenant>(tenant)).myTenant);
    const elsewhere = mesh.visitor();
    const email = ada.account?.email ?? '';
    await t.throwsAsync(elsewhere.login({ email, password: 'passphrase 18' }));
    await elsewhere.login({ email, password: 'passphrase 19' });
  },
);
