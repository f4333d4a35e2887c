import { createServer } from 'node:net';
import { listen } from '@parley/kernel/http/listen';
import { outbound } from '@parley/outbound/outbound';
import { dnsResolver } from '@parley/outbound/resolve';
import { startDnsServer } from '@parley/testing/dns-server';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { agentId, externalSyncMesh, hasFailed, isOver, secret } from './external-sync-mesh.ts';
import { inTenant } from './session-mesh.ts';
import { type Received, webhookReceiver } from './webhook-receiver.ts';

const signed = { secretRef: 'HOOK' };
const payloadOf = (received: Received | undefined, key = secret) =>
  new Webhook(key).verify(received?.body ?? '', received?.headers ?? {}) as Record<string, unknown>;

test('an evaluation is posted once as a signed webhook, however often its event comes', async (t) => {
  const mesh = await externalSyncMesh(t);
  const other = await mesh.replica();
  const receiver = await webhookReceiver(t);
  mesh.targets.set(agentId, { url: `${receiver.url}/hook?team=7`, ...signed, ownerId: 12 });
  const { id, startedAt, endedAt } = await mesh.newSession();
  const event = { id: 'e-1' };
  await Promise.all([mesh.completed(id, event), other.completed(id, event), mesh.completed(id), other.completed(id)]);

  const delivery = await mesh.delivery(id, isOver);
  t.like(delivery, { agentId, status: 'DELIVERED', attempts: 1, lastError: null, nextAttemptAt: null });
  t.true(delivery.deliveredAt instanceof Date);
  await mesh.completed(id, event);
  await eventually('no job is left', async () => (await mesh.jobs()) === 0);
  t.is(receiver.received.length, 1);
  const [received] = receiver.received;
  t.is(received?.path, '/hook?team=7');
  t.like(received?.headers, {
    'content-type': 'application/json',
    'user-agent': 'parley',
    'webhook-id': delivery.webhookId,
  });
  t.regex(delivery.webhookId, /^msg_[\da-f-]{36}$/u);
  t.deepEqual(payloadOf(received), {
    type: 'evaluation.completed',
    timestamp: '2026-01-02T03:04:05.678Z',
    sessionId: id,
    agentId,
    ownerId: 12,
    clientExternalId: 'customer 12',
    metadata: { orderId: 'o-7' },
    status: 'ENDED',
    startedAt: startedAt?.toISOString(),
    endedAt: endedAt?.toISOString(),
    evaluationId: 70 + id,
    score: 87,
    recommendation: 'HIRE',
    summary: 'Knew how indexes work.',
    strengths: ['Concrete examples'],
    weaknesses: ['Short on transactions'],
    generatedAt: '2026-01-02T03:04:05.678Z',
  });
  t.throws(() => payloadOf({ ...(received as Received), body: `${received?.body} ` }));
});

test("nothing is posted unsigned: without a secret in the agent's settings, the delivery waits", async (t) => {
  const mesh = await externalSyncMesh(t);
  const receiver = await webhookReceiver(t);
  mesh.targets.set(agentId, { url: receiver.url, secretRef: '' });
  const id = await mesh.evaluated();
  t.like(await mesh.delivery(id, hasFailed), { lastError: 'SECRET_MISSING' });
  t.is(receiver.received.length, 0);
});

test('nothing is posted for an agent without a URL', async (t) => {
  const mesh = await externalSyncMesh(t);
  await mesh.evaluated();
  await eventually('the job is done', async () => (await mesh.jobs()) === 0);
  t.deepEqual(await mesh.deliveries(), []);
});

test('the current secret signs; a secret without a prefix signs by its bytes', async (t) => {
  const mesh = await externalSyncMesh(t);
  const receiver = await webhookReceiver(t);
  mesh.targets.set(agentId, { url: receiver.url, ...signed });
  const next = `whsec_${Buffer.from('another key of 24 bytes').toString('base64')}`;
  const last = async () => {
    const id = await mesh.evaluated();
    await mesh.delivery(id, isOver);
    return receiver.received.at(-1);
  };
  t.like(payloadOf(await last()), { score: 87 });
  mesh.secrets.set('HOOK', next);
  const rotated = await last();
  t.like(payloadOf(rotated, next), { score: 87 });
  t.throws(() => payloadOf(rotated));
  mesh.secrets.set('HOOK', 'plain text');
  const plain = await last();
  t.like(new Webhook('plain text', { format: 'raw' }).verify(plain?.body ?? '', plain?.headers ?? {}), { score: 87 });
});

