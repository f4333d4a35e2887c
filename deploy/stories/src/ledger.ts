import { setTimeout as delay } from 'node:timers/promises';

/** One try at sending a message, as its sender knows of it. No two have the same text. */
export interface SentMessage {
  sessionId: number;
  text: string;
  /** `unknown`: the line broke, or the answer was an error that leaves open whether it was taken. */
  outcome: 'acknowledged' | 'refused' | 'unknown';
  /** The code of the error that came instead of an acknowledgement, or `no answer`. */
  code: string | undefined;
}

/** Whoever sends documents: a client. */
export interface Sender {
  send(query: string, variables: object): Promise<{ errors?: { extensions: { code: string } }[] }>;
}

/** What clients were told has happened: the data must agree with it in the end, whatever broke meanwhile. */
export type Ledger = ReturnType<typeof createLedger>;

/** What leaves open whether a request was done. Any other refusal comes before anything is. */
const unknowns = new Set(['no answer', 'UNAVAILABLE', 'INTERNAL']);
const worthAnotherTry = new Set(['CONFLICT', 'TOO_MANY_REQUESTS', 'UNAVAILABLE', 'INTERNAL']);
const patienceMs = 60_000;
const pauseMs = 100;

export function createLedger() {
  const messages: SentMessage[] = [];
  const ended = new Set<number>();

  /** Repeats a request until it succeeds; `heard` is told of every try. @returns how many it took. */
  async function insist(
    what: string,
    once: (nth: number) => ReturnType<Sender['send']>,
    heard?: (nth: number, code: string | undefined) => void,
  ): Promise<number> {
    const deadline = performance.now() + patienceMs;
    for (let nth = 1; ; nth += 1) {
      const answer = await once(nth).catch((error: unknown) => error as Error);
      const code = answer instanceof Error ? 'no answer' : answer.errors?.[0]?.extensions.code;
      heard?.(nth, code);
      if (code === undefined) return nth;
      if (code !== 'no answer' && !worthAnotherTry.has(code)) throw new Error(`${what} was refused: ${code}`);
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
     * Sends a message until it is acknowledged, and answers the text that was. A try whose fate is unknown is never repeated as
     * it was: the next one has a number after its text. @throws Error when it is refused for good, or not taken within 60 s.
     */
    async send(client: Sender, sessionId: number, text: string): Promise<string> {
      const document = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
      const nth = await insist(
        `"${text}" in session ${sessionId}`,
        (n) => client.send(document, { input: { sessionId, text: numbered(text, n) } }),
        (n, code) => {
          const outcome = code === undefined ? 'acknowledged' : unknowns.has(code) ? 'unknown' : 'refused';
          messages.push({ sessionId, text: numbered(text, n), outcome, code });
        },
      );
      return numbered(text, nth);
    },
    /** Ends a session; that may be asked for as often as one likes. */
    async end(client: Sender, sessionId: number): Promise<void> {
      const end = 'mutation ($sessionId: ID!) { endSession(sessionId: $sessionId) { id } }';
      await insist(`the end of session ${sessionId}`, () => client.send(end, { sessionId }));
      ended.add(sessionId);
    },
  };
}
