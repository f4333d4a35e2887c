import { readFileSync } from 'node:fs';
import type { ModelAnswer } from '@parley/testing/model-answer';

interface Recorded {
  status?: number;
  headers?: Record<string, string>;
  body: (string | { sleepMs: number })[];
}

export type RecordedName = `${'anthropic' | 'google' | 'openai'}-${string}`;

/**
 * Returns recorded responses of providers from `answers/`, in order of use, without pauses. They report usage only in
 * the provider's own format, so the billed usage is stored beside them.
 */
export function recordedAnswers(name: RecordedName): ModelAnswer[] {
  const file = new URL(`answers/${name}.json`, import.meta.url);
  const { responses } = JSON.parse(readFileSync(file, 'utf8')) as { responses: Recorded[] };
  return responses.map(({ status = 200, headers = {}, body }) => {
    const packets = body.filter((part) => typeof part === 'string');
    return { status, headers, ...(status === 200 ? { packetsSent: packets } : { body: packets.join('') }) };
  });
}

/** Returns the first of the recorded responses. */
export function recordedAnswer(name: RecordedName): ModelAnswer {
  const [answer = {}] = recordedAnswers(name);
  return answer;
}
