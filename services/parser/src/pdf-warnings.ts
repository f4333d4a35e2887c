import { AsyncLocalStorage } from 'node:async_hooks';

/** What pdf.js skipped while it read a file, which it reports only to the console. */
export interface GivenUp {
  fonts: number;
  /** Pages whose content ended at an error. */
  pages: number;
}

const reading = new AsyncLocalStorage<GivenUp>();
let isListening = false;

/** Runs `read` and counts what pdf.js warns about meanwhile. `verbosity` 1 has it warn. */
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
