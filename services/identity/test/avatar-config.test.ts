import test from 'ava';
import { identityApp, signUp } from './support/identity-app.ts';

test('upsertAvatarConfig: given fields are updated, omitted ones left; null clears liveTalkingUrl and is refused elsewhere', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  const before = await app.getAvatarConfig(caller);
  const given = {
    gender: 'MALE',
    voiceTier: 'NEURAL2',
    languageCode: 'de-DE',
    speakingRate: 4,
    liveTalkingUrl: 'wss://talk.test/x',
  } as const;

  t.like(await app.upsertAvatarConfig(caller, given), { id: before.id, glbModel: 'aria.glb', ...given });
  t.like(await app.upsertAvatarConfig(caller, { speakingRate: 0.25 }), { ...given, speakingRate: 0.25 });
  t.like(await app.upsertAvatarConfig(caller, { liveTalkingUrl: null }), {
    ...given,
    speakingRate: 0.25,
    liveTalkingUrl: null,
  });
  for (const name of ['gender', 'glbModel', 'voiceTier', 'languageCode', 'speakingRate'] as const) {
    const error = await t.throwsAsync(app.upsertAvatarConfig(caller, { [name]: null }));
    t.like(error, { kind: 'invalid', fields: [{ path: `input.${name}`, message: 'must not be null' }] });
  }
});

test('invalid values are refused and change nothing', async (t) => {
  const { app } = await identityApp(t);
  const { caller } = await signUp(app);
  const before = await app.getAvatarConfig(caller);
  for (const input of [
    { speakingRate: 0.2 },
    { speakingRate: 4.1 },
    { speakingRate: Number.NaN },
    { glbModel: '' },
    { glbModel: '../secret.glb' },
    { glbModel: 'a\0.glb' },
    { languageCode: 'english please' },
    { languageCode: '' },
    { liveTalkingUrl: 'javascript:alert(1)' },
    { liveTalkingUrl: 'https://user:pass@talk.test' },
    { liveTalkingUrl: 'not a url' },
  ]) {
    t.like(await t.throwsAsync(app.upsertAvatarConfig(caller, input)), { kind: 'invalid' }, JSON.stringify(input));
  }
  t.deepEqual(await app.getAvatarConfig(caller), before);
});

test('avatarConfig: each tenant has exactly one row, and a missing one is created again', async (t) => {
  const { app, database } = await identityApp(t);
  const [{ caller: ada }, { caller: eve }] = [await signUp(app), await signUp(app)];
  await app.upsertAvatarConfig(ada, { glbModel: 'ada.glb' });
  t.is((await app.getAvatarConfig(eve)).glbModel, 'aria.glb');

  await database.transact(eve.tenantId ?? 0, ({ knex }) => knex('avatar_configs').delete());
  const made = await Promise.all([
    app.getAvatarConfig(eve),
    app.upsertAvatarConfig(eve, { gender: 'MALE' }),
    app.getAvatarConfig(eve),
  ]);
  t.is(new Set(made.map(({ id }) => id)).size, 1);
  t.is((await app.getAvatarConfig(ada)).glbModel, 'ada.glb');
});
