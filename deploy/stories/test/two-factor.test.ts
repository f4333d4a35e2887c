import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { generateSync } from 'otplib';
import { type Client, type Tokens, tokenFields } from '../src/client.ts';
import { closedByServer, createAgent, follow, startSession } from '../src/conversation.ts';
import { type CredentialMesh, idsOf, outcome, profile, withCredentials } from '../src/credentials.ts';
import { stories } from '../src/stories.ts';
import { withinASecond } from '../src/within-a-second.ts';

const story = stories(test, { on: 'processes' });

const generate = 'mutation { generateTwoFactor { secret output } }';
const bind = 'mutation ($secret: String!, $code: String!) { bindTwoFactor(input: { secret: $secret, code: $code }) }';
const verify = 'mutation ($code: String!) { verifyTwoFactor(code: $code) }';
const unbind = 'mutation ($code: String!) { unbindTwoFactor(input: { code: $code }) }';
const limited = 'FORBIDDEN TWO_FACTOR_REQUIRED';

/** Returns the code of an authenticator app, now or `steps` time steps later. */
const codeOf = (secret: string, steps = 0) =>
  generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + 30 * steps });

async function withSecondFactor(client: Client): Promise<string> {
  const { secret } = await client.value<{ secret: string; output: string }>(generate);
  await client.query(bind, { secret, code: codeOf(secret) });
  return secret;
}

/** Deletes the record of a user's used codes, as if enough time had passed for new codes. */
async function laterCodes({ people }: CredentialMesh, client: Client): Promise<void> {
  const { userId } = await idsOf(client);
  await people(({ knex }) => knex('users').where({ id: userId }).update({ two_factor_last_step: 0 }));
}

story(
  'binding a second factor limits every other sign-in on each gateway and socket within a second, until it is verified there',
  async (t, mesh) => {
    const all = withCredentials(mesh);
    const { person, atSecond } = all;
    const ada = await person();
    const { email = '' } = ada.account ?? {};
    const { id } = await startSession(ada, await createAgent(ada));
    const phone = await ada.elsewhere();
    const sockets = [follow(t, phone, id), follow(t, atSecond(phone), id)];
    const own = [follow(t, ada, id), follow(t, atSecond(ada), id)];
    await Promise.all([...sockets, ...own].map((events) => events.opened()));
    for (const client of [phone, atSecond(phone)]) t.is(await outcome(client, '{ agentCount }'), 'ok');

    const { secret, output } = await ada.value<{ secret: string; output: string }>(generate);
    const { protocol, searchParams, pathname } = new URL(output);
    t.is(protocol, 'otpauth:');
    t.is(searchParams.get('secret'), secret);
    t.is(decodeURIComponent(pathname), `/Parley:${email}`);
    t.is(await outcome(atSecond(ada), bind, { secret, code: '12345' }), 'BAD_REQUEST');
    const code = codeOf(secret);
    t.deepEqual(await ada.query(bind, { secret, code }), { bindTwoFactor: true });

    await closedByServer(t, sockets);
    for (const client of [phone, atSecond(phone)]) {
      await withinASecond(mesh.url, 'limited', async () => (await outcome(client, '{ agentCount }')) === limited);
      t.is(await outcome(client, profile), 'ok');
      t.is(await outcome(client, 'mutation { createTenant(input: { name: "B" }) { id } }'), limited);
      t.is((await follow(t, client, id).until('the refusal', ({ closed }) => closed)).code, 4403);
    }
    t.true(
      own.every(({ closed }) => closed === undefined),
      'the sign-in that bound it has proved a code',
    );
    t.like(await ada.query('{ getAuthProfile { twoFactorEnabled } agentCount }'), {
      getAuthProfile: { twoFactorEnabled: true },
      agentCount: 1,
    });

    // Until the sign-in is verified, refreshed tokens have only limited access, too. Each new sign-in needs its own verification.
    const refresh = `mutation ($refreshToken: String!) { refreshToken(input: { refreshToken: $refreshToken }) { ${tokenFields} } }`;
    phone.tokens = await phone.value<Tokens>(refresh, { refreshToken: phone.tokens?.refreshToken });
    const laptop = await ada.elsewhere();
    for (const client of [phone, laptop]) t.is(await outcome(client, '{ agentCount }'), limited);
    t.is(await outcome(phone, verify, { code }), 'BAD_REQUEST', 'it was used to bind');
    t.deepEqual(await phone.query(verify, { code: codeOf(secret, 1) }), { verifyTwoFactor: true });
    t.is(await outcome(phone, '{ agentCount }'), 'ok', 'with the next request');
    await withinASecond(mesh.url, 'complete', async () => (await outcome(atSecond(phone), '{ agentCount }')) === 'ok');
    const again = follow(t, phone, id);
    await again.opened();
    t.is(await outcome(laptop, '{ agentCount }'), limited);

    await laterCodes(all, ada);
    t.deepEqual(await phone.query(unbind, { code: codeOf(secret) }), { unbindTwoFactor: true });
    for (const client of [laptop, atSecond(laptop), await ada.elsewhere()]) {
      await withinASecond(mesh.url, 'complete', async () => (await outcome(client, '{ agentCount }')) === 'ok');
    }
    const subjects = await eventually('both mails have come', async () => {
      const mails = (await mesh.mailTo(email)).map(({ subject }) => subject ?? '');
      return mails.length >= 2 && mails;
    });
    t.deepEqual(subjects.toSorted(), ['Parley: two-factor sign-in is off', 'Parley: two-factor sign-in is on']);
  },
);

story('of twenty parallel uses of a code over two gateways, to verify or unbind, one succeeds', async (t, mesh) => {
  const { person, atSecond } = withCredentials(mesh);
  const ada = await person();
  const secret = await withSecondFactor(ada);
  const phone = await ada.elsewhere();
  const code = codeOf(secret, 1);
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      n % 3 === 0
        ? outcome(atSecond(ada), unbind, { code })
        : outcome(n % 2 ? phone : atSecond(phone), verify, { code }),
    ),
  );
  t.deepEqual(
    [outcomes.filter((each) => each === 'ok').length, outcomes.filter((each) => each.startsWith('BAD_REQUEST')).length],
    [1, 19],
    outcomes.join(),
  );
});

story(
  'a locked second factor returns identical bytes for a right and a wrong code, on both gateways',
  async (t, mesh) => {
    const { person, atSecond } = withCredentials(mesh);
    const ada = await person();
    const secret = await withSecondFactor(ada);
    const phone = await ada.elsewhere();
    const answer = async (client: Client, code: string) => {
      const { status, text, headers } = await client.send(verify, { code });
      return JSON.stringify([status, text, [...headers.keys()], headers.get('content-length')]);
    };
    const answers = new Set<string>();
    for (let n = 0; n < 5; n += 1) answers.add(await answer(n % 2 ? phone : atSecond(ada), `wrong ${n}`));
    for (const client of [phone, atSecond(phone), ada]) answers.add(await answer(client, codeOf(secret, 1)));
    t.is(answers.size, 1, [...answers].join('\n'));
    t.is(await outcome(phone, '{ agentCount }'), limited);
  },
);
