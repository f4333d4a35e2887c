import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { TcpProxy } from '@parley/mesh/tcp-proxy';
import { createAction, restApi } from '@parley/stories/actions';
import type { Client } from '@parley/stories/client';
import { createAgent } from '@parley/stories/conversation';
import type { TestMesh } from '@parley/stories/mesh';
import type { Citation, Message } from '@parley/stories/messages';
import { judgement } from '@parley/stories/scripted-model';
import type { SessionEvent } from '@parley/stories/session-events';
import { stories } from '@parley/stories/stories';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { startChild } from '../testing/child.ts';
import { publicApi } from './api.ts';
import { showReply } from './conversation.ts';
import type { TalkOptions } from './participants.ts';
import { talk } from './talk.ts';
import { openTerminal } from './terminal.ts';

const story = stories(test);

const greeting = 'Hello, I am Robin. Ask me what Parley is and what you can build with it.\n';
/** The line that follows a reply of the tests' model. It contains no cost, because the model is free. */
const figures = '— test-model\n';
const evaluation = `\nEvaluation: 83 of 100 · HIRE\n${judgement.summary}\n  + Said what was scripted\n  - Said nothing else\n`;

/** Returns the options of `talk` for a user and an agent whose replies this file scripts. */
async function account({ account: given }: Client, agent?: number): Promise<TalkOptions> {
  return { email: given?.email, password: given?.password, agent: agent?.toString() };
}

async function scripted(mesh: TestMesh): Promise<TalkOptions> {
  const ada = await mesh.person();
  return account(ada, await createAgent(ada, { name: 'Robin', openingGreeting: greeting.trim() }));
}

/**
 * Runs `talk` as `scripts/talk` does, with its own client address. If `input` is given, it is the complete input; else stdin stays open.
 */
function typed(mesh: TestMesh, options: TalkOptions, input?: string, url = mesh.url) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const seen = { text: '', left: 0 };
  stdout.setEncoding('utf8').on('data', (text: string) => (seen.text += text));
  if (input !== undefined) stdin.end(input);
  const api = publicApi(url, { 'x-forwarded-for': mesh.visitor().ip });
  const { interrupt, ended } = talk(api, options, { stdin, stdout }, () => (seen.left += 1));
  const says = (text: string) => eventually(`it says ${text} in\n${seen.text}`, () => seen.text.includes(text));
  return { seen, stdin, interrupt, ended, says };
}

async function whole(mesh: TestMesh, options: TalkOptions, input: string): Promise<string> {
  const { seen, ended } = typed(mesh, options, input);
  await ended;
  return seen.text;
}

story('every line of a pipe is answered in turn, and /end shows the evaluation', async (t, mesh) => {
  mesh.model.answer('first', { text: 'One for the first.' });
  mesh.model.answer('second', { text: 'Two for the second.' });
  const { email = '', password = '', agent = '' } = await scripted(mesh);
  const child = startChild(t, 'talk', {
    args: ['--url', mesh.url, '--password', password, '--agent', agent],
    env: { PARLEY_EMAIL: email },
  });
  child.write('first\n\n  second  \n/end\nnever\n'); // the input stays open, as in a terminal

  t.is(await child.ended, 0, child.stderr);
  t.is(child.stderr, '');
  t.is(
    child.stdout,
    'Connected to Robin. Ctrl-C interrupts a reply, /end ends the session.\n\n' +
      `${greeting}you> first\nOne for the first.\n${figures}you>   second  \nTwo for the second.\n${figures}you> /end\n${evaluation}`,
  );
});

story('a tool call of the agent is a line between the texts before and after it', async (t, mesh) => {
  const ada = await mesh.person();
  const { url } = await restApi(t, (_request, response) => response.end('two euros'));
  const actionId = await createAction(ada, { name: 'price', url });
  mesh.model.answer('How much?', ({ results }) =>
    results.length === 0 ? { text: 'I look.', toolCalls: [{ name: 'price' }] } : { text: 'Two euros.' },
  );
  const options = await account(ada, await createAgent(ada, { name: 'Robin', tools: [{ actionId }] }));
  const shown = await whole(mesh, options, 'How much?\n');
  t.regex(shown, /I look\.\n\n— price … succeeded, \d+(\.\d+)? sec\nTwo euros\.\n— test-model\n/u);
});

story(
  'without an account one is made, and an agent in it; without any input its greeting and an evaluation are all there is',
  async (t, mesh) => {
    const text = await whole(mesh, {}, '');
    t.regex(text, /^Registered guest-\w+@example\.com \(password \S+\)\.\nConnected to Robin\./u);
    t.true(text.includes(`${greeting}\nEvaluation: `), text);
  },
);

