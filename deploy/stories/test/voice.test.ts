import { randomUUID } from 'node:crypto';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { createAgent } from '../src/conversation.ts';
import { browserOf, sdkStart } from '../src/embed.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const spoken = { text: 'Good morning!', voiceName: 'en-us+f3', languageCode: 'en-US' };

story('voice accepts the avatar tokens of a person and of a session, and refuses altered ones', async (t, mesh) => {
  const [voice = ''] = mesh.addresses('voice', 'public');
  const speak = (token: string) =>
    fetch(`${voice}/tts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(spoken),
    });
  const ada = await mesh.person();
  const ofTenant = await ada.value<string>('{ avatarToken }');
  const server = await ada.withApiKey();
  const { avatarToken: ofSession } = await sdkStart(server, { agentId: await createAgent(ada) });
  for (const token of [ofTenant, ofSession]) {
    const answer = await speak(token);
    t.is(answer.status, 200);
    const { audioContent } = (await answer.json()) as { audioContent: string };
    t.true(Buffer.from(audioContent, 'base64').length > 2_000);
    t.is((await speak(`${token.slice(0, -2)}aa`)).status, 401);
  }
});

const transcription = `mutation ($input: TranscribeSpeechInput!) {
  transcribeSpeech(input: $input) { transcript confidence languageCode } }`;
const clipOf = (sound: string, more: object = {}) => ({
  input: {
    audioBase64: Buffer.from(sound).toString('base64'),
    audioEncoding: 'OGG_OPUS',
    languageCode: 'en-US',
    ...more,
  },
});

story(
  'speech is transcribed in every encoding for users of the dashboard, and for no other credential',
  async (t, mesh) => {
    const ada = await mesh.person();
    const audioEncodings = ['MP3', 'LINEAR16', 'WEBM_OPUS', 'OGG_OPUS'];
    for (const audioEncoding of audioEncodings) {
      const answer = await ada.value<{ confidence: number }>(
        transcription,
        clipOf('say:Where is it?', { audioEncoding }),
      );
      t.like(answer, { transcript: 'Where is it?', languageCode: 'en-US' });
      t.is(Math.round(answer.confidence * 100), 75);
    }
    const wrong = await ada.refusal(transcription, clipOf('say:x', { audioEncoding: 'FLAC', sampleRateHertz: 1 }));
    t.is(wrong.extensions.code, 'BAD_REQUEST');
    t.deepEqual(
      wrong.extensions.fields?.map(({ path }) => path),
      ['input.audioEncoding', 'input.sampleRateHertz'],
    );

    const server = await ada.withApiKey();
    const { avatarToken } = await sdkStart(server, { agentId: await createAgent(ada) });
    const ofTenant = await ada.value<string>('{ avatarToken }');
    for (const other of [mesh.visitor(), server, browserOf(ada, avatarToken), browserOf(ada, ofTenant)])
      t.is((await other.refusal(transcription, clipOf('say:x'))).extensions.code, 'UNAUTHENTICATED');
  },
);

story('a clip of 5,600,000 characters is transcribed; a longer one does not reach voice', async (t, mesh) => {
  const ada = await mesh.person();
  const maxLength = 5_600_000;
  const said = Buffer.from('say:Long\r\n').toString('base64').replaceAll('=', 'A');
  const sized = (length: number) => clipOf('', { audioBase64: said.padEnd(length, 'A') });
  t.like(await ada.value<object>(transcription, sized(maxLength)), { transcript: 'Long' });
  const longer = await ada.refusal(transcription, sized(maxLength + 4));
  t.is(longer.extensions.code, 'BAD_REQUEST');
  t.deepEqual(longer.extensions.fields, [
    { path: 'input.audioBase64', message: `must have at most ${maxLength} characters` },
  ]);
  t.is((await ada.send(transcription, sized(9_000_000))).status, 413);
});

story(
  'transcriptions are throttled by client address, even if they come through Parley’s own units',
  async (t, mesh) => {
    const people = [await mesh.person(), await mesh.person()];
    for (const ada of people) {
      for (let i = 0; i < 10; i += 1)
        t.like(await ada.value<object>(transcription, clipOf('say:Hi')), { transcript: 'Hi' });
      const refused = await ada.send(transcription, clipOf('say:Hi'));
      t.is(refused.status, 429);
      t.is(refused.errors?.[0]?.extensions.code, 'TOO_MANY_REQUESTS');
    }
  },
);

story('a failing provider is UNAVAILABLE, and a client that disconnects cancels its call there', async (t, mesh) => {
  const ada = await mesh.person();
  const { message, extensions } = await ada.refusal(transcription, clipOf('fail:'));
  t.is(extensions.code, 'UNAVAILABLE');
  t.is(message, 'The speech provider is not available at the moment; try again in a while');
  const name = randomUUID().replaceAll('-', '');
  const leaving = new AbortController();
  const answer = ada.send(transcription, clipOf(`wait:${name}`), {}, leaving.signal);
  setTimeout(() => leaving.abort(), 300);
  await t.throwsAsync(answer);
  const abandoned = async () => (await fetch(`${mesh.settings['STT_URL']}/abandoned/${name}`)).text();
  await eventually('the provider’s call is cancelled', async () => (await abandoned()) === '1');
});

story('voice serves the file of each avatar model in the options', async (t, mesh) => {
  const ada = await mesh.person();
  const [voice = ''] = mesh.addresses('voice', 'public');
  const { avatarModels } = await ada.value<{ avatarModels: { id: string; filename: string }[] }>(
    '{ agentConfigOptions { avatarModels { id filename label gender } } }',
  );
  const listed = (await (await fetch(`${voice}/avatars/models`)).json()) as { models: { id: string; path: string }[] };
  t.deepEqual(
    avatarModels.map(({ id, filename }) => ({ id, path: `avatars/models/${filename}` })),
    listed.models.map(({ id, path }) => ({ id, path })),
  );
  t.true(avatarModels.length >= 3);
  for (const { filename } of avatarModels) {
    const file = await fetch(`${voice}/avatars/models/${filename}`);
    t.is(file.status, 200, filename);
    t.is(Buffer.from(await file.arrayBuffer()).toString('latin1', 0, 4), 'glTF', filename);
  }
});
