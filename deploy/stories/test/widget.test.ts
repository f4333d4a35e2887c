// Tests the built widget in a real browser, on a page of another origin, against the mesh.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDemoServer } from '@parley/demo';
import { createLogger } from '@parley/kernel/telemetry/log';
import { TcpProxy } from '@parley/mesh/tcp-proxy';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { createAction, restApi } from '../src/actions.ts';
import { hasBrowser } from '../src/browser.ts';
import { readSession } from '../src/conversation.ts';
import { idsOf, withCredentials } from '../src/credentials.ts';
import { createKnowledgeBase, ingestText } from '../src/knowledge.ts';
import { stories } from '../src/stories.ts';
import { startEmbedded, widgetPages } from '../src/widget-page.ts';
import { createWorkflow, publishWorkflow } from '../src/workflows.ts';

const story: ReturnType<typeof stories>['serial'] = hasBrowser
  ? stories(test)
  : (title) => test.skip(`${title} (Chromium is there for Linux on x64 alone)`, () => undefined);
const pages = widgetPages(test);

const greeting = 'Hello, I am Robin.';
const words = Array.from({ length: 12 }, (_, index) => `word${index} `);
const whole = words.join('').trim();

story('a conversation streams each text once, and a finished reply is announced once', async (t, mesh) => {
  const gate = createGate();
  mesh.model.answer('Count streams.', { text: words, beforeDelta: gate });
  const chat = await pages.open(t, mesh, await startEmbedded(mesh));
  await chat.shows(greeting);
  await chat.send('Count streams.');
  gate.release(3);
  await chat.shows('Count streams.', 'word2');
  t.false((await chat.announced()).includes('word'), 'pieces are not read out');
  gate.open();
  await chat.shows(whole);
  await eventually('it is read out', async () => (await chat.announced()).includes(`Robin: ${whole}`));
  for (const text of [greeting, 'Count streams.', whole]) t.is(await chat.count(text), 1, text);
  t.is((await chat.announced()).split(whole).length, 2);
  t.deepEqual(chat.errors, []);
});

story('a socket that is cut repeatedly loses nothing and repeats nothing', async (t, mesh) => {
  const line = await new TcpProxy([new URL(mesh.url).host]).open();
  t.teardown(() => line.close());
  const gate = createGate();
  mesh.model.answer('Count cut.', { text: words, beforeDelta: gate });
  const endpoint = `http://127.0.0.1:${line.port}/graphql`;
  const chat = await pages.open(t, mesh, { ...(await startEmbedded(mesh)), endpoint });
  await chat.shows(greeting);
  await chat.send('Count cut.');
  for (const last of [3, 7]) {
    gate.release(4);
    await chat.shows(`word${last}`);
    await line.close();
    await chat.part('.status.reconnecting').waitFor();
    await line.open();
  }
  gate.open();
  await chat.shows(whole);
  await chat.part('.status.open').waitFor();
  for (const text of [greeting, 'Count cut.', whole]) t.is(await chat.count(text), 1, text);
});

story('a message sent while the connection is down arrives once when it is back', async (t, mesh) => {
  const line = await new TcpProxy([new URL(mesh.url).host]).open();
  t.teardown(() => line.close());
  mesh.model.answer('Are you there?', { text: 'I am.' });
  const started = await startEmbedded(mesh);
  const chat = await pages.open(t, mesh, { ...started, endpoint: `http://127.0.0.1:${line.port}/graphql` });
  await chat.shows(greeting);
  await line.close();
  await chat.send('Are you there?');
  await chat.part('.status.reconnecting').waitFor();
  await line.open();
  await chat.shows('I am.');
  for (const text of ['Are you there?', 'I am.']) t.is(await chat.count(text), 1, text);
  const { messages } = await readSession(started.owner, started.sessionId);
  t.is(messages.filter(({ role }) => role === 'USER').length, 1);
});