test('if the secret is missing or unusable, nothing is sent and the delivery waits', async (t) => {
  const mesh = await externalSyncMesh(t);
  const receiver = await webhookReceiver(t);
  mesh.targets.set(agentId, { url: receiver.url, ...signed });
  for (const [value, error] of [
    [undefined, 'SECRET_MISSING'],
    ['whsec_not base64', 'SECRET_UNUSABLE'],
    ['whsec_', 'SECRET_UNUSABLE'],
  ] as const) {
    if (value === undefined) mesh.secrets.delete('HOOK');
    else mesh.secrets.set('HOOK', value);
    const id = await mesh.evaluated();
    t.like(await mesh.delivery(id, hasFailed), { lastError: error });
    t.is(receiver.received.length, 0);
    mesh.secrets.set('HOOK', secret);
    await mesh.delivery(id, isOver);
    t.like(payloadOf(receiver.received.pop()), { sessionId: id });
  }
});

test('a receiver that was down gets the webhook later, and every attempt has the same id', async (t) => {
  const mesh = await externalSyncMesh(t);
  const receiver = await webhookReceiver(t);
  mesh.targets.set(agentId, { url: receiver.url, ...signed });
  receiver.stop();
  const id = await mesh.evaluated();
  const down = await mesh.delivery(id, hasFailed);
  t.like(down, { lastError: 'REMOTE_UNREACHABLE', deliveredAt: null });
  let answers = 0;
  receiver.answer = (_, response) => response.writeHead((answers += 1) < 3 ? 503 : 200).end();
  await receiver.start();
  const delivery = await mesh.delivery(id, isOver);

  t.like(delivery, { status: 'DELIVERED', lastError: null, webhookId: down.webhookId });
  t.is(receiver.received.length, 3);
  t.true(delivery.attempts > 3);
  t.deepEqual([...new Set(receiver.received.map(({ headers }) => headers['webhook-id']))], [down.webhookId]);
  for (const each of receiver.received) t.like(payloadOf(each), { sessionId: id });
});

test("a receiver's failure is stored as its kind, and the response body is neither read nor stored", async (t) => {
  const mesh = await externalSyncMesh(t, { env: { SESSION_SYNC_TIMEOUT_MS: '500' } });
  const target = await webhookReceiver(t);
  const secretText = 'canary of the receiver';
  const receiver = await webhookReceiver(t, ({ path }, response) => {
    if (path === '/redirect') return response.writeHead(307, { location: target.url }).end();
    if (path === '/hidden') return response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    if (path === '/late') return undefined;
    if (path === '/reset') return response.destroy();
    if (path === '/headers') return response.writeHead(200, { 'x-long': 'x'.repeat(40_000) }).end();
    return response.writeHead(Number(path.slice(1)), secretText).end(secretText);
  });
  const broken = createServer((socket) => socket.end('SMTP?\r\n\r\n'));
  const brokenAt = await listen(broken, 0, '127.0.0.1');
  t.teardown(() => void broken.close());
  const expected: [url: string, error: string][] = [
    [`${receiver.url}/500`, 'HTTP 500'],
    [`${receiver.url}/404`, 'HTTP 404'],
    [`${receiver.url}/304`, 'HTTP 304'],
    [`${receiver.url}/redirect`, 'REDIRECT_REFUSED'],
    [`${receiver.url}/hidden`, 'REDIRECT_REFUSED'],
    [`${receiver.url}/late`, 'REMOTE_TOO_SLOW'],
    [`${receiver.url}/reset`, 'REMOTE_BROKEN'],
    [`${receiver.url}/headers`, 'REMOTE_BROKEN'],
    [`http://${brokenAt}/`, 'REMOTE_BROKEN'],
    ['http://10.0.0.1/', 'URL_REFUSED'],
    ['http://[::ffff:169.254.169.254]/', 'URL_REFUSED'],
    ['ftp://example.com/', 'URL_REFUSED'],
  ];
  const found = await Promise.all(
    expected.map(async ([url], n) => {
      mesh.targets.set(100 + n, { url });
      const id = await mesh.evaluated({ of: 100 + n });
      return eventually(
        `a failure of ${url}`,
        async () => {
          const [delivery] = await mesh.deliveries({ agentId: 100 + n });
          return delivery?.sessionId === id && delivery.lastError !== null && delivery;
        },
        { timeoutMs: 30_000 },
      );
    }),
  );
  t.deepEqual(
    found.map(({ lastError }, n) => [expected[n]?.[0], lastError]),
    expected,
  );
  t.true(found.every(({ status }) => status === 'PENDING'));
  t.is(target.received.length, 0);
  t.false(JSON.stringify(found).includes(secretText));
});