story('the end of the input ends the session as /end does', async (t, mesh) => {
  const text = await whole(mesh, await scripted(mesh), 'no newline after this');
  t.true(
    text.includes('you> no newline after this\nHello from the model server.\n— test-model\n\nEvaluation: 83 of 100'),
    text,
  );
});

story('a refused message is reported, and the conversation continues', async (t, mesh) => {
  const text = await whole(mesh, await scripted(mesh), 'nul \u0000 inside\nafterwards\n');
  t.regex(text, /inside\n\[[^\]]+\]\nyou> afterwards\nHello from the model server\.\n— test-model\n/u);
});

story("a model's text cannot control the terminal", async (t, mesh) => {
  mesh.model.answer('colours', { text: ['\u001b]0;owned\u0007red', '\u001b[2J\tand blue\r\n'] });
  const text = await whole(mesh, await scripted(mesh), 'colours\n');
  t.true(text.includes('you> colours\n]0;ownedred[2J\tand blue\n'), JSON.stringify(text));
});

story('a failed reply is reported with its code', async (t, mesh) => {
  mesh.model.answer('break', { text: 'half a', ending: 'error-event' });
  const text = await whole(mesh, await scripted(mesh), 'break\n');
  t.regex(text, /half a\n\[no reply: .* \(MODEL_FAILED\)\]\n/u);
});

story('without an agent option, the newest agent replies', async (t, mesh) => {
  const ada = await mesh.person();
  for (const name of ['Eve', 'Ada']) await createAgent(ada, { name, openingGreeting: `${name} here.` });
  t.regex(await whole(mesh, await account(ada), '/end\n'), /^Connected to Ada\.[^]*\n\nAda here\.\n/u);
});

story('an agent answers from the given files, and the reply lists them', async (t, mesh) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-talk-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const files = ['returns.md', 'prices.txt'].map((name) => join(folder, name));
  for (const file of files) writeFileSync(file, 'Our lamps can be returned within 30 days.');
  const options = await scripted(mesh);
  const child = startChild(t, 'talk', {
    args: ['--url', mesh.url, '--agent', String(options.agent), '--knowledge', ...files],
    env: { PARLEY_EMAIL: options.email ?? '', PARLEY_PASSWORD: options.password ?? '' },
  });
  child.write('Within how many days can lamps be returned?\n/end\n');
  t.is(await child.ended, 0, child.stderr);
  t.regex(child.stdout, /^Read returns\.md: 1 passage\.\nRead prices\.txt: 1 passage\.\nConnected to Robin\./u);
  t.regex(child.stdout, /Hello from the model server\.\n— from (?:returns\.md|prices\.txt)\n— test-model\n/u);
});

story('wrong credentials and an unknown agent are reported', async (t, mesh) => {
  const options = { email: 'nobody@example.com', password: 'not this one' };
  await t.throwsAsync(whole(mesh, options, ''), { name: 'Error', message: /^[^\n]+$/u });
  await t.throwsAsync(whole(mesh, { email: 'nobody@example.com' }, ''), {
    message: /Give both an email address and a password/u,
  });
  const ada = await account(await mesh.person());
  for (const agent of ['2147483647', 'robin']) {
    await t.throwsAsync(whole(mesh, { ...ada, agent }, ''), { message: `There is no agent ${agent} in this tenant` });
  }
});

function replyEvent({ text, ...figures }: { text: string } & Partial<Message>): SessionEvent {
  const message = { modelId: null, costUsd: 0, ...figures };
  return JSON.parse(JSON.stringify({ __typename: 'AiResponseEvent', clientTurnId: 'a', text, message }));
}

/** Returns the shown text of a reply, with each note in brackets. */
async function shownReply(events: AsyncGenerator<SessionEvent>): Promise<string> {
  let text = '';
  const screen = {
    say: (more: string) => (text += more),
    note: (more: string) => (text += `[${more}]`),
    begin(what: string) {
      text += `[${what}`;
      return (result: string) => (text += `: ${result}]`);
    },
  };
  await showReply(events, screen, 'a');
  return text;
}

test('an event of a type that only a newer server has is skipped', async (t) => {
  const events = (async function* (): AsyncGenerator<SessionEvent> {
    yield JSON.parse('{ "__typename": "NewerEvent", "clientTurnId": "a" }');
    yield JSON.parse('{ "__typename": "AiResponseChunkEvent", "clientTurnId": "a", "attempt": 1, "text": "Hello" }');
    yield replyEvent({ text: 'Hello' });
  })();
  t.is(await shownReply(events), 'Hello\n');
});

