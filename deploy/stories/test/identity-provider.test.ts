import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { idsOf } from '../src/credentials.ts';
import { enter, hangingExchanges, loginWithTicket, newProviderAccount, ticketFor } from '../src/identity-provider.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const profile = '{ getAuthProfile { email fullname } }';

story('colleagues who sign in with the identity provider share a tenant, which the first one owns', async (t, mesh) => {
  const company = { id: newProviderAccount().subject, name: 'Acme Ltd' };
  const [first, second] = [newProviderAccount({ company }), newProviderAccount({ company })];
  const grace = await enter(mesh, first);
  const ada = await enter(mesh, second);
  t.like(await ada.query('{ myTenant { name plan primaryBillingAccount } }'), {
    myTenant: { name: 'Acme Ltd', plan: 'DEV', primaryBillingAccount: 'PLATFORM' },
  });
  t.is((await idsOf(ada)).tenantId, (await idsOf(grace)).tenantId);
  await t.notThrowsAsync(grace.withApiKey());
  t.like(await ada.refusal('mutation { generateApiKey { key } }'), {
    extensions: { code: 'FORBIDDEN', reason: 'OWNER_ONLY' },
  });
  t.is((await idsOf(await enter(mesh, second))).userId, (await idsOf(ada)).userId);
});

story(
  'a sign-in with the provider gets the account of the verified email, and revokes all earlier credentials of it',
  async (t, mesh) => {
    const squatter = await mesh.person();
    const other = (await squatter.elsewhere()).at(mesh.gateways.at(-1) ?? mesh.url);
    const keyed = await squatter.withApiKey();
    const ids = await idsOf(squatter);
    const { email = '' } = squatter.account ?? {};

    const owner = await enter(mesh, newProviderAccount({ email }));
    t.deepEqual(await idsOf(owner), ids);
    for (const client of [squatter, other])
      t.like(await client.refusal(profile), { extensions: { code: 'UNAUTHENTICATED' } });
    t.like(await keyed.refusal('{ generateText(input: { prompt: "x" }) { text } }'), {
      extensions: { code: 'UNAUTHENTICATED' },
    });
    const linked = async () =>
      (await mesh.mailTo(email)).filter(({ subject }) => /way to sign in/u.test(subject ?? ''));
    const [mail, ...more] = await eventually('the owner is told', async () => {
      const mails = await linked();
      return mails.length > 0 && mails;
    });
    t.is(mail?.subject, 'Parley: a way to sign in was added');
    t.deepEqual(more, []);
  },
);

story('an identity can be linked and unlinked, but not the last way to sign in', async (t, mesh) => {
  const ada = await mesh.person();
  const person = newProviderAccount();
  const link = async () =>
    ada.query('mutation ($ticket: String!) { linkIdentity(provider: IDP_ONE, providerToken: $ticket) }', {
      ticket: await ticketFor(mesh, person),
    });
  const unlink = 'mutation ($provider: AuthProvider!) { unlinkIdentity(provider: $provider) }';
  t.deepEqual(await link(), { linkIdentity: true });
  t.deepEqual(await link(), { linkIdentity: true });
  t.deepEqual(await idsOf(await enter(mesh, person)), await idsOf(ada));
  t.deepEqual(await ada.query(unlink, { provider: 'PASSWORD' }), { unlinkIdentity: true });
  t.like(await ada.refusal(unlink, { provider: 'IDP_ONE' }), {
    extensions: { code: 'BAD_REQUEST', reason: 'LAST_LOGIN_METHOD' },
  });
  t.like(await ada.refusal(unlink, { provider: 'RESERVED_PROVIDER_1' }), {
    extensions: { code: 'NOT_IMPLEMENTED', statusCode: 501 },
  });
});

story('of 20 concurrent uses of one ticket at both gateways, one succeeds', async (t, mesh) => {
  const ticket = await ticketFor(mesh, newProviderAccount());
  const answers = await Promise.all(Array.from({ length: 20 }, () => mesh.visitor().send(loginWithTicket, { ticket })));
  const refusals = answers.flatMap(({ errors }) => errors ?? []);
  t.is(refusals.length, 19);
  for (const error of refusals)
    t.like(error, { message: 'Invalid or expired ticket', extensions: { code: 'UNAUTHENTICATED' } });
});

story(
  'while the identity provider hangs, sign-ins with passwords and all other operations still work',
  async (t, mesh) => {
    const ada = await mesh.person();
    const { email = '', password = '' } = ada.account ?? {};
    const leaving = new AbortController();
    const group = newProviderAccount().subject;
    let answered = 0;
    const hanging = Array.from({ length: 40 }, async () => {
      const ticket = await ticketFor(mesh, newProviderAccount(), group);
      await mesh.visitor().send(loginWithTicket, { ticket }, {}, leaving.signal);
      answered += 1;
    });
    const over = Promise.allSettled(hanging);
    await eventually('all wait for the provider', async () => (await hangingExchanges(mesh, group)) === hanging.length);
    const visitors = mesh.gateways.map((url) => mesh.visitor().at(url));
    await Promise.all(visitors.map((visitor) => visitor.login({ email, password })));
    await ada.query(profile);
    t.is(answered, 0);
    leaving.abort();
    await over;
  },
);
