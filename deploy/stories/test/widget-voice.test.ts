// Tests speech in the widget: the built script in a real browser with a beeping microphone, against the voice service.
import { createServer } from 'node:http';
import { listen } from '@parley/kernel/http/listen';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { hasBrowser } from '../src/browser.ts';
import { readSession } from '../src/conversation.ts';
import { idsOf, withCredentials } from '../src/credentials.ts';
import type { TestMesh } from '../src/mesh.ts';
import { recorded } from '../src/speech-provider.ts';
import { stories } from '../src/stories.ts';
import { type PageOptions, startEmbedded, widgetPages } from '../src/widget-page.ts';

const story: ReturnType<typeof stories>['serial'] = hasBrowser
  ? stories(test)
  : (title) => test.skip(`${title} (Chromium is there for Linux on x64 alone)`, () => undefined);
const pages = widgetPages(test);

const greeting = 'Hello, I am Robin.';

interface Options {
  started?: PageOptions;
  /** The error with which the browser refuses the microphone. */
  microphone?: string;
  more?: Record<string, string>;
}

/** Opens the widget with a voice service, and records the requests to this service. */
async function speakingChat(t: ExecutionContext, mesh: TestMesh, { started, microphone, more = {} }: Options = {}) {
  const [url = ''] = mesh.addresses('voice', 'public');
  const voice = { 'voice-url': url, 'voice-name': 'en-us+f3', 'voice-lang': 'en-US', ...more };
  const options = { ...(started ?? (await startEmbedded(mesh))), more: voice };
  // Voice's CORS rules do not allow proxy headers, so all pages have the same client address.
  const browser = { extraHTTPHeaders: {} };
  const script = `navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("no", "${microphone}"));`;
  const chat = await pages.open(t, mesh, options, browser, microphone === undefined ? undefined : script);
  await chat.shows(greeting);
  const [read, stop] = [chat.part('.read', { hasText: 'Read aloud' }), chat.part('.read', { hasText: 'Stop reading' })];
  return {
    ...chat,
    read,
    stop,
    alert: chat.part('.foot .alert'),
    mic: chat.part('button[aria-label="Say a message"]'),
    stopAndSend: chat.part('button[aria-label="Stop and send"]'),
    asked: (path: string) => chat.requests.filter((each) => each === `${url}${path}`).length,
  };
}

story('a reply is read aloud only on request, and the same button stops the reading', async (t, mesh) => {
  mesh.model.answer('Say little.', { text: '**Yes.** `it` works.' });
  mesh.model.answer('Say much.', { text: 'This sentence is said again. '.repeat(60) });
  const chat = await speakingChat(t, mesh);
  await chat.send('Say little.');
  await chat.shows('works.');
  t.is(chat.asked('/tts/stream'), 0);
  await eventually('both can be read aloud', async () => (await chat.read.count()) === 2);
  await chat.read.last().click();
  await chat.stop.waitFor();
  await eventually('it has ended by itself', async () => (await chat.read.count()) === 2, { timeoutMs: 60_000 });
  t.is(chat.asked('/tts/stream'), 1);
  t.like(JSON.parse(chat.posted.find((body) => body.includes('voiceName')) ?? '{}'), {
    text: 'Yes. it works.',
    voiceName: 'en-us+f3',
    languageCode: 'en-US',
    speakingRate: 1,
  });
  t.is(await chat.alert.innerText(), '');

  await chat.send('Say much.');
  await eventually('there is a third reply', async () => (await chat.read.count()) === 3);
  await chat.read.last().press('Enter');
  await eventually('it plays', async () => (await chat.stop.getAttribute('aria-busy')) === 'false');
  await chat.log.evaluate((log: { scrollTop: number }) => {
    log.scrollTop = 0;
  });
  await chat.read.first().click();
  await eventually('the greeting is read in its place', () =>
    chat.posted.some((body) => body.includes('"Hello, I am Robin."')),
  );
  await eventually('it has ended', async () => (await chat.read.count()) === 3, { timeoutMs: 60_000 });
  await chat.read.last().press('Enter');
  await eventually('it plays again', async () => (await chat.stop.getAttribute('aria-busy')) === 'false');
  await chat.stop.press('Enter');
  await eventually('it is silent', async () => (await chat.read.count()) === 3);
  t.is(chat.asked('/tts/stream'), 4);
  t.deepEqual(await chat.problems(), []);
  t.deepEqual(chat.errors, []);
});

story('a recording is sent as a message with its transcript', async (t, mesh) => {
  mesh.model.answer(recorded, { text: 'I have heard you.' });
  const started = await startEmbedded(mesh);
  const chat = await speakingChat(t, mesh, { started });
  await chat.mic.press('Enter');
  await chat.part('.recording.live').waitFor();
  await eventually('it is read out', async () => (await chat.announced()).includes('Recording…'));
  t.deepEqual(await chat.problems(), []);
  await eventually('a second has passed', async () => (await chat.part('.recording').innerText()).includes('1 s'));
  await chat.stopAndSend.click();
  await chat.shows(recorded, 'I have heard you.');
  t.is(chat.asked('/stt'), 1);
  await chat.mic.waitFor();
  t.false(await chat.part('.recording').isVisible());
  const { messages } = await readSession(started.owner, started.sessionId);
  t.is(messages.filter(({ role, text }) => role === 'USER' && text === recorded).length, 1);
  t.deepEqual(chat.errors, []);
});