test('a name that resolves to a private address is not called', async (t) => {
  const mesh = await externalSyncMesh(t);
  const dns = await startDnsServer(() => ({ addresses: ['93.184.216.34', '10.0.0.7'] }));
  t.teardown(() => dns.stop());
  const guard = outbound({
    allowlist: [],
    ports: ['80'],
    resolve: dnsResolver({ servers: [dns.address] }),
    log: mesh.ports.log,
  });
  Object.assign(mesh.ports.sync, { outbound: guard });
  mesh.targets.set(agentId, { url: 'http://hook.example.com/' });
  const id = await mesh.evaluated();
  t.like(await mesh.delivery(id, hasFailed), { lastError: 'HOST_NOT_PUBLIC' });
});

test('410 ends the delivery at once', async (t) => {
  const mesh = await externalSyncMesh(t);
  const receiver = await webhookReceiver(t, (_, response) => response.writeHead(410).end());
  mesh.targets.set(agentId, { url: receiver.url });
  const id = await mesh.evaluated();
  t.like(await mesh.delivery(id, isOver), {
    status: 'FAILED',
    attempts: 1,
    lastError: 'HTTP 410',
    nextAttemptAt: null,
  });
  t.is(await mesh.jobs(), 0);
  t.is(receiver.received.length, 1);
});

test('a 200 status delivers the webhook, even if the response body is huge or never ends', async (t) => {
  const mesh = await externalSyncMesh(t);
  let sent = 0;
  const chunk = Buffer.alloc(1_048_576);
  const closed = createGate();
  const receiver = await webhookReceiver(t, ({ path }, response) => {
    response.writeHead(200);
    if (path === '/drip') return response.write('a');
    response.on('close', () => closed.open());
    const write = () => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      if (!response.destroyed) response.once('drain', write);
    };
    return write();
  });
  for (const path of ['/gigabytes', '/drip']) {
    mesh.targets.set(agentId, { url: `${receiver.url}${path}` });
    const id = await mesh.evaluated();
    t.like(await mesh.delivery(id, isOver), { status: 'DELIVERED', attempts: 1 });
  }
  await closed.pass();
  t.true(sent < 64 * chunk.length, `${sent} bytes were written`);
});

test('a delivery is tried for 24 hours, with longer and longer pauses, and then given up', async (t) => {
  let offsetMs = 0;
  const hourMs = 60 * 60_000;
  const mesh = await externalSyncMesh(t, {
    env: { SESSION_SYNC_FIRST_RETRY_MS: '5000' },
    clockOffsetMs: () => offsetMs,
  });
  const receiver = await webhookReceiver(t, (_, response) => response.writeHead(500).end());
  mesh.targets.set(agentId, { url: receiver.url });
  const id = await mesh.evaluated();
  const begun = await mesh.delivery(id, hasFailed);
  const pauses: number[] = [];
  let last = begun;
  while (last.status === 'PENDING' && pauses.length < 40) {
    const due = last.nextAttemptAt?.getTime() ?? t.fail('it waits');
    const now = Date.now() + offsetMs;
    pauses.push(due - now);
    offsetMs += Math.max(0, due - now) + 1;
    const { attempts } = last;
    last = await mesh.delivery(
      id,
      (each) => each.attempts > attempts && ((hasFailed(each) && each.nextAttemptAt !== null) || isOver(each)),
    );
  }
  t.like(last, { status: 'FAILED', lastError: 'HTTP 500', nextAttemptAt: null });
  t.true(pauses.length >= 14 && pauses.length < 30, `${pauses}`);
  t.true((pauses[0] ?? 0) < 6_000 && Math.max(...pauses) <= 2 * hourMs, `${pauses}`);
  t.true(offsetMs > 23.9 * hourMs && offsetMs < 24.1 * hourMs, `${offsetMs / hourMs} hours`);
  t.is(receiver.received.length, last.attempts);
  t.is(await mesh.jobs(), 0);
});

