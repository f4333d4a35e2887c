import test from 'ava';
import { messagesTo, refusedToken, tokenSentTo } from './support/codes.ts';
import { anonymous, newRegistration } from './support/identity-app.ts';
import { operator, operatorsApp } from './support/operators.ts';

const ada = operator('ada');

test('whom an operator invites registers under invite, by email or phone, and the audit has the contact', async (t) => {
  const given = await operatorsApp(t, { registration: 'invite' });
  const { app, admin, audit } = given;
  const [first, second] = [newRegistration(), newRegistration()];
  const phone = `+44${second.phoneNumber}`;
  t.like(await t.throwsAsync(app.register(anonymous, { input: first })), refusedToken);

  t.is(await admin.invite(ada, { contact: ` ${first.email.toUpperCase()} ` }), first.email);
  const replaced = { token: await tokenSentTo(given, { email: first.email }) };
  await admin.invite(ada, { contact: first.email });
  t.is(await admin.invite(ada, { contact: `+44 ${second.phoneNumber}` }), phone);
  t.like(await t.throwsAsync(app.register(anonymous, { input: first, token: replaced })), refusedToken);
  await app.register(anonymous, { input: first, token: { token: await tokenSentTo(given, { email: first.email }) } });
  await app.register(anonymous, { input: second, token: { token: await tokenSentTo(given, { phone }) } });

  const entries = await audit();
  t.deepEqual(
    entries.map(({ operator, action, facts }) => [operator, action, facts]),
    [
      ['ada', 'invite', { phone }],
      ['ada', 'invite', { email: first.email }],
      ['ada', 'invite', { email: first.email }],
    ],
  );
  t.false(JSON.stringify(entries).includes('pst_'));
});

test('an invitation to an existing user or an invalid contact is refused', async (t) => {
  const given = await operatorsApp(t);
  const { app, admin, audit } = given;
  const input = newRegistration();
  await app.register(anonymous, { input });
  for (const contact of [input.email, `+44${input.phoneNumber}`]) {
    t.like(await t.throwsAsync(admin.invite(ada, { contact })), { kind: 'conflict' }, contact);
  }
  for (const contact of ['', 'x', 'a@b', '07911123456', '+999999999999', 'a@b.test\0', 'a@b.test\nBcc: c@d.test']) {
    t.like(await t.throwsAsync(admin.invite(ada, { contact })), { kind: 'invalid' }, contact);
  }
  t.deepEqual(await audit(), []);
  t.deepEqual(await messagesTo(given, { email: input.email }), []);
});
