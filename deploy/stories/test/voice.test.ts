import test from 'ava';
import { createAgent } from '../src/conversation.ts';
import { sdkStart } from '../src/embed.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const spoken = { text: 'Good morning!', voiceName: 'en-us+f3', languageCode: 'en-US' };

story('the avatar tokens of a person and of a session speak at voice, until they are changed', async (t, mesh) => {
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
