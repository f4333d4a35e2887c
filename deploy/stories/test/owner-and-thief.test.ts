import test from 'ava';
import type { Answer, Client } from '../src/client.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

const changePassword = 'mutation ($newPassword: String!) { changePassword(input: { newPassword: $newPassword }) }';
const login = 'mutation ($input: SignInInput!) { login(input: $input) { expiresIn } }';
const unauthenticated = { extensions: { code: 'UNAUTHENTICATED', statusCode: 401 } };

/** Mutations with an effect that outlasts the sign-in. */
const others = [
  'mutation { generateApiKey { key } }',
  'mutation { createTenant(input: { name: "Of a thief" }) { id } }',
  'mutation { updateTenant(input: { name: "Of a thief" }) { id } }',
];

const succeeded = ({ errors }: Answer<unknown>) => errors === undefined;

story(
  'when an owner and a thief change the password concurrently, one succeeds and the other is signed out',
  async (t, mesh) => {
    const race = async () => {
      const owner = await mesh.person();
      const { email = '' } = owner.account ?? {};
      // The thief uses another sign-in of the same account, at another gateway if there is one.
      const thief = (await owner.elsewhere()).at(mesh.gateways.at(-1) ?? mesh.url);
      const sides = [
        { client: owner, newPassword: 'what the owner has chosen' },
        { client: thief, newPassword: 'what the thief has chosen' },
      ];
      const answers = await Promise.all(
        sides.map(({ client, newPassword }) => client.send(changePassword, { newPassword })),
      );
      t.is(answers.filter(succeeded).length, 1, JSON.stringify(answers.map(({ text }) => text)));
      for (const [n, { client, newPassword }] of sides.entries()) {
        const input = { email, password: newPassword };
        if (answers[n] && succeeded(answers[n])) {
          await mesh.visitor().login(input);
          continue;
        }
        t.like(answers[n]?.errors?.[0], unauthenticated);
        t.like(await mesh.visitor().refusal(login, { input }), unauthenticated, 'the password that was refused');
        for (const mutation of others) t.like(await client.refusal(mutation), unauthenticated, mutation);
      }
    };
    await Promise.all([race(), race(), race()]);
  },
);

story(
  "a thief's concurrent requests take effect before the owner's change of the password or not at all",
  async (t, mesh) => {
    const owner = await mesh.person();
    const thief = await owner.elsewhere();
    const underWay = (client: Client) => Promise.all(others.map((mutation) => client.send(mutation)));
    const [changed, stolen] = await Promise.all([
      owner.send(changePassword, { newPassword: 'what the owner has chosen' }),
      underWay(thief),
    ]);

    t.true(succeeded(changed), changed.text);
    // CONFLICT: another of these mutations has already switched the sign-in to its new tenant.
    for (const { errors = [] } of stolen)
      for (const { extensions } of errors) t.regex(extensions.code, /^(UNAUTHENTICATED|CONFLICT)$/u);
    for (const { errors } of await underWay(thief)) t.like(errors, [unauthenticated]);
  },
);