story('an expired token, and one that expires during a reply, are renewed without a notice', async (t, given) => {
  const mesh = withCredentials(given);
  const started = await startEmbedded(mesh);
  const { tenantId } = await idsOf(started.owner);
  const minted = (how: object) => mesh.withSessionToken({ ...started, tenantId }, how).tokens?.accessToken ?? '';
  const ended = minted({ clock: () => new Date(Date.now() - 300_000), lifetimeMs: 1_000 });
  mesh.model.answer('First ends.', { text: 'One.' });
  const late = await pages.open(t, mesh, { ...started, token: ended });
  await late.shows(greeting);
  await late.send('First ends.');
  await late.shows('One.');

  const gate = createGate();
  mesh.model.answer('Count ends.', { text: words, beforeDelta: gate });
  const ending = await pages.open(t, mesh, { ...started, token: minted({ lifetimeMs: 6_000 }) });
  await ending.shows('One.');
  await ending.send('Count ends.');
  gate.release(4);
  await ending.shows('word3');
  await eventually('a new token', () => ending.posted.some((body) => body.includes('"avatarToken"')));
  gate.open();
  for (const chat of [late, ending]) {
    await chat.shows(whole);
    for (const text of [greeting, 'One.', whole]) t.is(await chat.count(text), 1, text);
  }
  t.is(await ending.part('.status.failed').count(), 0);
});

story('after the grace period of its token, the widget shows that it cannot continue', async (t, given) => {
  const mesh = withCredentials(given);
  const started = await startEmbedded(mesh);
  const { tenantId } = await idsOf(started.owner);
  const long = { clock: () => new Date(Date.now() - 7_200_000), lifetimeMs: 1_000 };
  const token = mesh.withSessionToken({ ...started, tenantId }, long).tokens?.accessToken ?? '';
  const chat = await pages.open(t, mesh, { ...started, token });
  await chat.part('.status.failed').waitFor();
  t.false(await chat.part('textarea').isVisible());
  t.deepEqual(await chat.problems(), []);
});

story(
  "a tab that is reloaded during a reply shows everything once, including the user's own messages",
  async (t, mesh) => {
    const gate = createGate();
    mesh.model.answer('First reload.', { text: 'One.' });
    mesh.model.answer('Count reload.', { text: words, beforeDelta: gate });
    const chat = await pages.open(t, mesh, await startEmbedded(mesh));
    await chat.send('First reload.');
    await chat.shows('One.');
    await chat.send('Count reload.');
    gate.release(5);
    await chat.shows('word4');
    await chat.page.reload();
    await chat.shows(greeting, 'First reload.', 'One.', 'Count reload.', 'word4');
    gate.open();
    await chat.shows(whole);
    const text = await chat.text();
    t.deepEqual(
      [greeting, 'First reload.', 'One.', 'Count reload.', whole].map((each) => text.split(each).length - 1),
      [1, 1, 1, 1, 1],
    );
    const places = [greeting, 'First reload.', 'One.', 'Count reload.', whole].map((each) => text.indexOf(each));
    t.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
  },
);

story(
  'all tabs of a device show the same, and another device shows placeholders for messages that it does not know',
  async (t, mesh) => {
    const gate = createGate();
    mesh.model.answer('First tabs.', { text: 'One.' });
    mesh.model.answer('Count tabs.', { text: words, beforeDelta: gate });
    const started = await startEmbedded(mesh);
    const first = await pages.open(t, mesh, started);
    await first.shows(greeting);
    const second = await first.tab();
    await second.shows(greeting);
    await first.send('First tabs.');
    await second.shows('First tabs.', 'One.');
    await second.send('Count tabs.');
    gate.release(4);
    await first.shows('Count tabs.', 'word3');
    const third = await first.tab();
    await third.shows('First tabs.', 'One.', 'Count tabs.', 'word3');
    gate.open();
    for (const chat of [first, second, third]) {
      await chat.shows(whole);
      for (const text of [greeting, 'First tabs.', 'One.', 'Count tabs.', whole]) t.is(await chat.count(text), 1, text);
    }
    const elsewhere = await pages.open(t, mesh, started);
    await elsewhere.shows(greeting, 'One.', whole);
    t.is(await elsewhere.count('A message from another device'), 2);
    t.is(await elsewhere.count('First tabs.'), 0);
  },
);

