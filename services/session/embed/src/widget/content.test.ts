import test from 'ava';
import { defaultLabels, fill, withDefaults } from './labels.ts';
import { namesHost, readBlock, readInline, safeUrl, shownText, splitBlocks } from './markdown.ts';
import { type Channel, type OwnMessage, ownMessages } from './own-messages.ts';
import { type Clock, paced } from './paced.ts';
import { storedToken } from './stored-token.ts';
import { readStructuredContent } from './structured-content.ts';

test('a reply is split at empty lines and around code blocks, not inside them', (t) => {
  t.deepEqual(splitBlocks('One\nline\n\nTwo\n```js\na\n\nb\n```\nThree'), [
    'One\nline',
    'Two',
    '```js\na\n\nb\n```',
    'Three',
  ]);
  t.deepEqual(readBlock('```js\na\n\nb\n```'), [{ kind: 'code', text: 'a\n\nb' }]);
  t.deepEqual(readBlock('```js\nstill open'), [{ kind: 'code', text: 'still open' }]);
});

test('complete blocks do not change while the text grows', (t) => {
  const text = 'Intro **bold**\n\n- a\n- b\n\n```\ncode\n\nmore\n```\n\nThe end';
  for (let length = 1; length <= text.length; length += 1) {
    const [before, after] = [splitBlocks(text.slice(0, length - 1)), splitBlocks(text.slice(0, length))];
    t.deepEqual(after.slice(0, before.length - 1), before.slice(0, -1));
  }
});

test('lists, headings and quotes are parsed, and unknown syntax is text', (t) => {
  t.like(readBlock('# Title\ntext\n- one\n- two\n3. three\n> said'), [
    { kind: 'heading' },
    { kind: 'paragraph' },
    { kind: 'list', isOrdered: false, items: [[{ text: 'one' }], [{ text: 'two' }]] },
    { kind: 'list', isOrdered: true, start: 3 },
    { kind: 'quote' },
  ]);
  t.deepEqual(readInline('a **b** `c` *d* 2*3*4'), [
    { kind: 'text', text: 'a ' },
    { kind: 'strong', text: 'b' },
    { kind: 'text', text: ' ' },
    { kind: 'code', text: 'c' },
    { kind: 'text', text: ' ' },
    { kind: 'em', text: 'd' },
    { kind: 'text', text: ' 2*3*4' },
  ]);
});

test('only absolute http and https URLs become links, without trailing punctuation', (t) => {
  t.deepEqual(readInline('See https://a.example/x?y=1). Or [docs](https://b.example/).'), [
    { kind: 'text', text: 'See ' },
    { kind: 'link', text: 'https://a.example/x?y=1', href: 'https://a.example/x?y=1' },
    { kind: 'text', text: '). Or ' },
    { kind: 'link', text: 'docs', href: 'https://b.example/' },
    { kind: 'text', text: '.' },
  ]);
  for (const text of [
    '[x](javascript:alert(1))',
    '[x](data:text/html,hi)',
    '<img src=x onerror=alert(1)>',
    'https://user:pw@evil.example/',
  ]) {
    t.deepEqual(readInline(text), [{ kind: 'text', text }], text);
  }
  for (const url of [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    '//evil.example',
    '/path',
    'https://a@b.example',
    7,
    null,
    'ftp://a.example',
  ]) {
    t.is(safeUrl(url), undefined, String(url));
  }
});

test('a label names the host of its link only if the whole label is the address', (t) => {
  for (const [label, href] of [
    ['https://a.example/x', 'https://a.example/x'],
    ['http://A.example', 'https://a.example/'],
    ['a.example/login?x#y', 'https://a.example/'],
    ['a.example:8080', 'http://a.example:8080/'],
    ['[::1]/x', 'http://[::1]/x'],
  ] as const) {
    t.true(namesHost(label, href), label);
  }
  for (const [label, href] of [
    ['https://bank.com/login', 'https://k.com/'],
    ['paypal.com', 'https://pal.com/'],
    ['see notevil.co', 'https://evil.co/'],
    ['see evil.co', 'https://evil.co/'],
    ['evil.co is bank.com', 'https://evil.co/'],
    ['evil.co/ bank.com', 'https://evil.co/'],
    ['evil.com', 'https://evil.co/'],
    ['evil.co.bank.com', 'https://evil.co/'],
    ['bank.com@evil.co', 'https://evil.co/'],
    ['evil.co@bank.com', 'https://evil.co/'],
    ['https://bank.com:x@evil.co/', 'https://evil.co/'],
    ['https://bank.com/?evil.co', 'https://evil.co/'],
    ['evil.co:8080', 'https://evil.co/'],
    ['evil.co', 'https://evil.co:8080/'],
    ['bank.com\\@evil.co', 'https://evil.co/'],
    ['аpple.com', 'https://аpple.com/'], // the label's first letter is Cyrillic, so the host must be shown beside it
    ['', 'https://evil.co/'],
  ] as const) {
    t.false(namesHost(label, href), label);
  }
});

