// Kills voice. At full length, this file has its own mesh.
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { meshEngines, sharedFaultMesh } from './fault-mesh.ts';

const shared = sharedFaultMesh(test);

const transcription = `mutation ($input: TranscribeSpeechInput!) { transcribeSpeech(input: $input) { transcript } }`;
const options = '{ agentConfigOptions { avatarModels { filename } recommendedTtsVoices { name } } }';
const clip = { input: { audioBase64: 'AAAA', audioEncoding: 'MP3', languageCode: 'en' } };

serverTest(meshEngines, 'while voice is down, transcriptions are refused and avatar models are listed', async (t) => {
  t.timeout(180_000);
  const mesh = await shared();
  const ada = await mesh.person();
  interface Options {
    avatarModels: { filename: string }[];
    recommendedTtsVoices: object[];
  }
  const read = () => ada.value<Options>(options);
  const before = await read();
  t.true(before.avatarModels.some(({ filename }) => filename === 'aria.glb'));

  const { back } = await mesh.kill('voice-1');
  const { message, extensions } = await ada.refusal(transcription, clip);
  t.is(extensions.code, 'UNAVAILABLE');
  t.is(message, 'The voice service is not available at the moment; try again in a while');
  for (let i = 0; i < 4; i += 1) t.deepEqual(await read(), before);
  await back();
  await eventually('voice answers again', async () => {
    const { errors } = await ada.at(ada.url).send(transcription, clip); // a new client address each time avoids the throttle
    return !errors?.[0]?.message.startsWith('The voice service is not available');
  });
  t.deepEqual(await mesh.settled(), []);
});