for (const [figures, line] of [
  [{ modelId: 'gpt-4o-mini', costUsd: 0.000123 }, '[— gpt-4o-mini, $0.000123]'],
  [{ modelId: 'gpt-4o', costUsd: 1.5 }, '[— gpt-4o, $1.50]'],
  [{ modelId: 'llama3.2', costUsd: 0.00000001 }, '[— llama3.2, $0.00000001]'],
  [{ modelId: 'llama3.2', costUsd: 0 }, '[— llama3.2]'],
  [{ modelId: null, costUsd: 0.02 }, '[— $0.02]'],
  [{ modelId: null, costUsd: 0 }, ''],
] as const) {
  test(`the line after a reply of ${figures.modelId} for ${figures.costUsd} USD is: ${line}`, async (t) => {
    const events = (async function* (): AsyncGenerator<SessionEvent> {
      yield replyEvent({ text: 'Hello', ...figures });
    })();
    t.is(await shownReply(events), `Hello\n${line}`);
  });
}

test('the documents of a reply are listed after it, each once', async (t) => {
  const cited = (...names: string[]) => names.map((documentName) => ({ documentName }) as Citation);
  const shown = (citations: Citation[] | null) =>
    shownReply(
      (async function* (): AsyncGenerator<SessionEvent> {
        yield replyEvent({ text: 'Hello', modelId: 'm', citations });
      })(),
    );
  t.is(await shown(cited('b.md', 'a.md', 'b.md')), 'Hello\n[— from b.md, a.md][— m]');
  for (const none of [[], null]) t.is(await shown(none), 'Hello\n[— m]');
});

function callEvent(callStatus: string, fields: object = {}): SessionEvent {
  const call = { callId: '1.0', name: 'search', durationMs: null, errorKind: null, attempt: 1, ...fields };
  return JSON.parse(JSON.stringify({ __typename: 'ToolCallEvent', clientTurnId: 'a', callStatus, ...call }));
}

function chunkEvent(text: string, attempt = 1): SessionEvent {
  return JSON.parse(JSON.stringify({ __typename: 'AiResponseChunkEvent', clientTurnId: 'a', attempt, text }));
}

for (const [end, line] of [
  [callEvent('SUCCEEDED', { durationMs: 1234 }), 'succeeded, 1.23 sec'],
  [callEvent('FAILED', { durationMs: 40, errorKind: 'TOOL_FAILED' }), 'failed (TOOL_FAILED), 0.04 sec'],
  [callEvent('CANCELLED'), 'cancelled'],
] as const) {
  test(`a tool call is one line with its name and then ${line}`, async (t) => {
    const events = (async function* (): AsyncGenerator<SessionEvent> {
      yield* [chunkEvent('Let me look. '), callEvent('STARTED'), end, chunkEvent('Found.')];
      yield replyEvent({ text: 'Let me look. Found.' });
    })();
    t.is(await shownReply(events), `Let me look. [— search: ${line}]Found.\n`);
  });
}

test('calls of a higher attempt follow a note, and a reply without chunks is shown as a whole', async (t) => {
  const events = (async function* (): AsyncGenerator<SessionEvent> {
    yield callEvent('STARTED');
    yield callEvent('STARTED', { attempt: 2 });
    yield callEvent('SUCCEEDED', { attempt: 2, durationMs: 5 });
    yield replyEvent({ text: 'Found.' });
  })();
  const shown = '[— search[[the reply restarts]][— search: succeeded, 0.01 sec]Found.\n';
  t.is(await shownReply(events), shown);
});

test('a call is one line on the terminal, or two if other output came while it ran', (t) => {
  const stdout = new PassThrough();
  const screen = openTerminal({ stdin: new PassThrough(), stdout }, () => undefined);
  screen.say('Let me look.');
  screen.begin('— search')('succeeded');
  const [one, other] = [screen.begin('— one'), screen.begin('— other')];
  other('failed');
  one('succeeded');
  const cut = screen.begin('— cut');
  screen.say('');
  screen.say('Meanwhile');
  cut('cancelled');
  t.is(
    String(stdout.read()),
    'Let me look.\n— search … succeeded\n— one …\n— other … failed\n— one: succeeded\n— cut …\nMeanwhile\n— cut: cancelled\n',
  );
});