story('the output of a model is shown as text, and cannot act, load or reorder anything', async (t, mesh) => {
  const hostile = [
    '<img src=x onerror="document.title=1"> <script>document.title=2</script>',
    '[click](javascript:document.title=3) and [bank](https://evil.example/login) <svg onload=alert(1)>',
    'user\u202Egnp.exe &lt;b&gt; **<i>bold</i>** `<u>code</u>` https://real.example/"onmouseover="x',
    '<a href="https://evil.example" style="position:fixed">x</a> data:text/html,<h1>hi</h1>',
  ].join('\n\n');
  mesh.model.answer('Attack.', { text: hostile, deltas: 'character' });
  const chat = await pages.open(t, mesh, { ...(await startEmbedded(mesh)), agentName: '<b>Robin</b>\u202E' });
  await chat.send('<img src=x onerror="document.title=4">');
  await chat.send('Attack.');
  await chat.shows(
    '<h1>hi</h1>',
    '<img src=x onerror="document.title=1">',
    '<script>document.title=2</script>',
    '<i>bold</i>',
  );
  await chat.shows('<img src=x onerror="document.title=4">', '[click](javascript:document.title=3)');
  t.is(await chat.page.title(), 'Lamps');
  for (const selector of ['img', 'script', 'i.bold', 'b', 'u', '.log svg', 'h1', '[onerror]', '[onload]', '[style]']) {
    t.is(await chat.part(`.log ${selector.replace('.log ', '')}`).count(), 0, selector);
  }
  t.deepEqual(await chat.links(), [
    ['https://evil.example/login', 'noopener noreferrer', '_blank'],
    ['https://real.example/', 'noopener noreferrer', '_blank'],
    ['https://evil.example/', 'noopener noreferrer', '_blank'],
  ]);
  t.is(await chat.count('evil.example'), 2, 'the host stands beside a text that hides it');
  t.false((await chat.text()).includes('\u202E'));
  t.deepEqual(chat.errors, []);
});

story('a link shows its target, whatever its label contains', async (t, mesh) => {
  const text = '[https://bank.com/login](https://k.com/) [paypal.com](https://pal.com/) [k.com/a](https://k.com/b)';
  mesh.model.answer('Link.', { text });
  const chat = await pages.open(t, mesh, await startEmbedded(mesh));
  await chat.send('Link.');
  await chat.shows('k.com/a');
  t.deepEqual(await chat.part('.host').allInnerTexts(), [' k.com', ' pal.com']);
  t.deepEqual(await chat.problems(), []);
});

/** Makes the agent reply with this workflow. */
async function useWorkflow({ owner, agentId: id }: Awaited<ReturnType<typeof startEmbedded>>, draft: object) {
  const workflowId = await createWorkflow(owner, { draft });
  await publishWorkflow(owner, workflowId);
  await owner.query(
    'mutation ($id: ID!, $workflowId: Int) { updateAgent(id: $id, input: { workflowId: $workflowId }) { id } }',
    { id, workflowId },
  );
}

story('cards, tables and lists of a workflow are shown, and a button with a value sends the value', async (t, mesh) => {
  const card = {
    kind: 'card',
    title: 'Lamp L-200',
    body: 'A reading lamp.',
    buttons: [
      { label: 'Open the shop', url: 'https://shop.example/l-200' },
      { label: 'Compare', value: 'Compare them' },
    ],
  };
  const table = {
    kind: 'table',
    columns: ['Model', 'Price'],
    rows: [
      ['L-100', 29],
      ['L-200', 49],
    ],
  };
  const list = {
    kind: 'list',
    items: [{ title: 'Floor lamp', description: 'For the corner', url: 'https://shop.example/f' }],
  };
  const say = (text: string, structuredContent: object, next: string) => ({
    kind: 'response',
    text,
    structuredContent,
    next,
  });
  const nodes = {
    card: say('A lamp:', card, 'table'),
    table: say('All:', table, 'list'),
    list: say('More:', list, 'card'),
  };
  const started = await startEmbedded(mesh);
  await useWorkflow(started, { version: 1, start: 'card', nodes });
  const chat = await pages.open(t, mesh, started);
  await chat.send('Show me a lamp');
  await chat.shows('Lamp L-200', 'A reading lamp.');
  t.is((await chat.part('a.choice .host').innerText()).trim(), 'shop.example');
  t.deepEqual(await chat.links(), [['https://shop.example/l-200', 'noopener noreferrer', '_blank']]);
  await chat.part('button.choice').click();
  await chat.shows('Compare them', 'L-100', '49');
  await chat.send('And others?');
  await chat.shows('Floor lamp', 'For the corner');
  t.deepEqual(await chat.problems(), []);
});

