import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@parley/testing/eventually';
import { startService } from '@parley/testing/service-harness';
import { startSilentServer } from '@parley/testing/silent-server';
import test, { type ExecutionContext } from 'ava';
import PostalMime from 'postal-mime';
import type { Message } from '../src/messages/message.ts';
import { type QueueOptions, queueMessage } from '../src/messages/send-message.ts';
import { identity } from '../src/service.ts';
import { identityApp, signUp } from './support/identity-app.ts';
import { startMailServer } from './support/mail-server.ts';

const canary = 'canary-4711';
const mail: Message = {
  to: { email: 'ada@example.test' },
  subject: 'Parley: hello',
  text: canary,
  html: `<p>${canary}`,
};
const sms: Message = { ...mail, to: { phone: '+447911123456' } };

/** Starts the unit with its own data folder. */
async function unitWith(t: ExecutionContext, env: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-messages-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const SECRETS_KEYS = randomBytes(32).toString('base64');
  const { unit, database } = await startService(t, identity, {
    env: { SECRETS_KEYS, PARLEY_DATA_DIR: folder, ...env },
    servers: false,
  });
  const queue = (message: Message | null, validForS = 60, queue: QueueOptions['queue'] = 'code-mail') =>
    database.transactShared((db) => queueMessage(unit.deps, db, message, { queue, validForS }));
  const jobs = () => database.transactShared<{ state: string; attempt: number }[]>(({ knex }) => knex('jobs'));
  return {
    ports: unit.deps,
    folder,
    queue,
    jobs,
    done: () => eventually('no message waits', async () => (await jobs()).length === 0),
  };
}

test('mail reaches the server as text and HTML, from the configured sender, once', async (t) => {
  const { mailbox, url } = await startMailServer(t);
  const { queue, done } = await unitWith(t, { SMTP_URL: url, MAIL_FROM: 'Acme <hello@acme.test>' });
  await queue(mail);
  await done();
  t.is(mailbox.length, 1);
  t.like(mailbox[0], {
    from: { name: 'Acme', address: 'hello@acme.test' },
    to: [{ address: 'ada@example.test' }],
    subject: 'Parley: hello',
    text: `${canary}\n`,
    html: `<p>${canary}\n`,
  });
  t.regex(mailbox[0]?.messageId ?? '', /^<[0-9a-f-]{36}@acme\.test>$/u);
});

test('a mail server that is away, and then busy, delays mail, which is unreadable in the database and then delivered once', async (t) => {
  const { port } = await freePort(t);
  const { queue, jobs, done } = await unitWith(t, { SMTP_URL: `smtp://127.0.0.1:${port}` });
  await queue(mail);
  await eventually('an attempt has failed', async () => (await jobs())[0]?.state === 'queued');
  t.false(JSON.stringify(await jobs()).includes(canary));
  t.false(JSON.stringify(await jobs()).includes('ada@'));

  const { mailbox } = await startMailServer(t, { port, busy: 1 });
  await done();
  t.is(mailbox.length, 1);
});

test('a permanently refused recipient gets no further attempts, and delays no other message', async (t) => {
  const { mailbox, url } = await startMailServer(t, { unknown: ['ada@example.test'] });
  const { ports, queue, done } = await unitWith(t, { SMTP_URL: url });
  const logged: unknown[] = [];
  ports.log = Object.assign(Object.create(ports.log), { error: (...line: unknown[]) => logged.push(line) });
  await queue(mail);
  await queue({ ...mail, to: { email: 'grace@example.test' } });
  await done();
  t.deepEqual(
    mailbox.map(({ to }) => to?.[0]?.address),
    ['grace@example.test'],
  );
  t.is(logged.length, 1);
  t.false(JSON.stringify(logged, (_, value) => (value instanceof Error ? value.stack : value)).includes('ada@'));
});

test('a message to nobody, and one that has expired, are dropped', async (t) => {
  const { mailbox, url } = await startMailServer(t);
  const { queue, done } = await unitWith(t, { SMTP_URL: url });
  await queue(null);
  await queue(mail, -1);
  await done();
  t.deepEqual(mailbox, []);
});