story('a recording that is discarded, by button or Escape, is not sent', async (t, mesh) => {
  const chat = await speakingChat(t, mesh);
  for (const discard of [() => chat.part('.recording .link').click(), () => chat.page.keyboard.press('Escape')]) {
    await chat.mic.click();
    await chat.part('.recording.live').waitFor();
    await discard();
    await chat.mic.waitFor();
    t.false(await chat.part('.recording').isVisible());
    const focused = await chat.page.evaluate(
      'document.querySelector("parley-chat").shadowRoot.activeElement?.ariaLabel',
    );
    t.is(focused, 'Say a message', 'the focus stays');
  }
  t.is(chat.asked('/stt'), 0);
  t.is(await chat.alert.innerText(), '');
});

const refusals = {
  NotAllowedError: 'The microphone is not allowed here',
  NotFoundError: 'No microphone was found',
  NotReadableError: 'The microphone cannot be used',
};
for (const [microphone, text] of Object.entries(refusals))
  story(
    `an unavailable microphone is explained in plain words, and the chat continues: ${microphone}`,
    async (t, mesh) => {
      mesh.model.answer('Typed.', { text: 'Read.' });
      const chat = await speakingChat(t, mesh, { microphone });
      await chat.mic.click();
      await eventually('it says so', async () => (await chat.alert.innerText()).includes(text));
      t.deepEqual(await chat.problems(), []);
      await chat.send('Typed.');
      await chat.shows('Read.');
      t.is(await chat.alert.innerText(), '');
    },
  );

story('an expired token is renewed for the voice service', async (t, given) => {
  const mesh = withCredentials(given);
  const started = await startEmbedded(mesh);
  const { tenantId } = await idsOf(started.owner);
  const minted = (how: object) => mesh.withSessionToken({ ...started, tenantId }, how).tokens?.accessToken ?? '';
  const chat = await speakingChat(t, given, {
    started: { ...started, token: minted({ clock: () => new Date(Date.now() - 300_000), lifetimeMs: 1_000 }) },
  });
  await chat.read.first().click();
  await chat.stop.waitFor();
  await eventually('it was read', async () => (await chat.read.count()) === 1, { timeoutMs: 60_000 });
  t.is(await chat.alert.innerText(), '');
});

story(
  'an unreachable voice service is explained in plain words; one without streams sends the whole audio',
  async (t, mesh) => {
    const away = await speakingChat(t, mesh, {
      more: { 'voice-url': 'http://127.0.0.1:1' },
    });
    await away.read.first().click();
    const says = (text: string) => async () => (await away.alert.innerText()) === text;
    await eventually('it says so', says('This cannot be read aloud: The server cannot be reached'));
    await away.mic.click();
    await away.part('.recording.live').waitFor();
    await away.stopAndSend.click();
    await eventually('it says so', says('What you said could not be sent: The server cannot be reached'));

    const [real = ''] = mesh.addresses('voice', 'public');
    const paths: string[] = [];
    const old = createServer(async (request, response) => {
      response
        .setHeader('access-control-allow-origin', '*')
        .setHeader('access-control-allow-headers', '*, authorization');
      if (request.method === 'OPTIONS') return void response.end();
      paths.push(request.url ?? '');
      if (request.url !== '/tts') return void response.writeHead(404).end();
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const headers = { 'content-type': 'application/json', authorization: request.headers.authorization ?? '' };
      const answer = await fetch(`${real}/tts`, { method: 'POST', headers, body: Buffer.concat(chunks) });
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    });
    const url = `http://${await listen(old)}`;
    t.teardown(() => {
      old.closeAllConnections();
      old.close();
    });
    const chat = await speakingChat(t, mesh, { more: { 'voice-url': url } });
    await chat.read.first().click();
    await chat.stop.waitFor();
    await eventually('it was read', async () => (await chat.read.count()) === 1, { timeoutMs: 60_000 });
    t.is(await chat.alert.innerText(), '');
    t.deepEqual(paths, ['/tts/stream', '/tts']);
  },
);

story(
  'without a voice service there are no buttons for speech; without a voice, replies cannot be read aloud',
  async (t, mesh) => {
    const silent = await pages.open(t, mesh, await startEmbedded(mesh));
    await silent.shows(greeting);
    t.is(await silent.part('.read').count(), 0);
    t.is(await silent.part('form button').count(), 2);
    const listening = await speakingChat(t, mesh, { more: { 'voice-name': '' } });
    t.is(await listening.read.count(), 0);
    await listening.mic.waitFor();
  },
);
