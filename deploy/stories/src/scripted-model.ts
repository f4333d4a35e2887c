import type { ChatRequestBody, ModelAnswer, SentTools } from '@parley/testing/model-answer';
import { startModelServer } from '@parley/testing/model-server';

/** The default judgement of the scripted model. */
export const judgement = {
  score: 83,
  summary: 'The scripted model judged this conversation.',
  strengths: ['Said what was scripted'],
  weaknesses: ['Said nothing else'],
  recommendation: 'HIRE',
};

/** The response to a message: fixed, or computed from the request's earlier tool calls and their results. */
type Reply = ModelAnswer | ((sent: SentTools) => ModelAnswer);

/** The response to a request for a judgement: fixed, or computed from the request. */
type Judge = ModelAnswer | ((body: ChatRequestBody) => ModelAnswer | undefined);

export type ScriptedModel = Awaited<ReturnType<typeof startScriptedModel>>;

/**
 * Starts a model server for several tests. Each test sets the responses to its own messages. Stop the server with `server.stop()`.
 * @param options.billsApart whether each request is billed a different number of input tokens, so that a call in the ledger identifies its
 * request. A number of tokens that a test sets takes precedence. Default false
 */
export async function startScriptedModel({ billsApart = false } = {}) {
  const turns = new Map<string, Reply>();
  const others = new Map<string, (text: string, sent: SentTools) => ModelAnswer>();
  const judgements = new Map<string, Judge>();
  function answerTo(body: ChatRequestBody, sent: SentTools): ModelAnswer {
    if (!body.response_format) {
      const text = messageOf(body);
      const general = [...others].find(([beginning]) => text.startsWith(beginning))?.[1];
      const reply = turns.get(text);
      return (typeof reply === 'function' ? reply(sent) : reply) ?? general?.(text, sent) ?? {};
    }
    const about = JSON.stringify(body.messages);
    const judge = [...judgements].find(([text]) => about.includes(text))?.[1];
    return (typeof judge === 'function' ? judge(body) : judge) ?? { json: judgement };
  }
  const server = await startModelServer({
    script(body, index, sent) {
      const answer = answerTo(body, sent);
      if (!billsApart || answer.usage === null) return answer;
      return { ...answer, usage: { prompt_tokens: index + 1, ...answer.usage } };
    },
  });
  return {
    server,
    port: Number(new URL(server.url).port),
    /** The settings of a mesh that uses this model. */
    env: {
      HOSTED_SMALL_MODEL_URL: server.url,
      HOSTED_SMALL_MODEL_MODEL: 'test-model',
      HOSTED_SMALL_MODEL_KEY: 'test-key',
      // Long timeouts, because tests delay responses until something else has happened.
      HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: '120000',
    },
    /** Sets the response to the message `text`. Other messages get a short default response. */
    answer: (text: string, answer: Reply) => void turns.set(text, answer),
    /** Sets the response to messages that have this prefix and for which `answer` has set no response. */
    answerOthers: (beginning: string, answer: (text: string, sent: SentTools) => ModelAnswer) =>
      void others.set(beginning, answer),
    /** Sets the judgement of conversations that contain `text`. All other conversations get `judgement`. */
    judge: (text: string, judge: Judge) => void judgements.set(text, judge),
    /** Returns the requests for replies to this message, in order. */
    requestsFor: (text: string) =>
      server.requests.filter(({ body }) => !body.response_format && messageOf(body) === text),
  };
}

/**
 * Returns the message to reply to: the last paragraph of the last user message, because earlier messages without a reply are joined before
 * it. Tool results may follow.
 */
export function messageOf({ messages }: ChatRequestBody): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content;
  const parts = Array.isArray(content) ? (content as { text?: string }[]) : [];
  const text = typeof content === 'string' ? content : parts.map((part) => part.text ?? '').join('');
  return text.split('\n\n').at(-1) ?? '';
}