test('without a server it prints the remedy', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const child = startChild(t, 'talk', { env: { PARLEY_URL: `http://127.0.0.1:${port}/graphql` } });

  t.is(await child.ended, 1);
  t.is(child.stderr, `No server answers at http://127.0.0.1:${port}/graphql. Start it with scripts/up.\n`);
  t.is(child.stdout, '');
});

story("with --embed it talks like a page's browser, with only a session token", async (t, mesh) => {
  mesh.model.answer('first', { text: 'One for the first.' });
  const ada = await mesh.person();
  const agent = await createAgent(ada, { name: 'Robin', openingGreeting: 'Greet.' });
  mesh.model.answer('Greet.', { text: 'Good morning.' });
  const { apiKey = '' } = await ada.withApiKey();
  const child = startChild(t, 'talk', {
    args: ['--url', mesh.url, '--embed', '--agent', String(agent)],
    env: {
      PARLEY_EMAIL: ada.account?.email ?? '',
      PARLEY_PASSWORD: ada.account?.password ?? '',
      PARLEY_API_KEY: apiKey,
    },
  });
  child.write('first\n\n/end\n');
  t.is(await child.ended, 0, child.stderr);
  t.regex(
    child.stdout,
    /^Connected to Robin\.[^\n]*\n\nGood morning\.\nyou> first\nOne for the first\.\nyou> \/end\n\n/u,
  );
});

story('--embed creates a key only for a temporary account, since a new key revokes the old', async (t, mesh) => {
  t.regex(
    await whole(mesh, { embed: true }, 'Hello\n'),
    /^Registered guest-[^]*\nConnected to Robin\.[^]*\nyou> Hello\n[^]+\n\n(?:Evaluation: |The session has ended; its evaluation is not)/u,
  );
  await t.throwsAsync(whole(mesh, { ...(await scripted(mesh)), embed: true }, ''), { message: /needs --api-key/u });
});

story('Ctrl-C interrupts a running reply; without one, the second Ctrl-C leaves the session open', async (t, mesh) => {
  const gate = createGate();
  mesh.model.answer('tell me everything', { text: 'Well, first of all', beforeDelta: gate });
  const { email = '', password = '', agent = '' } = await scripted(mesh);
  const child = startChild(t, 'talk', {
    args: ['--url', mesh.url, '--email', email, '--password', password, '--agent', agent],
  });
  await child.says(/what you can build with it\.\n/u);
  child.write('tell me everything\n');
  gate.release(2);
  await child.says(/everything\nWell, first/u);
  child.kill('SIGINT');
  await child.says(/everything\nWell, first ?…\[interrupted\]\n/u);
  await mesh.model.server.until(({ counts }) => counts.cancelled > 0);
  child.write('and now?\n');
  await child.says(/you> and now\?\nHello from the model server\.\n/u);
  child.kill('SIGINT');
  await child.says(/Ctrl-C again leaves it open/u);
  child.kill('SIGINT');
  t.is(await child.ended, 130);
});

story('input after a Ctrl-C resets the confirmation of the next one', async (t, mesh) => {
  const { seen, stdin, interrupt, ended, says } = typed(mesh, await scripted(mesh));
  await says(greeting);
  interrupt();
  stdin.write('hello\n');
  await says('hello\nHello from the model server.\n');
  interrupt();
  stdin.end('/end\n');
  await ended;
  t.is(seen.left, 0);
});

story('a socket that closes during a reply is reopened, and no text is missing or repeated', async (t, mesh) => {
  const line = await new TcpProxy([new URL(mesh.url).host]).open();
  t.teardown(() => line.close());
  const words = Array.from({ length: 12 }, (_, index) => `word${index} `);
  const gate = createGate();
  mesh.model.answer('count', { text: words, beforeDelta: gate });
  const url = `http://127.0.0.1:${line.port}/graphql`;
  const { seen, ended, says } = typed(mesh, await scripted(mesh), 'count\n/end\n', url);

  for (const last of [3, 7]) {
    gate.release(4);
    await says(`word${last} `);
    await line.close();
    await line.open();
  }
  gate.open();

  await ended;
  const reply = seen.text.slice(seen.text.indexOf('count\n') + 6, seen.text.indexOf('you> /end'));
  const said = reply.replaceAll(/\n?\[connection lost: [^\]]*; reconnecting\]\n/gu, '');
  t.is(said.trimEnd(), `${words.join('')}\n${figures}`.trimEnd());
  t.true(reply.includes('connection lost'));
});
