import { setTimeout as delay } from 'node:timers/promises';

/** One attempt to send a message, as its client sees it. Each attempt has its own text. */
export interface SentMessage {
  sessionId: number;
  text: string;
  /** `unknown`: the connection was lost, or the error leaves open whether the message was stored. */
  outcome: 'acknowledged' | 'refused' | 'unknown';
  /** The error code if the message was not acknowledged; `no answer` if there was no response. */
  code: string | undefined;
}

/** A client that sends GraphQL documents. */
export interface Sender {
  send(query: string, variables: object): Promise<{ errors?: { extensions: { code: string } }[] }>;
}

/** The responses that clients received. At the end of a test, the data must match these responses, whatever faults have occurred. */
export type Ledger = ReturnType<typeof createLedger>;

/** Errors after which it is unknown whether a request took effect. After any other error, it did not. */
const ambiguousCodes = new Set(['no answer', 'UNAVAILABLE', 'INTERNAL']);
const retriedCodes = new Set(['CONFLICT', 'TOO_MANY_REQUESTS', 'UNAVAILABLE', 'INTERNAL']);
const retryTimeoutMs = 60_000;
const pauseMs = 100;

export function createLedger() {
  const messages: SentMessage[] = [];
  const ended = new Set<number>();

  /** Repeats a request until it succeeds. Calls `onAttempt` after each attempt. @returns the number of attempts */
  async function insist(
    what: string,
    once: (nth: number) => ReturnType<Sender['send']>,
    onAttempt?: (nth: number, code: string | undefined) => void,
  ): Promise<number> {
    const deadline = performance.now() + retryTimeoutMs;
    for (let nth = 1; ; nth += 1) {
      const answer = await once(nth).catch((error: unknown) => error as Error);
      const code = answer instanceof Error ? 'no answer' : answer.errors?.[0]?.extensions.code;
      onAttempt?.(nth, code);
      if (code === undefined) return nth;
      if (code !== 'no answer' && !retriedCodes.has(code)) throw new Error(`${what} was refused: ${code}`);
      if (performance.now() > deadline) throw new Error(`${what} was not taken: ${code}, ${nth} times`);
      await delay(pauseMs);
    }
  }
  const numbered = (text: string, nth: number) => (nth === 1 ? text : `${text} (${nth})`);

  return {
    messages: messages as readonly SentMessage[],
    /** Sessions whose end was acknowledged. */
    get endedSessions(): readonly number[] {
      return [...ended];
    },
    /**
     * Sends a message until it is acknowledged, and returns its final text. Each retry appends a number to the text, so that no text is
     * sent twice.
     * @throws Error if the message is refused with a final error, or not acknowledged within 60 s
     */
    async send(client: Sender, sessionId: number, text: string): Promise<string> {
      const document = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
      const nth = await insist(
        `"${text}" in session ${sessionId}`,
        (n) => client.send(document, { input: { sessionId, text: numbered(text, n) } }),
        (n, code) => {
          const outcome = code === undefined ? 'acknowledged' : ambiguousCodes.has(code) ? 'unknown' : 'refused';
          messages.push({ sessionId, text: numbered(text, n), outcome, code });
        },
      );
      return numbered(text, nth);
    },
    /** Ends a session. The request is idempotent, so it can be retried. */
    async end(client: Sender, sessionId: number): Promise<void> {
      const end = 'mutation ($sessionId: ID!) { endSession(sessionId: $sessionId) { id } }';
      await insist(`the end of session ${sessionId}`, () => client.send(end, { sessionId }));
      ended.add(sessionId);
    },
  };
}