test("a receiver's Retry-After delays the next attempt", async (t) => {
  const mesh = await externalSyncMesh(t);
  const receiver = await webhookReceiver(t, (_, response) => response.writeHead(429, { 'retry-after': '300' }).end());
  mesh.targets.set(agentId, { url: receiver.url });
  const { nextAttemptAt } = await mesh.delivery(await mesh.evaluated(), hasFailed);
  const pauseMs = (nextAttemptAt?.getTime() ?? 0) - Date.now();
  t.true(pauseMs > 200_000 && pauseMs <= 300_000, `${pauseMs}`);
});

test("each attempt uses the agent's current URL, and without a URL a waiting delivery fails", async (t) => {
  const mesh = await externalSyncMesh(t);
  const [before, after] = [
    await webhookReceiver(t, (_, response) => response.writeHead(500).end()),
    await webhookReceiver(t),
  ];
  mesh.targets.set(agentId, { url: before.url });
  const id = await mesh.evaluated();
  const { webhookId } = await mesh.delivery(id, hasFailed);
  mesh.targets.set(agentId, { url: after.url });
  t.like(await mesh.delivery(id, isOver), { status: 'DELIVERED', webhookId });
  t.is(after.received.length, 1);

  mesh.targets.set(agentId, { url: before.url });
  const next = await mesh.evaluated();
  await mesh.delivery(next, hasFailed);
  mesh.targets.delete(agentId);
  t.like(await mesh.delivery(next, isOver), { status: 'FAILED', lastError: 'URL_MISSING' });
});

test('the body has the fields that the agent maps, and a mapping that takes too long fails only its own delivery', async (t) => {
  const mesh = await externalSyncMesh(t);
  const receiver = await webhookReceiver(t);
  const mapped = async (mapping: Record<string, string>, metadata: unknown = { orderId: 'o-7' }) => {
    mesh.targets.set(agentId, { url: receiver.url, ...signed, schemaConfigJson: JSON.stringify(mapping) });
    const id = await mesh.evaluated({ metadata });
    return mesh.delivery(id, (each) => isOver(each) || hasFailed(each));
  };
  t.like(
    await mapped({ points: '$.score', 'order id': '$.metadata.orderId', all: '$.strengths[*]', none: '$.nothing' }),
    { status: 'DELIVERED' },
  );
  t.deepEqual(payloadOf(receiver.received.pop()), {
    points: 87,
    'order id': 'o-7',
    all: ['Concrete examples'],
    none: null,
  });
  const long = `${'a'.repeat(60)}b`;
  t.like(await mapped({ a: "$.metadata[?search(@, '(a+)+$')]" }, [long]), { lastError: 'MAPPING_TOO_SLOW' });
  t.like(await mapped({ a: 'score' }), { lastError: 'MAPPING_INVALID' });
  t.is(receiver.received.length, 0);
});

