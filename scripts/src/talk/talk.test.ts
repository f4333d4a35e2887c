import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createGate } from '@parley/chassis/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { startBalancer } from '../testing/balancer.ts';
import { type Child, startChild } from '../testing/child.ts';
import { type MeshWithModel, startMeshWithModel } from '../testing/mesh-with-model.ts';
import { enter } from './account.ts';
import { publicApi } from './api.ts';

let starting: Promise<MeshWithModel> | undefined;
const mesh = () => (starting ??= startMeshWithModel());
test.after.always('the mesh stops', async () => (await starting)?.stop());

/** Talks to the mesh from an address of its own, with all of the input there from the start, or none of it yet. */
async function talk(t: ExecutionContext, input?: string, ...args: string[]): Promise<Child> {
  const { url } = await startBalancer(t, (await mesh()).url);
  const child = startChild(t, 'talk', { args: ['--url', url, ...args] });
  if (input !== undefined) {
    child.write(input);
    child.endInput();
  }
  return child;
}

const greeting = 'Hello, I am Robin. Ask me what Parley is and what you can build with it.\n';

test('every line of a pipe is answered in turn, and /end shows the evaluation', async (t) => {
  const { answer } = await mesh();
  answer('first', { text: 'One for the first.' });
  answer('second', { text: 'Two for the second.' });
  const child = await talk(t, 'first\n\n  second  \n/end\nnever\n');

  t.is(await child.ended, 0, child.stderr);
  t.is(child.stderr, '');
  const [opening, ...rest] = child.stdout.split(/(?<=\n\n)/u);
  t.regex(opening ?? '', /^Registered guest-\w+@example\.com \(password \S+\)\.\nYou talk to Robin\./u);
  t.is(
    rest.join(''),
    `${greeting}you> first\nOne for the first.\nyou>   second  \nTwo for the second.\nyou> /end\n\n` +
      'Evaluation: 83 of 100 · GOOD\nIt was a talk.\n  + Said hello\n  - Said no more\n',
  );
});

test('the end of the input ends the session as /end does', async (t) => {
  const child = await talk(t, 'no newline after this');

  t.is(await child.ended, 0, child.stderr);
  t.regex(child.stdout, /you> no newline after this\nHello from the model server\.\n\nEvaluation: 83 of 100/u);
});

test('without any input the greeting and an evaluation are all there is', async (t) => {
  const child = await talk(t, '');

  t.is(await child.ended, 0, child.stderr);
  t.true(child.stdout.includes(`${greeting}\nEvaluation:`), child.stdout);
});

test('a message that is refused is told, and the talk goes on', async (t) => {
  const child = await talk(t, 'nul \u0000 inside\nafterwards\n');

  t.is(await child.ended, 0, child.stderr);
  t.regex(child.stdout, /inside\n\[[^\]]+\]\nyou> afterwards\nHello from the model server\.\n/u);
});

test("a model's words cannot steer the terminal", async (t) => {
  const { answer } = await mesh();
  answer('colours', { text: ['\u001b]0;owned\u0007red', '\u001b[2J\tand blue\r\n'] });
  const child = await talk(t, 'colours\n');

  t.is(await child.ended, 0, child.stderr);
  t.true(child.stdout.includes('you> colours\n]0;ownedred[2J\tand blue\n'), JSON.stringify(child.stdout));
});

test('a reply that fails is told with its code', async (t) => {
  const { answer } = await mesh();
  answer('break', { text: 'half a', ending: 'error-event' });
  const child = await talk(t, 'break\n');

  t.is(await child.ended, 0, child.stderr);
  t.regex(child.stdout, /half a\n\[no reply: .* \(MODEL_FAILED\)\]\n/u);
});

test('an account that signs in talks to the agent that it names', async (t) => {
  const api = publicApi((await startBalancer(t, (await mesh()).url)).url);
  const { email, password = '' } = await enter(api, {});
  const input = { name: 'Ada', position: 'P', subject: 'S', useCase: 'ONBOARDING', openingGreeting: 'Ada here.' };
  const { createAgent } = await api.call<{ createAgent: { id: number } }>(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id } }',
    { input: { ...input, personaPrompt: 'You are Ada.' } },
  );
  const child = await talk(t, '/end\n', '--email', email, '--password', password, '--agent', String(createAgent.id));

  t.is(await child.ended, 0, child.stderr);
  t.regex(child.stdout, /^You talk to Ada\./u);
  t.regex(child.stdout, /\n\nAda here\.\n/u);
});

test('wrong credentials and an unknown agent are told, with exit code 1', async (t) => {
  const stranger = await talk(t, '', '--email', 'nobody@example.com', '--password', 'not this one');
  t.is(await stranger.ended, 1);
  t.regex(stranger.stderr, /^[^\n]+\n$/u);

  for (const id of ['2147483647', 'robin']) {
    const child = await talk(t, '', '--agent', id);
    t.is(await child.ended, 1);
    t.is(child.stderr, `There is no agent ${id} in this tenant\n`);
  }
});

test('where nothing listens it says what to do', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const child = startChild(t, 'talk', { args: ['--url', `http://127.0.0.1:${port}`] });

  t.is(await child.ended, 1);
  t.is(child.stderr, `Nothing answers at http://127.0.0.1:${port}/graphql. Is it up? Start it with scripts/up.\n`);
  t.is(child.stdout, '');
});

test('Ctrl-C cuts a running reply, and the talk goes on', async (t) => {
  const { answer, model } = await mesh();
  const gate = createGate();
  answer('tell me everything', { text: 'Well, first of all', beforeDelta: gate });
  const child = await talk(t);
  await child.says(/what you can build with it\.\n/u);
  child.write('tell me everything\n');
  gate.release(2);
  await child.says(/everything\nWell, first/u);
  child.kill('SIGINT');
  await child.says(/everything\nWell, first ?…\[interrupted\]\n/u);
  await model.until(({ counts }) => counts.cancelled > 0);
  child.write('and now?\n/end\n');

  t.is(await child.ended, 0, child.stderr);
  t.regex(child.stdout, /you> and now\?\nHello from the model server\.\n/u);
});

test('a second Ctrl-C beside no reply leaves the session open', async (t) => {
  const child = await talk(t);
  await child.says(/what you can build with it\.\n/u);
  child.kill('SIGINT');
  await child.says(/Ctrl-C again leaves it open/u);
  child.kill('SIGINT');

  t.is(await child.ended, 130);
});

test('a socket that is cut in mid-reply comes back, and nothing is missing or said twice', async (t) => {
  const { url, answer } = await mesh();
  const balancer = await startBalancer(t, url);
  const words = Array.from({ length: 12 }, (_, index) => `word${index} `);
  const gate = createGate();
  answer('count', { text: words, beforeDelta: gate });
  const child = startChild(t, 'talk', { args: ['--url', balancer.url] });
  await child.says(/what you can build with it\.\n/u);
  child.write('count\n/end\n');

  for (const last of [3, 7]) {
    gate.release(4);
    await child.says(new RegExp(`word${last} `, 'u'));
    t.true(balancer.cut() > 0);
  }
  gate.open();

  t.is(await child.ended, 0, child.stderr);
  const reply = child.stdout.slice(child.stdout.indexOf('count\n') + 6, child.stdout.indexOf('you> /end'));
  const said = reply.replaceAll(/\n?\[connection lost: [^\]]*; coming back\]\n/gu, '');
  t.is(said.trimEnd(), words.join('').trimEnd());
  t.true(reply.includes('connection lost'));
});