test('changes are shown together, after a pause that grows with the time that showing takes', (t) => {
  let time = 0;
  let costMs = 1;
  const waiting: { at: number; run: () => void }[] = [];
  const clock: Clock = {
    now: () => time,
    after(ms, run) {
      const timer = { at: time + ms, run };
      waiting.push(timer);
      return () => void waiting.splice(waiting.indexOf(timer), 1);
    },
  };
  const next = () => {
    const timer = waiting.shift();
    const waitedMs = (timer?.at ?? 0) - time;
    time = timer?.at ?? 0;
    timer?.run();
    return waitedMs;
  };
  const showing = paced(() => void (time += costMs), clock);
  showing.soon();
  showing.soon();
  t.is(waiting.length, 1);
  costMs = 200;
  t.is(next(), 33);
  showing.soon();
  costMs = 2;
  t.is(next(), 800);
  showing.soon();
  showing.now();
  t.is(waiting.length, 0, 'what was waited for is shown');
  showing.soon();
  t.is(waiting.length, 1);
  showing.close();
  t.is(waiting.length, 0);
});

test('a URL with much punctuation is parsed in linear time', (t) => {
  const hostile = `https://${'.'.repeat(1_900)}a `.repeat(2_000);
  const harmless = `https://${'a'.repeat(1_900)}a `.repeat(2_000);
  const took = (text: string) => {
    const began = performance.now();
    readInline(text);
    return performance.now() - began;
  };
  took(harmless);
  // With quadratic time, the hostile text would take several hundred times as long as the harmless one.
  const [fair, long] = [took(harmless), took(hostile)];
  t.true(long < 20 * fair + 100, `${long} ms instead of ${fair} ms`);
});

test('hostile text is parsed in linear time', (t) => {
  const began = performance.now();
  for (const sign of ['*', '**', '`', '[', '[a](', 'https://', '_', '> ', '- ', '1. ', '\u202E', '```\n']) {
    const text = sign.repeat(50_000);
    splitBlocks(text).flatMap(readBlock);
  }
  t.true(performance.now() - began < 5_000);
});

test('bidirectional overrides and control characters are not shown', (t) => {
  t.is(shownText('a\u202Ebc\u202C \u0000\u0007d\n\te'), 'abc d\n\te');
  t.is(shownText('مرحبا \u2067x\u2069'), 'مرحبا \u2067x\u2069');
});

test('a card keeps safe buttons, and drops unsafe pictures and links', (t) => {
  const buttons = [
    { label: 'Open', url: 'https://a.example/' },
    { label: 'Bad', url: 'javascript:alert(1)' },
    { label: 'Yes', value: 'yes please' },
    { label: '', value: 'x' },
    { value: 'x' },
    'text',
  ];
  t.deepEqual(readStructuredContent({ kind: 'card', title: 'T', body: 'B', imageUrl: 'javascript:x', buttons }), {
    kind: 'card',
    title: 'T',
    subtitle: undefined,
    body: 'B',
    imageUrl: undefined,
    buttons: [
      { label: 'Open', url: 'https://a.example/' },
      { label: 'Yes', value: 'yes please' },
    ],
  });
});

test('each row of a table has one cell per column, and a list keeps only items with a title', (t) => {
  t.deepEqual(readStructuredContent({ kind: 'table', columns: ['a', 'b'], rows: [[1], [true, null, 'x'], 'no'] }), {
    kind: 'table',
    columns: ['a', 'b'],
    rows: [
      ['1', ''],
      ['true', ''],
      ['', ''],
    ],
    more: { rows: 0, columns: 0 },
  });
  t.deepEqual(
    readStructuredContent({
      kind: 'list',
      items: [{ title: 'A', url: 'https://a.example/' }, { description: 'x' }, 3],
    }),
    {
      kind: 'list',
      items: [{ title: 'A', description: undefined, url: 'https://a.example/' }],
      more: 0,
    },
  );
});