test('without servers, messages are written to files that only the owner can read', async (t) => {
  const { folder, queue, done } = await unitWith(t);
  await queue(mail);
  await queue(sms);
  await done();
  const files = readdirSync(join(folder, 'outbox')).toSorted((a, b) => a.localeCompare(b));
  const [eml = '', txt = ''] = [
    ...files.filter((name) => name.endsWith('.eml')),
    ...files.filter((name) => name.endsWith('.txt')),
  ];
  t.is(files.length, 2);
  t.like(await PostalMime.parse(readFileSync(join(folder, 'outbox', eml))), {
    text: `${canary}\n`,
    subject: mail.subject,
  });
  t.is(readFileSync(join(folder, 'outbox', txt), 'utf8'), `To: +447911123456\n\n${canary}`);
});

test('the SMS gateway gets number and text with its token; 503 is tried again, 400 is not', async (t) => {
  const requests: { headers: IncomingMessage['headers']; body: unknown }[] = [];
  const statuses = [503, 200, 400];
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    requests.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) });
    response.writeHead(statuses.shift() ?? 500).end('{}');
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await eventually('it listens', () => server.listening);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/sms`;
  const { queue, done } = await unitWith(t, { SMS_URL: url, SMS_TOKEN: 'token-1' });

  await queue(sms);
  await done();
  await queue(sms);
  await done();
  t.is(requests.length, 3);
  t.like(requests[1], { body: { to: '+447911123456', text: canary }, headers: { authorization: 'Bearer token-1' } });
  t.is(requests[0]?.headers['idempotency-key'], requests[1]?.headers['idempotency-key']);
});

test('while the mail server takes connections and says nothing, text messages are sent', async (t) => {
  const silent = await startSilentServer();
  t.teardown(() => silent.stop());
  const { folder, queue } = await unitWith(t, { SMTP_URL: silent.url.replace('https', 'smtp') });
  for (let n = 0; n < 20; n += 1) await queue(mail, 60, n % 2 ? 'notice' : 'code-mail');
  await queue(sms, 60, 'code-sms');
  t.true(await eventually('the text message is sent', () => existsSync(join(folder, 'outbox'))));
});

test('notices name nothing that a user has chosen, and an email that nobody proved gets 20 of them a day', async (t) => {
  const { app, messages, advance, database } = await identityApp(t);
  const fullname = 'Customer, open https://evil.test now';
  const { caller } = await signUp(app, { fullname });
  for (let n = 0; n < 25; n += 1) await app.generateApiKey(caller);
  const sent = await messages();
  t.is(sent.length, 20);
  t.false(JSON.stringify(sent).includes('evil.test'));
  advance(24 * 60 * 60_000);
  await app.generateApiKey(caller);
  t.is((await messages()).length, 21);
  await database.transactShared(({ knex }) =>
    knex('users').where({ id: caller.userId }).update({ emailProvedAt: new Date() }),
  );
  for (let n = 0; n < 25; n += 1) await app.generateApiKey(caller);
  t.is((await messages()).length, 46);
});

test('repeatable notices never use up the limit of notices about a changed password', async (t) => {
  const { app, messages } = await identityApp(t);
  const { caller } = await signUp(app);
  for (let n = 0; n < 25; n += 1) await app.generateApiKey(caller);
  await app.changePassword(caller, { newPassword: 'another long password' });
  t.is((await messages()).length, 21);
  t.is((await messages()).at(-1)?.subject, 'Parley: your password was changed');
});

test('a changed password, a new API key and a deleted tenant send the owner exactly one mail each', async (t) => {
  const { app, messages } = await identityApp(t);
  const { caller, input } = await signUp(app);
  const subjects = async () => (await messages()).map(({ to, subject }) => ('email' in to ? [to.email, subject] : to));

  await app.changePassword(caller, { newPassword: 'another long password' });
  await app.generateApiKey(caller);
  await app.deleteTenant(caller);
  t.deepEqual(await subjects(), [
    [input.email, 'Parley: your password was changed'],
    [input.email, 'Parley: a new API key was made'],
    [input.email, 'Parley: a tenant was deleted'],
  ]);
});

async function freePort(t: ExecutionContext) {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await eventually('it listens', () => server.listening);
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  t.log(`port ${port}`);
  return { port };
}