test("one tenant's slow receiver does not delay another tenant's webhooks", async (t) => {
  const mesh = await externalSyncMesh(t, { env: { SESSION_SYNC_PER_TENANT: '2', SESSION_SYNC_AT_ONCE: '4' } });
  const gate = createGate();
  let [running, peak] = [0, 0];
  const slow = await webhookReceiver(t, async (_, response) => {
    running += 1;
    peak = Math.max(peak, running);
    await gate.pass();
    running -= 1;
    response.writeHead(204).end();
  });
  const quick = await webhookReceiver(t);
  mesh.targets.set(1, { url: slow.url });
  mesh.targets.set(2, { url: quick.url });
  const waiting = await Promise.all(Array.from({ length: 8 }, () => mesh.evaluated({ of: 1 })));
  await eventually('the slow ones run', () => running === 2);
  for (let n = 0; n < 3; n += 1) {
    const id = await mesh.evaluated({ tenantId: 2, of: 2 });
    await eventually('the quick one is delivered', async () =>
      (await mesh.deliveries({ agentId: 2 }, inTenant(2))).some((each) => each.sessionId === id && isOver(each)),
    );
  }
  t.is(running, 2);
  gate.open();
  await eventually(
    'all are delivered',
    async () => (await mesh.deliveries({ agentId: 1 })).filter(isOver).length === waiting.length,
    { timeoutMs: 30_000 },
  );
  t.is(peak, 2);
});

test('if a process dies during an attempt, another one sends the webhook again under the same id', async (t) => {
  const mesh = await externalSyncMesh(t);
  const arrived = createGate();
  const late = createGate();
  const receiver = await webhookReceiver(t);
  receiver.answer = async (_, response) => {
    if (receiver.received.length === 1) {
      arrived.open();
      await late.pass();
    }
    response.writeHead(204).end();
  };
  mesh.targets.set(agentId, { url: receiver.url, ...signed });
  const dying = await mesh.replica();
  await mesh.stop();
  const { id } = await mesh.newSession();
  await dying.completed(id);
  await arrived.pass();
  t.like(await mesh.delivery(id, ({ attempts }) => attempts === 1), { status: 'PENDING', nextAttemptAt: null });
  await dying.database.close();
  const other = await mesh.replica();
  const delivery = await mesh.delivery(id, isOver);
  late.open();
  t.like(delivery, { status: 'DELIVERED', attempts: 2 });
  t.deepEqual(
    receiver.received.map(({ headers }) => headers['webhook-id']),
    [delivery.webhookId, delivery.webhookId],
  );
  t.deepEqual(payloadOf(receiver.received[0]), payloadOf(receiver.received[1]));
  await dying.stop();
  await other.completed(id);
  await eventually('no job is left', async () => (await mesh.jobs()) === 0);
  t.is(receiver.received.length, 2);
});

test('an outage of another service counts neither as an attempt nor as a failure of the receiver', async (t) => {
  const mesh = await externalSyncMesh(t);
  const receiver = await webhookReceiver(t);
  mesh.targets.set(agentId, { url: receiver.url });
  mesh.stubs.evaluationIsDown = true;
  const id = await mesh.evaluated();
  await eventually('the job has failed', async () => {
    const { rows } = await mesh.database.transactShared(({ knex }) =>
      knex.raw('SELECT attempt FROM jobs WHERE attempt > 1'),
    );
    return rows.length > 0;
  });
  t.deepEqual(
    (await mesh.deliveries()).map(({ attempts, lastError }) => [attempts, lastError]),
    [],
  );
  mesh.stubs.evaluationIsDown = false;
  t.like(await mesh.delivery(id, isOver), { status: 'DELIVERED', attempts: 1 });
});

test("a suspended tenant's webhooks wait until it is restored", async (t) => {
  let offsetMs = 0;
  const mesh = await externalSyncMesh(t, { clockOffsetMs: () => offsetMs });
  const receiver = await webhookReceiver(t);
  mesh.targets.set(agentId, { url: receiver.url });
  mesh.tenants.set(1, { suspended: true });
  const id = await mesh.evaluated();
  await eventually('the job waits', async () => {
    const { rows } = await mesh.database.transactShared(({ knex }) =>
      knex.raw(`SELECT 1 FROM jobs WHERE state = 'queued' AND run_at > parley_now()`),
    );
    return rows.length === 1;
  });
  t.is(receiver.received.length, 0);
  mesh.tenants.delete(1);
  offsetMs = 60_000;
  t.like(await mesh.delivery(id, isOver), { status: 'DELIVERED' });
});