story('a table that is too large to be shown completely states how many rows are left out', async (t, mesh) => {
  const columns = Array.from({ length: 20 }, (_, index) => `Column ${index}`);
  const rows = Array.from({ length: 200 }, (_, row) => columns.map((_, index) => row * 100 + index));
  const node = { kind: 'response', text: 'All:', structuredContent: { kind: 'table', columns, rows }, next: 'table' };
  const started = await startEmbedded(mesh);
  await useWorkflow(started, { version: 1, start: 'table', nodes: { table: node } });
  const chat = await pages.open(t, mesh, started);
  await chat.send('Show me all');
  await chat.shows('9919', 'More rows that are not shown: 100');
  t.is(await chat.part('td').count(), 2_000);
});

story('tool calls and sources are shown with their reply', async (t, mesh) => {
  const started = await startEmbedded(mesh);
  const gate = createGate();
  const { url } = await restApi(t, async (_request, response) => {
    await gate.pass();
    response.end('two euros');
  });
  const actionId = await createAction(started.owner, { name: 'price', url });
  const base = await createKnowledgeBase(started.owner);
  await ingestText(started.owner, base, 'A lamp costs two euros, and can be returned within 30 days.');
  await started.owner.query(
    'mutation ($id: ID!, $input: UpdateAgentInput!) { updateAgent(id: $id, input: $input) { id } }',
    { id: started.agentId, input: { tools: [{ actionId }], knowledgeBaseIds: [base] } },
  );
  mesh.model.answer('How much is a lamp?', ({ results }) =>
    results.length === 0 ? { text: 'I look.', toolCalls: [{ name: 'price' }] } : { text: ' Two euros.' },
  );
  const chat = await pages.open(t, mesh, started);
  await chat.send('How much is a lamp?');
  await chat.shows('Using price…');
  gate.open();
  await chat.shows('Used price', 'Two euros.', 'Sources (1)');
  await chat.part('.sources summary').click();
  await chat.shows('returns.md', 'A lamp costs two euros');
  t.deepEqual(await chat.problems(), []);
});

story(
  'a failed reply is reported and can be retried; a reply can be stopped, and the conversation ended',
  async (t, mesh) => {
    const gate = createGate();
    mesh.model.answer('Break.', { status: 400, body: '{"error":{"message":"no"}}' });
    mesh.model.answer('Tell me everything.', { text: ['Well, first ', 'of all'], beforeDelta: gate });
    const started = await startEmbedded(mesh);
    const chat = await pages.open(t, mesh, started);
    await chat.shows(greeting);
    await chat.send('Break.');
    await chat.shows('No reply:');
    t.deepEqual(await chat.problems(), []);
    mesh.model.answer('Break.', { text: 'Mended.' });
    await chat.part('.failure button').click();
    await chat.shows('Mended.');

    await chat.send('Tell me everything.');
    gate.release(1);
    await chat.shows('Well, first');
    await chat.part('button[aria-label="Stop the reply"]').click();
    await chat.shows('Stopped');
    t.is(await chat.part('button[aria-label="Stop the reply"]').isVisible(), false);

    const ended = chat.page.evaluate(
      'new Promise((resolve) => document.addEventListener("parley-ended", ({ detail }) => resolve(detail), { once: true }))',
    );
    await chat.part('.end').click();
    t.deepEqual(await chat.problems(), []);
    await chat.part('.confirm .danger').click();
    t.like(await ended, { sessionId: started.sessionId });
    await chat.part('.over').waitFor();
    t.is(await chat.part('.over').innerText(), 'This conversation has ended.');
    t.is((await readSession(started.owner, started.sessionId)).status, 'ENDED');
    t.deepEqual(await chat.problems(), []);
    await chat.page.reload();
    await chat.shows(greeting, 'Mended.', 'Well, first');
    await chat.part('.over').waitFor();
  },
);

story('the keyboard alone suffices to write, stop a reply, and cancel the end', async (t, mesh) => {
  const gate = createGate();
  mesh.model.answer('Line one\nline two', { text: ['Well, ', 'yes'], beforeDelta: gate });
  const chat = await pages.open(t, mesh, await startEmbedded(mesh));
  await chat.shows(greeting);
  const { keyboard } = chat.page;
  const focused = () =>
    chat.page.evaluate<string>('document.querySelector("parley-chat").shadowRoot.activeElement?.className ?? ""');
  await keyboard.press('Tab');
  t.is(await focused(), 'end');
  await keyboard.press('Enter');
  await keyboard.press('Escape');
  t.is(await focused(), 'end');
  await keyboard.press('Tab');
  t.is(await focused(), 'log');
  await keyboard.press('Tab');
  await keyboard.type('Line one');
  await keyboard.press('Shift+Enter');
  await keyboard.type('line two');
  await keyboard.press('Enter');
  gate.release(1);
  await chat.shows('Line one\nline two', 'Well,');
  await keyboard.press('Escape');
  await chat.shows('Stopped');
});

