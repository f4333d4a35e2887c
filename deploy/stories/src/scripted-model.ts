import type { ChatRequestBody, ModelAnswer } from '@parley/testing/model-answer';
import { startModelServer } from '@parley/testing/model-server';

/** A judgement as the scripted model gives it. */
export const judgement = {
  score: 83,
  summary: 'The scripted model judged this conversation.',
  strengths: ['Said what was scripted'],
  weaknesses: ['Said nothing else'],
  recommendation: 'HIRE',
};

/** How a judgement is answered, whatever is asked or as that says. */
type Judge = ModelAnswer | ((body: ChatRequestBody) => ModelAnswer | undefined);

export type ScriptedModel = Awaited<ReturnType<typeof startScriptedModel>>;

/** Starts a model server that several tests share: each says how its own messages are answered. It stops with `server.stop()`. */
export async function startScriptedModel() {
  const turns = new Map<string, ModelAnswer>();
  const others = new Map<string, (text: string) => ModelAnswer>();
  const judgements = new Map<string, Judge>();
  const server = await startModelServer({
    script(body) {
      if (!body.response_format) {
        const text = messageOf(body);
        const general = [...others].find(([beginning]) => text.startsWith(beginning))?.[1];
        return turns.get(text) ?? general?.(text) ?? {};
      }
      const about = JSON.stringify(body.messages);
      const judge = [...judgements].find(([text]) => about.includes(text))?.[1];
      return (typeof judge === 'function' ? judge(body) : judge) ?? { json: judgement };
    },
  });
  return {
    server,
    port: Number(new URL(server.url).port),
    /** Settings of a mesh that asks this model. */
    env: {
      HOSTED_SMALL_MODEL_URL: server.url,
      HOSTED_SMALL_MODEL_MODEL: 'test-model',
      HOSTED_SMALL_MODEL_KEY: 'test-key',
      // Tests hold answers back until something else has happened, which takes as long as the machine needs.
      HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: '120000',
    },
    /** How the turn is answered whose message is exactly `text`. Others get an ordinary short answer. */
    answer: (text: string, answer: ModelAnswer) => void turns.set(text, answer),
    /** How messages are answered that begin like this and have no answer of their own. */
    answerOthers: (beginning: string, answer: (text: string) => ModelAnswer) => void others.set(beginning, answer),
    /** How judgements are answered of conversations in which `text` was said. Default: `judgement`. */
    judge: (text: string, judge: Judge) => void judgements.set(text, judge),
    /** The requests for replies to this message, in order. */
    requestsFor: (text: string) =>
      server.requests.filter(({ body }) => !body.response_format && messageOf(body) === text),
  };
}

/** The message that is to be answered: the last one of the history, behind those before it that got no reply. */
export function messageOf({ messages }: ChatRequestBody): string {
  const content = messages.at(-1)?.content;
  const parts = Array.isArray(content) ? (content as { text?: string }[]) : [];
  const text = typeof content === 'string' ? content : parts.map((part) => part.text ?? '').join('');
  return text.split('\n\n').at(-1) ?? '';
}
