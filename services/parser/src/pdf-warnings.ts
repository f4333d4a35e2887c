import { AsyncLocalStorage } from 'node:async_hooks';

/** Counts of content that pdf.js skipped while it read a file. pdf.js reports such content only to the console. */
export interface GivenUp {
  fonts: number;
  /** Number of pages whose text ends early because of an error. */
  pages: number;
}

const reading = new AsyncLocalStorage<GivenUp>();
let isListening = false;

/** Runs `read` and counts pdf.js's warnings. The option `verbosity: 1` enables them. */
export async function countingGivenUp<T>(read: (givenUp: GivenUp) => Promise<T>): Promise<T> {
  if (!isListening) listen();
  const givenUp: GivenUp = { fonts: 0, pages: 0 };
  return reading.run(givenUp, () => read(givenUp));
}

function listen(): void {
  isListening = true;
  const output: Pick<Console, 'warn'> = globalThis.console;
  const usual = output.warn;
  output.warn = (...args: unknown[]) => {
    const givenUp = reading.getStore();
    if (!givenUp) return usual(...args);
    const message = String(args[0]);
    if (message.includes('translateFont failed')) givenUp.fonts += 1;
    else if (message.includes('getTextContent - ignoring errors')) givenUp.pages += 1;
  };
}