story('the demo page uses a session that its server starts, and keeps it after a reload', async (t, mesh) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-demo-'));
  const file = join(folder, 'demo.json');
  const [voiceUrl = ''] = mesh.addresses('voice', 'public');
  const demo = await startDemoServer({ port: 0, endpoint: mesh.url, voiceUrl, file, log: createLogger('demo') });
  t.teardown(async () => {
    await demo.stop();
    rmSync(folder, { recursive: true });
  });
  const chat = await pages.visit(t, mesh, demo.url);
  await chat.part('.reply .text').waitFor();
  await chat.send('Are you there?');
  await eventually('a second reply', async () => (await chat.part('.reply .text').count()) === 2);
  await eventually('both can be read aloud', async () => (await chat.part('.read').count()) === 2);
  const text = await chat.text();
  await chat.page.reload();
  await eventually('the same conversation', async () => (await chat.text()) === text);
  t.deepEqual(chat.errors, []);
  t.deepEqual(await chat.problems(), []);
  t.is(statSync(file).mode & 0o777, 0o600);
  const { apiKey } = JSON.parse(readFileSync(file, 'utf8'));
  t.false((await chat.page.content()).includes(apiKey));

  const cross = await fetch(`${demo.url}session`, { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } });
  t.is(cross.status, 403);
  const { headers } = await fetch(demo.url);
  t.regex(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/u, 'no other site can frame it');

  // The stored key is unknown here, like a key of another database.
  writeFileSync(file, JSON.stringify({ apiKey: 'gone', agentId: 1 }));
  const other = await startDemoServer({ port: 0, endpoint: mesh.url, file, log: createLogger('demo') });
  t.teardown(() => other.stop());
  t.is((await fetch(`${other.url}session`, { method: 'POST' })).status, 200);
});

const arabicLabels = {
  placeholder: 'اكتب رسالة…',
  online: 'متصل',
  conversation: 'محادثة مع {agent}',
  send: 'إرسال',
  end: 'إنهاء',
};

const arabic = { lang: 'ar', agentName: 'نورا', labels: arabicLabels };

for (const [what, browser, look] of [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['Arabic, from right to left', {}, arabic],
  ["of a phone's width", { viewport: { width: 320, height: 640 }, isMobile: true, hasTouch: true }],
  ['without motion', { reducedMotion: 'reduce' }],
  ['of forced colours', { forcedColors: 'active' }],
] as const) {
  story(`axe finds no problem in a page ${what}, and nothing overflows the page`, async (t, mesh) => {
    const gate = createGate();
    const text = `مرحبا: **bold** \`code\` ${'wide'.repeat(60)} https://shop.example/${'x'.repeat(120)}\n\n- one\n- two\n\n\`\`\`\n${'code '.repeat(60)}\n\`\`\``;
    mesh.model.answer('مرحبا', { text });
    mesh.model.answer(`Wait: ${what}`, { text: ['Begun', ' and done.'], beforeDelta: gate });
    const chat = await pages.open(t, mesh, { ...(await startEmbedded(mesh)), ...look }, browser);
    await chat.shows(greeting);
    await chat.part('textarea').fill('مرحبا');
    await chat.part('button[type=submit]').click();
    await chat.shows('one');
    await chat.send(`Wait: ${what}`);
    gate.release(1);
    await chat.shows('Begun');
    t.deepEqual(await chat.problems(), []);
    const shadow = 'document.querySelector("parley-chat").shadowRoot';
    for (const wide of ['document.documentElement', `${shadow}.querySelector(".log")`]) {
      t.true(await chat.page.evaluate(`${wide}.scrollWidth <= ${wide}.clientWidth`), wide);
    }
    const direction = `getComputedStyle(${shadow}.querySelector("form")).direction`;
    t.is(await chat.page.evaluate(direction), look ? 'rtl' : 'ltr');
    gate.open();
    await chat.shows('Begun and done.');
    t.deepEqual(chat.errors, []);
  });
}