test('large tables and lists are truncated, with the number of omitted rows, columns and items', (t) => {
  const numbers = (length: number) => Array.from({ length }, (_, index) => index);
  const wide = readStructuredContent({
    kind: 'table',
    columns: numbers(60),
    rows: numbers(500).map(() => numbers(60)),
  });
  t.like(wide, { kind: 'table', columns: { length: 50 }, rows: { length: 40 }, more: { rows: 460, columns: 10 } });
  const narrow = readStructuredContent({ kind: 'table', columns: ['a'], rows: numbers(700).map(() => [1]) });
  t.like(narrow, { rows: { length: 700 }, more: { rows: 0, columns: 0 } });
  const list = readStructuredContent({ kind: 'list', items: numbers(510).map((title) => ({ title: `${title}` })) });
  t.like(list, { items: { length: 500 }, more: 10 });
});

test('invalid structured content is ignored', (t) => {
  for (const value of [
    null,
    'x',
    3,
    [],
    {},
    { kind: 'video' },
    { kind: 'card' },
    { kind: 'table', columns: [] },
    { kind: 'list', items: [{}] },
  ]) {
    t.is(readStructuredContent(value), undefined, JSON.stringify(value));
  }
});

test('labels of the page replace the defaults if they are strings', (t) => {
  t.deepEqual(withDefaults({ send: 'Senden', stop: 5, other: 'x' }), { ...defaultLabels, send: 'Senden' });
  t.deepEqual(withDefaults(null), defaultLabels);
  t.is(fill('{name}: {seconds} {other}', { name: 'a', seconds: 3 }), 'a: 3 {other}');
});

function memoryStore() {
  const items = new Map<string, string>();
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  };
}

/** Returns a function that creates a tab's broadcast channel. The channels are connected to one another. */
function tabs() {
  const open = new Map<Channel, (event: { data: unknown }) => void>();
  return (): Channel => {
    const channel: Channel = {
      addEventListener: (_type, listener) => void open.set(channel, listener),
      close: () => open.delete(channel),
      postMessage(message) {
        for (const [other, hear] of open) if (other !== channel) hear({ data: structuredClone(message) });
      },
    };
    return channel;
  };
}

const quiet = () => undefined;
const sent: OwnMessage = { clientTurnId: 'a', text: 'Hello', state: 'sent' };

test('a reloaded tab keeps its messages, and one that was being sent can be retried', (t) => {
  const store = memoryStore();
  const before = ownMessages({ name: 's', store, channel: undefined, onMessage: quiet });
  before.put(sent);
  before.put({ clientTurnId: 'b', text: 'Cut', state: 'sending' });
  const after = ownMessages({ name: 's', store, channel: undefined, onMessage: quiet });
  t.deepEqual(after.list(), [sent, { clientTurnId: 'b', text: 'Cut', state: 'failed' }]);
  t.deepEqual(ownMessages({ name: 'other', store, channel: undefined, onMessage: quiet }).list(), []);
});

test('tabs of a session share earlier and new messages, each once', (t) => {
  const tab = tabs();
  const first = ownMessages({ name: 's', store: memoryStore(), channel: tab(), onMessage: quiet });
  first.put(sent);
  first.put({ clientTurnId: 'f', text: 'Lost', state: 'failed' });
  const heard: OwnMessage[] = [];
  const second = ownMessages({
    name: 's',
    store: memoryStore(),
    channel: tab(),
    onMessage: (message) => heard.push(message),
  });
  t.deepEqual(second.list(), [sent]);
  first.put({ clientTurnId: 'b', text: 'More', state: 'sent' });
  first.put({ clientTurnId: 'b', text: 'More', state: 'sent' });
  t.deepEqual(
    heard.map(({ clientTurnId }) => clientTurnId),
    ['a', 'b'],
  );
});

test('broken or full storage and messages of another page change nothing', (t) => {
  const tab = tabs();
  const [channel, other] = [tab(), tab()];
  const store = {
    getItem: () => '{"not": "a list"',
    setItem(): never {
      throw new Error('full');
    },
  };
  const own = ownMessages({ name: 's', store, channel, onMessage: quiet });
  other.postMessage({ messages: [{ clientTurnId: 7 }, null, 'x'] });
  other.postMessage(null);
  own.put(sent);
  t.deepEqual(own.list(), [sent]);
});

test('a stored token is found by the initial token, with its remaining lifetime', (t) => {
  const store = memoryStore();
  let now = 1_000;
  storedToken(store, 's', 'given', () => now).put('fresh', 600);
  now = 1_400;
  t.deepEqual(storedToken(store, 's', 'given', () => now).find(), { token: 'fresh', expiresInMs: 200 });
  t.is(storedToken(store, 's', 'another', () => now).find(), undefined);
  t.is(storedToken(undefined, 's', 'given').find(), undefined);
});
